import { describe, expect, test } from "vitest"
import type { DocumentPart } from "../chunks.ts"
import { readCsv } from "./csv.ts"
import { readMarkdown } from "./markdown.ts"
import { examinePieces, linesOf, type TextSource, textSource } from "./text-file.ts"

async function all<T>(some: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const one of some) found.push(one)
  return found
}

/** In pieces of a few characters, as a file may arrive. */
function inPieces(text: string, size: number): TextSource {
  return {
    async *pieces() {
      for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size)
    },
  }
}

describe("the encoding of a file", () => {
  const bytes = (...values: number[]) => Buffer.from(values)
  test.each([
    ["plain", Buffer.from("hello"), "utf-8"],
    ["empty", Buffer.alloc(0), "utf-8"],
    ["UTF-8", Buffer.from("Grüße, 日本"), "utf-8"],
    ["UTF-8 with a mark", Buffer.from("\uFEFFhello"), "utf-8"],
    ["UTF-16 with a mark", Buffer.from("\uFEFFhello", "utf16le"), "utf-16le"],
    ["UTF-16 without", Buffer.from("hello there", "utf16le"), "utf-16le"],
    ["UTF-16, great end first", Buffer.from("hello there", "utf16le").swap16(), "utf-16be"],
    ["Windows", bytes(0x47, 0x72, 0xfc, 0xdf, 0x65), "windows-1252"],
    ["a character that is cut off", bytes(0x61, 0xc3), "windows-1252"],
    [
      "compressed, without a zero",
      bytes(0x1f, 0x8b, 0x08, 0x01, 0x9c, 0x04, 0xe2, 0x12, 0x02, 0xff),
      undefined,
    ],
    ["no text", bytes(0x7f, 0x45, 0x4c, 0x46, 0, 0, 0, 0, 1, 2, 3), undefined],
  ])("is detected: %s", async (_, data, encoding) => {
    expect((await examinePieces([data])).encoding).toBe(encoding)
    const single = Array.from(data, (_, at) => data.subarray(at, at + 1))
    expect(await examinePieces(single)).toEqual(await examinePieces([data]))
  })
})

test("lines are the same in whatever pieces they arrive, and an endless one is cut", async () => {
  const text = "one\r\ntwo\n\nfour"
  const lines = [
    ["one", 1],
    ["two", 2],
    ["", 3],
    ["four", 4],
  ]
  for (const size of [1, 2, 5, 100]) {
    expect((await all(linesOf(inPieces(text, size)))).map((one) => [one.text, one.line])).toEqual(lines)
  }
  const long = await all(linesOf(textSource("word ".repeat(20_000))))
  expect(long.length).toBeGreaterThan(3)
  expect(Math.max(...long.map((one) => one.text.length))).toBeLessThanOrEqual(16 * 1_024)
  expect(long.map((one) => one.text).join("")).toBe("word ".repeat(20_000))
})

describe("Markdown", () => {
  const titles = (parts: DocumentPart[]) =>
    parts.flatMap((part) => ("section" in part ? [part.section.title] : []))

  test("has the headings as titles, after those above them", async () => {
    const text = "# A\n## B `code` [link](x)\n### C\n## D\n#### E\n# F\n"
    expect(titles(await all(readMarkdown(textSource(text))))).toEqual([
      undefined,
      "A",
      "A › B code link",
      "A › B code link › C",
      "A › D",
      "A › D › E",
      "F",
    ])
  })

  test.each([
    ["---\nauthor: Ada Lovelace\ndate: 2026-03-14\n---\n# A", { author: "Ada Lovelace", date: "2026-03-14" }],
    [
      "---\nauthors: [Ada, 'Grace']\npublished: March 14, 2026\n...\n",
      { author: "Ada, Grace", date: "2026-03-14" },
    ],
    ["---\nauthors:\n  - name: Ada\n  - Grace\ntags:\n  - tea\n---\n", { author: "Ada, Grace" }],
    ['---\r\nDate: "2026"\r\n---\r\n', { date: "2026" }],
    ["---\ntitle: x\n---\n", undefined],
    ["text\n---\nauthor: Ada\n---\n", undefined],
    ["---\nauthor: Ada\nno end", undefined],
  ])("has the author and the date of its front matter: %j", async (text, expected) => {
    const parts = await all(readMarkdown(textSource(text)))
    expect(parts.flatMap((part) => ("facts" in part ? [part.facts] : []))).toEqual(
      expected === undefined ? [] : [expected],
    )
  })

  test("treats the content of a code block as code, which only a bare fence ends", async () => {
    const text = "# A\n```sh\n# not a title\n~~~\n```js\n# nor this\n```\n# B\n"
    expect(titles(await all(readMarkdown(textSource(text))))).toEqual([undefined, "A", "B"])
  })

  test("has a heading without text as text, so that it is found", async () => {
    const texts = async (text: string) =>
      (await all(readMarkdown(textSource(text)))).flatMap((part) =>
        "text" in part && part.text.trim() !== "" ? [`${part.line} ${part.text.trim()}`] : [],
      )
    expect(await texts("# A\n\n## B\n\n## C\ntext\n# D\n")).toEqual(["3 B", "6 text", "7 D"])
    expect(await texts("# A #\n## B#\n#not\n# #\n")).toEqual(["3 #not"])
  })

  test("is read in linear time, whatever it contains", async () => {
    // Each took minutes or longer with one regular expression for the whole line.
    for (const line of [`# ${" ".repeat(16_000)}x`, `# ${"#".repeat(16_000)}x`, `# ${"[".repeat(16_000)}`]) {
      expect(titles(await all(readMarkdown(textSource(`${line}\n`.repeat(20)))))).toHaveLength(21)
    }
  })
})

describe("a table in text", () => {
  const rows = async (text: string, size = 1_000) =>
    (await all(readCsv(inPieces(text, size)))).map((part) =>
      "text" in part ? `${part.line} ${part.text.trimEnd()}` : "",
    )

  test("has rows with the names of their columns, and their first line", async () => {
    const text = 'name,city\r\nAda,"London, UK"\r\n"Grace ""G""","New\nYork"\n\nAlan,\n'
    const expected = ["2 name: Ada; city: London, UK", '3 name: Grace "G"; city: New York', "6 name: Alan"]
    for (const size of [1, 3, 1_000]) expect(await rows(text, size)).toEqual(expected)
  })

  test.each([";", "\t", "|"])("may have %j between its cells", async (sign) => {
    expect(await rows(`a${sign}b\n1,5${sign}2`)).toEqual(["2 a: 1,5; b: 2"])
  })

  test("may have old Mac line ends, long cells and many columns", async () => {
    for (const size of [1, 3, 1_000]) {
      expect(await rows('a;b\r1;"x\ry"\r2;z\r', size)).toEqual(["2 a: 1; b: x y", "3 a: 2; b: z"])
    }
    const long = "word ".repeat(3_000).trim()
    expect(await rows(`a,b\n1,${long}\n`)).toEqual([`2 a: 1; b: ${long}`])
    const wide = Array.from({ length: 500 }, (_, i) => `c${i}`)
    expect((await rows(`${wide}\n${wide}\n`))[0]).toContain("c499: c499")
    expect((await rows(`a\n${"x".repeat(300_000)}\ny\n`)).map((row) => row.length)).toEqual([262_149, 6])
  })

  test("that is malformed is read as far as possible", async () => {
    expect(await rows("a,b\n1,2,3\n4\n")).toEqual(["2 a: 1; b: 2; column 3: 3", "3 a: 4"])
    expect(await rows('a,b\n1,x"y"z\n')).toEqual(['2 a: 1; b: x"y"z'])
    expect(await rows('a,b\n1,"open\n2,x\n')).toEqual(["2 a: 1; b: open 2,x"])
    expect(await rows("")).toEqual([])
    expect(await rows("only,names")).toEqual([])
  })

  test("does not lose the rest of the file to an unclosed quote", async () => {
    const text = `a,b\n1,"open\n${"2,x\n".repeat(30_000)}`
    const found = await rows(text)
    expect(found.length).toBeGreaterThan(10_000)
    expect(found.at(-1)).toBe("30002 a: 2; b: x")
    // As long as a quoted cell may be, and none of it is lost.
    expect(Math.max(...found.map((row) => row.length))).toBeLessThan(70_000)
    expect(found.join("\n").match(/2,x|a: 2; b: x/g)).toHaveLength(30_000)
  })
})
