import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { type FileDatabase, fileDatabase } from "./files.ts"
import { makeWorkbook } from "./workbook.test-support.ts"

let folder: string
let books: FileDatabase

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "superstep-excel-"))
  makeWorkbook(join(folder, "Sales 2026.xlsx"), {
    Orders: [
      ["id", "customer, name", "placed", "paid"],
      [1, 'Ann "A"', new Date("2026-01-02"), true],
      [],
      [2, "Bob", new Date("2026-01-03"), false],
    ],
    Empty: [],
    "Late fees": [
      ["order", "fee"],
      [1, 2.5],
      [2, null],
    ],
  })
  makeWorkbook(join(folder, "nothing.xlsx"), { Sheet1: [] })
  writeFileSync(join(folder, "text.xlsx"), "no workbook")
  books = fileDatabase({ id: "books", folder })
})
afterAll(async () => {
  await books?.close()
  rmSync(folder, { recursive: true, force: true })
})

test("each sheet of a workbook is a table, with types", async () => {
  const tables = await books.schema()
  expect(tables.map(({ name, rowCount }) => [name, rowCount])).toEqual([
    ["sales_2026", 2],
    ["sales_2026_late_fees", 2],
  ])
  expect(tables[0]?.columns).toEqual([
    { name: "id", type: "BIGINT" },
    { name: '"customer, name"', type: "VARCHAR" },
    { name: "placed", type: "DATE" },
    { name: "paid", type: "BOOLEAN" },
  ])
  expect((await books.query("SELECT * FROM sales_2026 ORDER BY id")).rows).toEqual([
    [1, 'Ann "A"', "2026-01-02", true],
    [2, "Bob", "2026-01-03", false],
  ])
  expect((await books.query("SELECT fee FROM sales_2026_late_fees ORDER BY 1")).rows).toEqual([[2.5], [null]])
})

test("a workbook that cannot be read is reported, and does not stop the others", async () => {
  const reports = await books.report()
  expect(reports.map(({ file, problem }) => [file, problem])).toEqual([
    ["Sales 2026.xlsx", undefined],
    ["Sales 2026.xlsx", undefined],
    ["nothing.xlsx", "no sheet has cells"],
    ["text.xlsx", expect.stringMatching(/\S/)],
  ])
})
