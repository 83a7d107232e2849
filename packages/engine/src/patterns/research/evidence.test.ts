import { expect, test } from "vitest"
import { searchEvidence } from "./evidence-search.ts"
import { iterativeResearch } from "./iterative.ts"
import { scripted, verdict, web } from "./research.test-support.ts"
import type { TextEmbeddings } from "./research-options.ts"

const evidence = (...texts: string[]) =>
  texts.map((text, i) => ({ url: `https://t.example/${i}`, title: `T${i}`, text, tool: "web_search" }))

/** One dimension for tea, one for all else. */
const embeddings: TextEmbeddings = {
  embed: async (texts) => texts.map((text) => (/tea|leaves/.test(text) ? [1, 0.1] : [0.1, 1])),
}

test("evidence is found by words, and by meaning where there are embeddings", async () => {
  const list = evidence("rye bread", "black tea", "dried leaves")
  expect(await searchEvidence(list, "tea", { limit: 1 })).toEqual([1])
  expect(await searchEvidence(list, "tea", { embeddings, limit: 2 })).toEqual([1, 2])
  expect(await searchEvidence([], "tea", { embeddings })).toEqual([])
})

const many = () => ({
  output: "found",
  sources: Array.from({ length: 12 }, (_, i) => ({
    url: `https://t.example/${i}`,
    text: `${i === 11 ? "dried leaves" : "rye"} ${"x".repeat(4_000)}`,
  })),
})

test("where there is more than an agent can be shown, it is shown what fits best, under the same numbers", async () => {
  const { options, asked } = scripted({ judge: [{ json: verdict(true) }] }, [web(many)])
  await iterativeResearch({ ...options, embeddings }).run("What is tea?")
  const shown = [...(asked("writer")[0] ?? "").matchAll(/<document index=\\"(\d+)\\"/g)].map(([, n]) =>
    Number(n),
  )
  expect(shown).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 12])
})

test("embeddings that fail are done without", async () => {
  const { options } = scripted({ judge: [{ json: verdict(true) }] }, [web(many)])
  const failing = { embed: () => Promise.reject(new Error("no")) }
  const { status } = await iterativeResearch({ ...options, embeddings: failing }).run("What is tea?")
  expect(status).toBe("completed")
})
