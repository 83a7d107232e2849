import { PassThrough } from "node:stream"
import { expect, test } from "vitest"
import { terminal } from "../terminal/terminal.ts"
import { printTable } from "./figures.ts"

function printed(columns: Parameters<typeof printTable>[1], rows: readonly (readonly string[])[]): string[] {
  const stream = new PassThrough().setEncoding("utf8")
  printTable(terminal(stream), columns, rows)
  return (stream.read() as string).split("\n").slice(0, -1)
}

test("columns are as wide as their widest cell, and numbers are right-aligned", () => {
  const lines = printed(
    [{ title: "NAME" }, { title: "N", align: "right" }, { title: "LAST" }],
    [
      ["a", "1", "x"],
      ["longer", "200", ""],
    ],
  )
  expect(lines).toEqual(["NAME      N  LAST", "a         1  x", "longer  200"])
})

test("a table that is too wide is truncated, and fits 80 columns", () => {
  const lines = printed(
    [{ title: "ID" }, { title: "TEXT", canShrink: true }, { title: "MORE", canShrink: true }],
    [["12345678", "t".repeat(60), "m".repeat(60)]],
  )
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(80)
  expect(lines[1]).toBe(`12345678  ${"t".repeat(60)}  ${"m".repeat(7)}…`)
})

test("wide characters are measured, and untrusted text is sanitized", () => {
  const lines = printed(
    [{ title: "A" }, { title: "B" }],
    [
      ["漢字", "x"],
      ["a\u001b[31m\nb", "y"],
    ],
  )
  // "a␛[31m b" takes 8 columns.
  expect(lines).toEqual(["A         B", "漢字      x", "a␛[31m b  y"])
})
