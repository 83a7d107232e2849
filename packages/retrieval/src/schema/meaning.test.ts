import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, onTestFinished, test } from "vitest"
import type { Embeddings } from "../index/embeddings/embeddings.ts"
import { meaningOf, RELATED_WORDS, TOPICS } from "./meaning.ts"

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "meaning-"))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

/** Texts of one group share a direction; every text also has its own. */
function embeddings(
  dimensions = 300,
  ...more: readonly (readonly string[])[]
): Embeddings & { readonly embedded: string[] } {
  const groups = [
    ...RELATED_WORDS,
    ...TOPICS.map(({ figures, table }) => [figures, table]),
    ...TOPICS.map(({ explanation, passage }) => [explanation, passage]),
    ...more,
  ]
  const own = new Map<string, number>()
  const embedded: string[] = []
  return {
    name: "made",
    dimensions,
    embedded,
    async embed(texts, signal) {
      signal?.throwIfAborted()
      embedded.push(...texts)
      return texts.map((text) => {
        const vector = new Array<number>(dimensions).fill(0)
        if (!own.has(text)) own.set(text, own.size)
        vector[60 + ((own.get(text) as number) % (dimensions - 60))] = 1
        const group = groups.findIndex((one) => one.includes(text))
        if (group >= 0) vector[group] = 1
        return vector
      })
    },
  }
}

const vectorFile = (cache: string) =>
  join(cache, readdirSync(cache).find((name) => name.startsWith("vectors-")) ?? "")

test("texts as related as the calibration's topics have nearness 1, unrelated ones 0", async () => {
  const meaning = meaningOf(embeddings(300, ["Who sails?", "vsl. ship"]), undefined)
  expect(await meaning.nearness("Who sails?", "table", ["vsl. ship"])).toBeCloseTo(1)
  expect(await meaning.nearness("Who sails?", "table", ["bread"])).toBeCloseTo(0)
  expect(await meaning.nearness("Who sails?", "passage", [])).toBe(0)
  expect(await meaning.wordNearness(["fish", "bread"], ["salmon", "road"])).toEqual([expect.closeTo(1), 0])
  expect(await meaning.wordNearness(["fish"], [])).toEqual([0])
})

test("embeddings that distinguish nothing make nothing near", async () => {
  const blind: Embeddings = { name: "blind", dimensions: 2, embed: async (texts) => texts.map(() => [1, 0]) }
  const meaning = meaningOf(blind, undefined)
  expect(await meaning.nearness("a", "table", ["b"])).toBe(0)
  expect(await meaning.form("a")).toBe(0)
})

test("vectors are cached on disk for the next process, for their owner alone and without the texts", async () => {
  const cache = folder()
  const [first, second] = [embeddings(), embeddings()]
  const one = meaningOf(first, cache)
  await one.nearness("Who sails?", "table", ["a secret value"])
  await one.keep()
  const file = vectorFile(cache)
  if (process.platform !== "win32") expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readFileSync(file, "utf8")).not.toContain("secret value")
  expect(await meaningOf(second, cache).nearness("Who sails?", "table", ["a secret value"])).toBeCloseTo(0)
  expect(second.embedded).toEqual([])
})

test.each(["{", '{"version":1,"name":"made","vectors":{"x":7,"y":"AAA"}}', '{"version":0}'])(
  "a damaged file of vectors counts as missing: %s",
  async (text) => {
    const cache = folder()
    const one = meaningOf(embeddings(), cache)
    await one.form("Who sails?")
    await one.keep()
    writeFileSync(vectorFile(cache), text)
    const other = embeddings()
    await meaningOf(other, cache).form("Who sails?")
    expect(other.embedded).toContain("Who sails?")
  },
)

test("a model that returns longer vectors than before is used for all texts again", async () => {
  const cache = folder()
  const one = meaningOf(embeddings(300), cache)
  await one.nearness("Who sails?", "table", ["ship"])
  await one.keep()
  const longer = meaningOf(embeddings(310, ["Who rows?", "ship"]), cache)
  expect(await longer.nearness("Who rows?", "table", ["ship"])).toBeCloseTo(1)
})

test("texts that were embedded before the caller aborted are not embedded again", async () => {
  const leave = new AbortController()
  const model = embeddings()
  const leaving: Embeddings = {
    ...model,
    embed: async (texts, signal) => {
      const vectors = await model.embed(texts, signal)
      if (texts.includes("text 10")) leave.abort(new Error("left"))
      return vectors
    },
  }
  const meaning = meaningOf(leaving, undefined)
  const texts = Array.from({ length: 100 }, (_, i) => `text ${i}`)
  await expect(meaning.nearness("Who sails?", "table", texts, leave.signal)).rejects.toThrow("left")
  await meaning.nearness("Who sails?", "table", texts)
  expect(model.embedded.filter((text) => text === "text 10")).toHaveLength(1)
})
