import { expect, test } from "vitest"
import type { Json } from "../../../core/index.ts"
import { formatRows } from "./database-text.ts"

const result = (rows: Json[][], isTruncated = false) => ({ columns: ["id", "name"], rows, isTruncated })
const many = Array.from({ length: 25 }, (_, i) => [i, `n${i}`])

test("a result is one line of columns and one line per row", () => {
  const rows = [
    [1, "Ann"],
    [2, null],
    [3, { a: [1] }],
  ]
  expect(formatRows(result(rows))).toBe('id | name\n1 | Ann\n2 | \n3 | {"a":[1]}')
})

test("shows at most 20 rows, and notes that there are more", () => {
  const lines = formatRows(result(many)).split("\n")
  expect(lines).toHaveLength(22)
  expect(lines.at(-1)).toBe("(20 of 25 rows)")
  expect(formatRows(result(many, true), { rows: 30 })).toMatch(/\(the first 25 rows; there are more\)$/)
  expect(formatRows(result(many.slice(0, 20)))).not.toContain("of")
})

test("a value stays in its column and is truncated", () => {
  expect(formatRows(result([[1, "a|b\nc"]]))).toBe("id | name\n1 | a\\|b c")
  expect(formatRows(result([[1, "x".repeat(300)]]))).toBe(`id | name\n1 | ${"x".repeat(200)}…`)
})

test("a value is not cut inside a character, nor inside its escape", () => {
  expect(formatRows(result([[1, "abcd💡e"]]), { characters: 5 })).toBe("id | name\n1 | abcd…")
  expect(formatRows(result([[1, "abcd|e"]]), { characters: 5 })).toBe("id | name\n1 | abcd\\|…")
})

test("one row is one row", () => {
  expect(formatRows(result([[1, "a"]], true))).toBe("id | name\n1 | a\n(the first row; there are more)")
})

test("an empty result and a result that does not fit each have a message", () => {
  expect(formatRows(result([]))).toBe("No rows.")
  expect(formatRows(result([], true))).toBe("The result is too large to be shown.")
})
