import { expect, test } from "vitest"
import { manualClock } from "../../testing/index.ts"
import { scripted, verdict, web } from "./research.test-support.ts"
import { iterativeResearch, searchEvidence } from "./research-loop.ts"
import type { TextEmbeddings } from "./research-options.ts"

const evidence = (...texts: string[]) =>
  texts.map((text, i) => ({ url: `https://t.example/${i}`, title: `T${i}`, text, tool: "web_search" }))

/** One dimension for tea, one for everything else. */
const embeddings: TextEmbeddings = {
  embed: async (texts) => texts.map((text) => (/tea|leaves/.test(text) ? [1, 0.1] : [0.1, 1])),
}

test("evidence is found by words, and by meaning with embeddings", async () => {
  const list = evidence("rye bread", "black tea", "dried leaves")
  expect(await searchEvidence(list, "tea", { limit: 1 })).toEqual([1])
  expect(await searchEvidence(list, "tea", { embeddings, limit: 2 })).toEqual([1, 2])
  expect(await searchEvidence([], "tea", { embeddings })).toEqual([])
})

const many = () => ({
  output: "found",
  sources: Array.from({ length: 12 }, (_, i) => ({
    url: `https://t.example/${i}`,
    text: `${i === 11 ? "dried leaves" : `rye ${i}`} ${"x".repeat(4_000)}`,
  })),
})

test("if there is more evidence than an agent can receive, it sees the best matches under the same numbers", async () => {
  const { options, asked } = scripted({ judge: [{ json: verdict(true) }] }, [web(many)])
  await iterativeResearch({ ...options, embeddings }).run("What is tea?")
  const shown = [...(asked("writer")[0] ?? "").matchAll(/<document index=\\"(\d+)\\"/g)].map(([, n]) =>
    Number(n),
  )
  expect(shown).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 12])
})

test("evidence is ranked by words when embeddings fail", async () => {
  const { options } = scripted({ judge: [{ json: verdict(true) }] }, [web(many)])
  const failing = { embed: () => Promise.reject(new Error("no")) }
  const { status } = await iterativeResearch({ ...options, embeddings: failing }).run("What is tea?")
  expect(status).toBe("completed")
})

test("a passage is compared in every pass but embedded only once", async () => {
  const asked: string[] = []
  const counting: TextEmbeddings = {
    embed: async (texts) => {
      asked.push(...texts)
      return texts.map(() => [1])
    },
  }
  const { options } = scripted({ judge: [{ json: verdict(false) }, { json: verdict(true) }] }, [web(many)])
  await iterativeResearch({ ...options, embeddings: counting }).run("What is tea?")
  expect(asked).toHaveLength(1 + 12)
  expect(new Set(asked).size).toBe(asked.length)
})

test("embeddings that ignore the signal end when the time of the research is up", async () => {
  const clock = manualClock()
  let begun: () => void = () => undefined
  const isBegun = new Promise<void>((resolve) => {
    begun = resolve
  })
  const stuck: TextEmbeddings = {
    embed: (texts) => {
      if (clock.now() > 0) return Promise.resolve(texts.map(() => [1]))
      begun()
      return new Promise(() => undefined)
    },
  }
  const { options } = scripted({}, [web(many)])
  const research = iterativeResearch({ ...options, embeddings: stuck, budget: { seconds: 5 } })
  const running = research.run("What is tea?", { clock }).result
  await isBegun
  await clock.advance(5_000)
  const { status, state } = await running
  expect([status, state.breach]).toEqual(["completed", "Budget exceeded: time"])
})

test("too few vectors count as none: words decide", async () => {
  const { options, asked } = scripted({ judge: [{ json: verdict(true) }] }, [web(many)])
  const few = { embed: async () => [[1]] }
  await iterativeResearch({ ...options, embeddings: few }).run("Where are leaves dried?")
  expect(asked("writer")[0]).toContain("dried leaves")
})
