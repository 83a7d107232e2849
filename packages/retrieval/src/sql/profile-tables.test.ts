import type { QueryResult, Table } from "@superstep/engine/patterns"
import { describe, expect, test } from "vitest"
import { excludedColumns, profileTables } from "./profile-tables.ts"

const column = (name: string, type = "text") => ({ name, type })
const rows = (...list: QueryResult["rows"]): QueryResult => ({ columns: [], rows: list, isTruncated: false })

/** Answers each query by its beginning. */
function asked(answer: (sql: string) => QueryResult | Error) {
  const queries: string[] = []
  return {
    queries,
    query: async (sql: string) => {
      queries.push(sql)
      const result = answer(sql)
      if (result instanceof Error) throw result
      return result
    },
  }
}

const all = { isExcluded: excludedColumns(), timeout: 1_000, now: () => 0 }
const table: Table = {
  name: "vsl",
  columns: [
    column("flag"),
    column("nm"),
    column("teu", "integer"),
    column("built", "date"),
    column("extra", "jsonb"),
  ],
}
const READ = rows(
  ["PA", "Halifax", 10, "2001-05-06"],
  ["LR", "Oslo", 30, "1999-01-01"],
  ["PA", "", null, null],
)

describe("a profile", () => {
  test("has row counts, values with the most frequent first, ranges and a few rows", async () => {
    const { query, queries } = asked((sql) =>
      sql.includes("count(*)") ? rows([3, 10, 30, "1999-01-01", "2001-05-06"]) : READ,
    )
    expect(await profileTables([table], query, all)).toEqual({
      tables: [
        {
          name: "vsl",
          columns: [
            { ...column("flag"), values: ["PA", "LR"], distinct: 2 },
            { ...column("nm"), values: ["Halifax", "Oslo"], distinct: 2 },
            { ...column("teu", "integer"), range: [10, 30] },
            { ...column("built", "date"), range: ["1999-01-01", "2001-05-06"] },
            column("extra", "jsonb"),
          ],
          rowCount: 3,
          sample: [
            { flag: "PA", nm: "Halifax", teu: 10, built: "2001-05-06" },
            { flag: "LR", nm: "Oslo", teu: 30, built: "1999-01-01" },
            { flag: "PA", nm: "", teu: null, built: null },
          ],
        },
      ],
    })
    expect(queries).toEqual([
      "SELECT count(*), min(teu), max(teu), min(built), max(built) FROM vsl",
      "SELECT substr(flag, 1, 81), substr(nm, 1, 81), teu, built FROM vsl LIMIT 2000",
    ])
  })

  test("uses the sampled rows for ranges if the whole table takes too long", async () => {
    const { query } = asked((sql) => (sql.includes("count(*)") ? new Error("too late") : READ))
    const { tables, incomplete } = await profileTables([table], query, all)
    expect(tables[0]?.columns.map(({ range }) => range)).toEqual([
      undefined,
      undefined,
      [10, 30],
      ["1999-01-01", "2001-05-06"],
      undefined,
    ])
    expect([tables[0]?.rowCount, incomplete]).toEqual([undefined, undefined])
  })

  test("does not scan a huge table", async () => {
    const { query, queries } = asked(() => READ)
    await profileTables([{ ...table, rowCount: 50_000_000 }], query, all)
    expect(queries).toHaveLength(1)
  })

  test("never reads columns that are excluded or named like a secret", async () => {
    const secret: Table = {
      name: "hr.staff",
      columns: ["nm", "password", "ssn", "pay"].map((name) => column(name)),
    }
    const { query, queries } = asked(() => rows(["Ann"]))
    const isExcluded = excludedColumns(["staff.ssn", "hr.*.PAY"])
    const { tables } = await profileTables([secret], query, { ...all, isExcluded })
    expect(queries.join("\n")).not.toMatch(/password|ssn|pay/)
    expect(tables[0]?.sample).toEqual([{ nm: "Ann" }])
  })

  test("keeps no value that looks like a key, and no prose", async () => {
    const keys = ["ghp_abcdefghij0123456789", "plain"]
    const text = "x".repeat(81)
    const { query } = asked(() => rows(...keys.map((key) => [key, text])))
    const { tables } = await profileTables([{ name: "t", columns: [column("a"), column("b")] }], query, all)
    expect(tables[0]?.columns).toEqual([{ ...column("a"), values: ["plain"], distinct: 1 }, column("b")])
    expect(JSON.stringify(tables)).not.toContain("ghp_")
  })

  test("omits a table that cannot be read, and reports it", async () => {
    const { query } = asked((sql) => (sql.includes("FROM broken") ? new Error("does not work") : rows(["a"])))
    const broken: Table = { name: "broken", columns: [column("a")] }
    const { tables, incomplete } = await profileTables([broken, { ...broken, name: "good" }], query, all)
    expect(tables.map(({ columns }) => columns[0]?.values)).toEqual([undefined, ["a"]])
    expect(incomplete).toBe("1 of 2 tables could not be read")
  })

  test("that runs out of time has what it got, and says so", async () => {
    let time = 0
    const { query } = asked(() => {
      time += 300
      return rows(["a"])
    })
    const names = ["a", "b", "c", "d", "e", "f"]
    const { tables, incomplete } = await profileTables(
      names.map((name) => ({ name, columns: [column("x")] })),
      query,
      { ...all, now: () => time },
    )
    const done = tables.filter(({ sample }) => sample !== undefined).length
    expect(done).toBeGreaterThan(0)
    expect(done).toBeLessThan(names.length)
    expect(tables.map(({ name }) => name)).toEqual(names)
    expect(incomplete).toBe("not all tables could be profiled within 1000 ms")
  })

  test("keeps a limited number of values", async () => {
    const many = Array.from({ length: 2_000 }, (_, i) => [`value number ${i} ${"y".repeat(50)}`])
    const { query } = asked((sql) => (sql.includes("count(*)") ? rows([2_000]) : rows(...many)))
    const names = Array.from({ length: 200 }, (_, i) => ({ name: `t${i}`, columns: [column("x")] }))
    const { tables, incomplete } = await profileTables(names, query, all)
    expect(tables[0]?.columns[0]?.values).toHaveLength(200)
    expect(tables[0]?.columns[0]?.distinct).toBe(2_000)
    expect(JSON.stringify(tables).length).toBeLessThan(1_000_000)
    expect(incomplete).toBe("it has more values than a profile can hold")
  })

  test("ends when its caller aborts", async () => {
    const leave = new AbortController()
    const { query } = asked(() => {
      leave.abort(new Error("left"))
      return new Error("ended")
    })
    await expect(profileTables([table], query, { ...all, signal: leave.signal })).rejects.toThrow("left")
  })
})

test("a pattern that is not table.column is refused, with the right form", () => {
  expect(() => excludedColumns(["ssn"])).toThrow('such as "*.ssn", not as "ssn"')
  expect(() => excludedColumns(["a.b.c.d"])).toThrow("schema.table.column")
})

test("patterns match whole names in any case, also quoted ones, and are not regular expressions", () => {
  const isExcluded = excludedColumns(["patients.s*", "a+.b"])
  expect(isExcluded('clinic."Patients"', '"SSN"')).toBe(true)
  expect(isExcluded("outpatients", "ssn")).toBe(false)
  expect(isExcluded("aa", "b")).toBe(false)
  expect(isExcluded('"a+"', "b")).toBe(true)
})
