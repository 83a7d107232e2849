import type { Found } from "@superstep/engine/patterns"
import { expect, test } from "vitest"
import type { Rerank } from "./document-index.ts"
import { freshFolder, openIndex } from "./index.test-support.ts"

async function indexWith(rerank: Rerank | undefined, texts: readonly string[]) {
  const index = openIndex(freshFolder(), { rerank })
  await index.add(texts.map((text, i) => ({ source: `doc ${i}`, text })))
  return index
}

const TEXTS = Array.from({ length: 30 }, (_, i) => `lamp number ${i}`)

test("a reranker decides the order and the scores, of four times as many results as wanted", async () => {
  let passed: readonly Found[] = []
  const index = await indexWith((query, found, { signal }) => {
    expect([query, signal]).toEqual(["lamp", undefined])
    passed = found
    return found.toReversed().map((one, i) => ({ ...one, score: 1 - i / 100 }))
  }, TEXTS)
  const found = await index.search("lamp", { limit: 3 })
  expect(passed).toHaveLength(12)
  expect(found.map(({ source }) => source)).toEqual(
    passed
      .slice(-3)
      .map(({ source }) => source)
      .reverse(),
  )
  expect(found[0]?.score).toBe(1)
})

test("results that a reranker omits are dropped", async () => {
  const index = await indexWith(async () => [], TEXTS)
  expect(await index.search("lamp")).toEqual([])
})

test("a failed reranker fails the search, and an invalid result is refused", async () => {
  const failing = await indexWith(() => Promise.reject(new Error("no model")), TEXTS)
  await expect(failing.search("lamp")).rejects.toThrow("no model")
  for (const odd of [undefined, [{}], [{ text: "a", source: "b", score: Number.NaN }]]) {
    const index = await indexWith(() => odd as never, TEXTS)
    await expect(index.search("lamp")).rejects.toMatchObject({ code: "OPTION_INVALID" })
  }
})

test("an index is described by the number of its documents and their titles", async () => {
  const index = await indexWith(undefined, [])
  expect(await index.describe()).toBe("0 documents, 0 passages")
  await index.add([
    { source: "gate.md", text: "# Who may enter\n\nVisitors show a passport." },
    { source: "note", text: "Nothing else." },
  ])
  expect(await index.describe()).toMatch(/^2 documents, 2 passages: .*; note$/)
  await index.add(TEXTS.map((text, i) => ({ source: `z${i}`, text })))
  expect(await index.describe()).toMatch(/^32 documents, 32 passages: .*; …$/)
  expect((await index.describe()).length).toBeLessThan(1_500)
})
