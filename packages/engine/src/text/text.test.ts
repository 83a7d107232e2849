import { expect, test } from "vitest"
import { cellWidth, graphemes, printable } from "./index.ts"

test.each([
  ["", 0],
  ["plain", 5],
  ["é", 1],
  ["e\u0301", 1],
  ["漢字", 4],
  ["…✓─", 3],
  ["⌚", 2],
  ["❤", 1],
  ["❤\ufe0f", 2],
  ["👩‍👩‍👧", 2],
  ["🇳🇴", 2],
  ["\u200b", 0],
  ["\u0301", 0],
])("%j takes %i cells", (text, width) => {
  expect(cellWidth(text)).toBe(width)
})

test("graphemes are user-perceived characters, and joined they are the text", () => {
  const text = "a e\u0301 👩‍👩‍👧 🇳🇴 ok"
  expect(graphemes(text)).toEqual(["a", " ", "e\u0301", " ", "👩‍👩‍👧", " ", "🇳🇴", " ", "o", "k"])
  expect(graphemes(text).join("")).toBe(text)
})

test("terminal control characters are replaced, except those in `kept`", () => {
  expect(printable("\x1b[31mred\x7f\u202e\ud800 👩‍👧")).toBe("\u241b[31mred\u2421\ufffd\ufffd 👩‍👧")
  expect(printable("a\tb\nc\r")).toBe("a\u2409b\u240ac\u240d")
  expect(printable("a\tb\nc\r", "\n\t")).toBe("a\tb\nc\u240d")
})
