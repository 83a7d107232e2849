import { PassThrough } from "node:stream"
import fc from "fast-check"
import { describe, expect, it, test } from "vitest"
import {
  clipped,
  jsonText,
  padded,
  sanitize,
  sanitizeLine,
  shellWord,
  terminal,
  widthOf,
  wrapped,
} from "./terminal.ts"

const screen = (isTTY: boolean, columns = 120) => Object.assign(new PassThrough(), { isTTY, columns })

describe("colours", () => {
  it("are used on a terminal, and nowhere else", () => {
    expect(terminal(screen(true)).paint.red("x")).toBe("\x1B[31mx\x1B[0m")
    expect(terminal(screen(false)).paint.red("x")).toBe("x")
  })

  it("are omitted with NO_COLOR, --no-color and a dumb terminal", () => {
    for (const options of [{ env: { NO_COLOR: "1" } }, { noColor: true }, { env: { TERM: "dumb" } }])
      expect(terminal(screen(true), options).hasColor).toBe(false)
  })

  it("have no width", () => {
    expect(widthOf(terminal(screen(true)).paint.bold("four"))).toBe(4)
  })
})

describe("the width", () => {
  it("is that of the terminal, at most 80", () => {
    expect(terminal(screen(true, 60)).width).toBe(60)
    expect(terminal(screen(true, 200)).width).toBe(80)
    expect(terminal(screen(false, 200)).width).toBe(80)
  })

  it("counts wide letters as two and combining accents as none", () => {
    expect(widthOf("日本")).toBe(4)
    expect(widthOf("e\u0301")).toBe(1)
    expect(widthOf("👩‍👩‍👧")).toBe(2)
  })
})

describe("untrusted text", () => {
  it("cannot control the terminal", () => {
    expect(sanitize("\x1B[2J\x07a\x9Bb\u202Ec")).toBe("␛[2J␇a\uFFFDb\uFFFDc")
  })

  it("keeps its lines and tabs, unless it must be one line", () => {
    expect(sanitize("a\r\n\tb")).toBe("a\n\tb")
    expect(sanitizeLine(" a\n\tb ")).toBe("a b")
  })

  it("has no control characters, whatever it contained", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(sanitize(text).replace(/[\n\t]/g, "")).not.toMatch(/\p{Cc}/u)
      }),
    )
  })
})

describe("lines", () => {
  it("are never wider than the limit", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 4, max: 60 }), (text, width) => {
        const safe = sanitize(text)
        for (const line of wrapped(safe, width)) expect(widthOf(line)).toBeLessThanOrEqual(width)
        expect(widthOf(clipped(sanitizeLine(text), width))).toBeLessThanOrEqual(width)
      }),
    )
  })

  it("lose no word when they are wrapped", () => {
    const text = "one two  three\n\n  four fivefivefivefivefive"
    const letters = (all: string) => all.replace(/\s/g, "")
    expect(letters(wrapped(text, 10).join(""))).toBe(letters(text))
    expect(wrapped(text, 10)).toEqual([
      "one two",
      "three",
      "",
      "  four",
      "  fivefive",
      "  fivefive",
      "  five",
    ])
  })

  it("mark truncated text", () => {
    expect(clipped("abcdef", 4)).toBe("abc…")
    expect(clipped("abcd", 4)).toBe("abcd")
    expect(padded("ab", 4)).toBe("ab  ")
  })
})

test("control characters are escaped in JSON, and the data stays the same", () => {
  const value = { text: "a\u001b[2J\u009b2J\u202e\u2028\u007f é 漢" }
  const line = jsonText(value)
  expect(line).toBe('{"text":"a\\u001b[2J\\u009b2J\\u202e\\u2028\\u007f é 漢"}')
  expect(JSON.parse(line)).toEqual(value)
})

test("there is at least one line, and several for people", () => {
  expect(jsonText(undefined)).toBe("null")
  expect(jsonText({ a: [1] }, 2)).toBe('{\n  "a": [\n    1\n  ]\n}')
})

it.each([
  ["storks-1", "storks-1"],
  ["sqlite:/home/ada/runs.db", "sqlite:/home/ada/runs.db"],
  ["two words", "'two words'"],
  ["a#1/r1", "'a#1/r1'"],
  ["$HOME;ls", "'$HOME;ls'"],
  ["Ada's", "'Ada'\\''s'"],
  ["Störche", "'Störche'"],
  ["", "''"],
  ["a\x1B[2J", "'a␛[2J'"],
])("%j is quoted as %s for a shell", (text, word) => expect(shellWord(text)).toBe(word))
