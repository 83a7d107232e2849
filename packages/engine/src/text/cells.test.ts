import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { cellWidth, graphemes, wrapText } from "./index.ts"

const letters = (text: string) => text.replace(/\s/g, "")

describe("wrapped text", () => {
  test("ends at any width, and loses nothing", () => {
    const widths = fc.oneof(
      fc.integer({ min: -3, max: 60 }),
      fc.constantFrom(0, 0.5, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
    )
    const texts = fc.oneof(
      fc.string({ unit: "grapheme" }),
      fc.string({ unit: fc.constantFrom(" ", "a", "漢", "👩‍👩‍👧", "e\u0301", "\n", "\t", "\u200b") }),
    )
    fc.assert(
      fc.property(texts, widths, (text, width) => {
        const lines = wrapText(text, width)
        expect(letters(lines.join(""))).toBe(letters(text))
        for (const line of lines) {
          // Wider than the width only if a single grapheme is.
          if (width >= 1) expect(cellWidth(line) <= width || graphemes(line.trim()).length === 1).toBe(true)
        }
      }),
    )
  })

  test("keeps a wide character after an indent, even if only the character fits", () => {
    expect(wrapText(" 漢字", 2)).toEqual([" 漢", " 字"])
    expect(wrapText("漢字", 1)).toEqual(["漢", "字"])
    expect(wrapText("ab", 0)).toEqual(["a", "b"])
    expect(wrapText("ab", -5)).toEqual(["a", "b"])
  })
})
