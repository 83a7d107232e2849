import { expect, test } from "vitest"
import { clipped, cutText, isPlainText, plainText } from "./index.ts"

test.each([
  ["tea", 5, "tea"],
  ["tea", 2, "te"],
  ["a🍵b", 1, "a"],
  ["a🍵b", 2, "a"],
  ["a🍵b", 3, "a🍵"],
  ["🍵", 1, ""],
  ["🍵", 2, "🍵"],
  ["tea", 0, ""],
])("%j cut at %d is %j: no character is split", (text, most, expected) => {
  expect(cutText(text, most)).toBe(expected)
})

test("marks a cut", () => {
  expect(clipped("tea", 3)).toBe("tea")
  expect(clipped("a🍵b", 2)).toBe("a…")
})

test("sanitized input has no NUL and no lone surrogate", () => {
  expect(plainText("a\u0000b\uD83Cc\uDF75d 🍵")).toBe("ab\uFFFDc\uFFFDd 🍵")
  expect(isPlainText("a\u0000b")).toBe(false)
  expect(isPlainText("ab\uFFFDc\uFFFDd 🍵")).toBe(true)
})
