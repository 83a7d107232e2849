import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import { type Chunk, type ChunkOptions, chunksOf, type Part } from "./chunks.ts"

async function all(parts: Iterable<Part>, options?: ChunkOptions): Promise<Chunk[]> {
  const chunks: Chunk[] = []
  for await (const chunk of chunksOf(parts, options)) chunks.push(chunk)
  return chunks
}

const sentence = "This sentence has exactly fifty characters in it ok."

describe("text in chunks", () => {
  test("that is short is one chunk, and empty text has none", async () => {
    expect(await all([{ text: "\n\n  Hello.\n", line: 1 }])).toEqual([{ text: "Hello.", line: 3 }])
    expect(await all([{ text: " \n \n", line: 1 }, { section: { title: "T" } }])).toEqual([])
  })

  test("ends at a paragraph, else at a sentence, else at a word", async () => {
    const options = { size: 100, overlap: 0 }
    const paragraphs = `${"a ".repeat(30)}.\n\n${"b ".repeat(40)}.`
    expect((await all([{ text: paragraphs }], options)).map(({ text }) => text[0])).toEqual(["a", "b"])
    const sentences = await all([{ text: `${sentence} ${sentence} ${sentence}` }], options)
    expect(sentences.map(({ text }) => text)).toEqual([sentence, sentence, sentence])
    const words = await all([{ text: "word ".repeat(50) }], options)
    expect(words.every(({ text }) => /^(word ?)+$/.test(text))).toBe(true)
  })

  test("overlaps by whole sentences or words", async () => {
    const text = Array.from({ length: 60 }, (_, i) => `word${i}`).join(" ")
    const chunks = await all([{ text }], { size: 100, overlap: 20 })
    for (const [i, chunk] of chunks.entries()) {
      const next = chunks[i + 1]
      if (next !== undefined)
        expect(chunk.text.endsWith(next.text.slice(0, next.text.indexOf(" ")))).toBe(false)
      if (next !== undefined) expect(chunk.text).toContain(next.text.split(" ")[0])
    }
  })

  test("has no chunk with only the overlap", async () => {
    const chunks = await all([{ text: `${"word ".repeat(40)}` }], { size: 200, overlap: 50 })
    expect(chunks).toHaveLength(1)
  })

  test("starts a new chunk with a section, and knows its lines", async () => {
    const chunks = await all([
      { section: { title: "One" } },
      { text: "first\n", line: 2 },
      { text: "second\n", line: 3 },
      { section: { title: "Two" } },
      { text: "\n", line: 5 },
      { text: "third\n", line: 6 },
    ])
    expect(chunks).toEqual([
      { text: "first\nsecond", title: "One", line: 2 },
      { text: "third", title: "Two", line: 6 },
    ])
  })

  test("is the same however the text is split into parts, no chunk is too long, and nothing is lost", async () => {
    const piece = fc.constantFrom(
      "word ",
      "Long sentence here. ",
      "\n\n",
      "\n",
      "😀",
      "x".repeat(150),
      "日本語。",
      "a",
    )
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 80 }), fc.array(fc.nat(40)), async (pieces, cuts) => {
        const text = pieces.join("")
        const parts: Part[] = []
        let [at, line] = [0, 1]
        for (const cut of [...cuts, text.length]) {
          const part = text.slice(at, at + cut)
          parts.push({ text: part, line })
          line += part.split("\n").length - 1
          at += cut
        }
        const whole = await all([{ text, line: 1 }], { size: 100, overlap: 20 })
        expect(await all(parts, { size: 100, overlap: 20 })).toEqual(whole)
        const bare = (some: string) => some.replace(/\s+/g, "")
        let rest = bare(text)
        for (const chunk of whole) {
          expect(chunk.text.length).toBeLessThanOrEqual(100)
          expect(
            text
              .split("\n")
              .slice((chunk.line as number) - 1)
              .join("\n"),
          ).toContain(chunk.text.split("\n")[0])
          expect(Buffer.from(chunk.text).toString()).toBe(chunk.text)
          // Its new part is the next part of the text.
          const mine = bare(chunk.text)
          const shared = Array.from({ length: mine.length + 1 }, (_, n) => n).find((n) =>
            rest.startsWith(mine.slice(n)),
          )
          rest = rest.slice(mine.length - (shared as number))
        }
        expect(rest).toBe("")
      }),
      { numRuns: 300 },
    )
  })
})
