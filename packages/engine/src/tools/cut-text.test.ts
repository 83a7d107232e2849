import { expect, test } from "vitest"
import { cutText, plainText } from "./cut-text.ts"

test.each([
  ["tea", 5, "tea"],
  ["tea", 2, "te"],
  ["a🍵b", 1, "a"],
  ["a🍵b", 2, "a"],
  ["a🍵b", 3, "a🍵"],
  ["🍵", 1, ""],
  ["🍵", 2, "🍵"],
  ["tea", 0, ""],
])("%j cut at %d is %j: no character is halved", (text, most, expected) => {
  expect(cutText(text, most)).toBe(expected)
})

test("what strangers send has no NUL and no half of a character afterwards", () => {
  expect(plainText("a\u0000b\uD83Cc\uDF75d 🍵")).toBe("ab\uFFFDc\uFFFDd 🍵")
})
