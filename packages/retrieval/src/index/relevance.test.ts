/** `Found.relevance` distinguishes results about the question from results that are only the nearest. */
import { expect, test } from "vitest"
import { freshFolder, meaningEmbeddings, openIndex } from "./index.test-support.ts"

const FILES = {
  "returns.md": "Lamps can be returned within thirty days of delivery. Refunds are paid in cash.",
  "care.md": "Clean a lamp with a dry cloth, and never with water from the sea.",
  "staff.md": "Employees have twenty five days of leave a year, and ask their manager for more.",
  "cars.md": "Park the car in the yard, and leave the engine cold.",
}

test.each([
  ["How many days do I have to return a lamp?", true],
  ["How do I clean a lamp?", true],
  ["Which soprano opened the season of the opera in Vienna last year?", false],
  ["What does the museum of glass in Murano charge for a guided tour in cash?", false],
])("by words: %s is answered: %s", async (question, isAnswered) => {
  const folder = freshFolder(FILES)
  const index = openIndex(folder)
  await index.add([folder])
  const [best] = await index.search(question)
  expect(best?.relevance).toBeDefined()
  expect((best?.relevance ?? 0) >= 0.5).toBe(isAnswered)
})

test("by meaning: other words for the same are relevant, and unrelated nearest chunks are not", async () => {
  const folder = freshFolder(FILES)
  const index = openIndex(folder, { embeddings: meaningEmbeddings() })
  await index.add([folder])
  const [near] = await index.search("automobile", { mode: "vector" })
  expect(near?.source).toMatch(/^cars\.md/)
  expect(near?.relevance).toBeGreaterThanOrEqual(0.5)
  const far = await index.search("kitten", { mode: "vector" })
  expect(far.length).toBeGreaterThan(0)
  for (const { relevance = 1 } of far) expect(relevance).toBeLessThan(0.5)
})

test("is from 0 to 1 for any question", async () => {
  const folder = freshFolder(FILES)
  const index = openIndex(folder, { embeddings: meaningEmbeddings() })
  await index.add([folder])
  const word = "lamp "
  for (const question of ["lamp", word.repeat(300), '"lamp" OR (', "灯", "the", "a-b_c.d"]) {
    for (const { relevance = -1 } of await index.search(question)) {
      expect(relevance).toBeGreaterThanOrEqual(0)
      expect(relevance).toBeLessThanOrEqual(1)
    }
  }
})
