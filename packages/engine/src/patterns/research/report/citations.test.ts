import { expect, test } from "vitest"
import { markedClaims } from "./citations.ts"

const marked = (text: string) => markedClaims(text).text
const sourcesOf = (text: string) => markedClaims(text).claims.map(({ sources }) => sources)

test("a paragraph, a list item and a table are one statement each, with the sources that they cite", () => {
  const text = "Tea is old [1].\nIt is hot [2][1].\n\n- Green [3]\n- Black\n\n|a|b|\n|-|-|\n|1|2 [4]|\n|3|4|"
  expect(markedClaims(text).claims).toEqual([
    { text: "Tea is old. It is hot.", sources: [1, 2] },
    { text: "Green", sources: [3] },
    { text: "Black", sources: [] },
    { text: "|1|2| |3|4|", sources: [4] },
  ])
})

test("a statement without a source is marked (R5)", () => {
  expect(marked("Old [1].\n\nHot.\n\n> Said\n> so.\n\n1. One\n2. Two [2]\n\n|a|\n|-|\n|1|\n\nEnd [1].")).toBe(
    "Old [1].\n\nHot. *(no source)*\n\n> Said\n> so. *(no source)*\n\n1. One *(no source)*\n2. Two [2]\n\n|a|\n|-|\n|1 *(no source)*|\n\nEnd [1].",
  )
})

test("an item is covered by the item above it, and by the line that introduces the list (C1)", () => {
  expect(sourcesOf("Teas [1]:\n\n- Green\n  - mild\n- Black [2]\n  - strong\n\nWater.")).toEqual([
    [1],
    [1],
    [1, 2],
    [1, 2],
    [],
  ])
  expect(sourcesOf("Teas.\n\n- Green")).toEqual([[], []])
  expect(sourcesOf("Teas [1].\n\n- Green")).toEqual([[1], []])
})

test("introducing lines, bold lines that serve as headings, headings, rules and code claim nothing (C2)", () => {
  const text = "# Tea\n\nAs follows:\n\n**Taste**\n\n---\n\n```\ncode\n```\n\n…"
  expect(markedClaims(text)).toEqual({ text, claims: [] })
  expect(sourcesOf("**Tea is old.**")).toEqual([[]])
})

test("numbers in code are not citations", () => {
  expect(sourcesOf("Use `list[1]`.")).toEqual([[]])
})

test("text that is too long to parse is counted, and stays unchanged", () => {
  const text = "Tea is old.\n\n".repeat(40_000)
  expect(markedClaims(text).text).toBe(text)
  expect(markedClaims(text).claims).toHaveLength(40_000)
})
