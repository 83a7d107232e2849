import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Database } from "@superstep/engine/patterns"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { sqliteDatabase } from "./sqlite.ts"
import { makeSqlite, openSqlite } from "./sqlite-file.test-support.ts"
import { checkProgram } from "./sqlite-guard.ts"

let folder: string
let clinic: Database

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "superstep-sqlite-"))
  const file = join(folder, "a clinic #1.db")
  makeSqlite(
    file,
    `
    CREATE TABLE doctors (id INTEGER PRIMARY KEY, name TEXT NOT NULL, "order" INTEGER);
    CREATE TABLE visits (
      id INTEGER PRIMARY KEY, doctor INTEGER REFERENCES doctors(id), day TEXT, fee REAL, scan BLOB, big INTEGER);
    CREATE VIEW fees AS SELECT doctor, sum(fee) AS total FROM visits GROUP BY doctor;
    CREATE VIEW spy AS SELECT readfile('/etc/hostname') AS x;
    CREATE VIRTUAL TABLE notes USING fts5(body);
    INSERT INTO doctors VALUES (1, 'Ann', 2), (2, 'Bob', 1);
    INSERT INTO visits VALUES
      (1, 1, '2026-01-02', 10.5, x'00ff', 9007199254740993), (2, 1, '2026-01-03', 20, NULL, 7);
    INSERT INTO notes VALUES ('a broken arm'), ('a cold');`,
  )
  clinic = sqliteDatabase({ id: "clinic", file })
})
afterAll(async () => {
  await clinic?.close?.()
  rmSync(folder, { recursive: true, force: true })
})

describe("a SQLite file", () => {
  test("has its tables and views with types and keys, except those that cannot be queried", async () => {
    const tables = await clinic.schema()
    expect(tables.map(({ name }) => name)).toEqual(["doctors", "fees", "notes", "visits"])
    expect(tables.find(({ name }) => name === "doctors")).toEqual({
      name: "doctors",
      columns: [
        { name: "id", type: "INTEGER" },
        { name: "name", type: "TEXT" },
        { name: '"order"', type: "INTEGER" },
      ],
      primaryKey: ["id"],
      rowCount: 2,
    })
    expect(tables.find(({ name }) => name === "visits")).toMatchObject({
      foreignKeys: [{ columns: ["doctor"], table: "doctors", references: ["id"] }],
    })
  })

  test("answers queries with numbers that lose no digits, bytes as hexadecimals, and columns of the same name", async () => {
    const sql = `-- all of them
      WITH busy(doctor, n) AS (SELECT doctor, count(*) FROM visits GROUP BY 1)
      SELECT d.name, busy.n, v.scan, v.big, d.id, v.id FROM doctors d
      JOIN busy ON busy.doctor = d.id JOIN visits v ON v.doctor = d.id ORDER BY v.id /* by time */;`
    expect(await clinic.query(sql)).toEqual({
      columns: ["name", "n", "scan", "big", "id", "id"],
      rows: [
        ["Ann", 2, "\\x00ff", "9007199254740993", 1, 1],
        ["Ann", 2, null, 7, 1, 2],
      ],
      isTruncated: false,
    })
    expect((await clinic.query("SELECT total FROM fees")).rows).toEqual([[30.5]])
    expect((await clinic.query("SELECT body FROM notes WHERE notes MATCH 'arm'")).rows).toEqual([
      ["a broken arm"],
    ])
    expect((await clinic.query("SELECT value FROM json_each('[1,2]')")).rows).toEqual([[1], [2]])
  })

  test("has a profile with values, ranges and sample rows", async () => {
    const { tables, incomplete } = (await clinic.profile?.()) ?? { tables: [] }
    expect(incomplete).toBeUndefined()
    expect(tables.find(({ name }) => name === "doctors")).toMatchObject({
      rowCount: 2,
      columns: expect.arrayContaining([{ name: "name", type: "TEXT", values: ["Ann", "Bob"], distinct: 2 }]),
    })
  })

  test("returns no more rows and bytes than the limits allow", async () => {
    expect(await clinic.query("SELECT id FROM doctors ORDER BY id", { rows: 1 })).toEqual({
      columns: ["id"],
      rows: [[1]],
      isTruncated: true,
    })
    expect(await clinic.query("SELECT name FROM doctors", { bytes: 3 })).toMatchObject({
      rows: [],
      isTruncated: true,
    })
  })

  test("reports SQLite's error for a query that it cannot parse", async () => {
    await expect(clinic.query("SELECT nome FROM doctors")).rejects.toMatchObject({
      code: "QUERY_FAILED",
      message: expect.stringContaining("no such column: nome"),
    })
  })

  test("ends a query that takes too long, and answers the next", async () => {
    const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    await expect(clinic.query(endless, { timeout: 50 })).rejects.toMatchObject({ code: "QUERY_TIMEOUT" })
    expect((await clinic.query("SELECT 1")).rows).toEqual([[1]])
  })

  test.each([
    ["no.db", undefined, "no such file"],
    ["text.db", "not a database at all, only text", "file is not a database"],
    [".", undefined, "it is not a file"],
  ])("%s is reported as a file that cannot be read", async (name, content, why) => {
    const file = join(folder, name)
    if (content !== undefined) writeFileSync(file, content)
    const database = sqliteDatabase({ id: "x", file })
    await expect(database.schema()).rejects.toMatchObject({
      code: "FILE_UNREADABLE",
      message: `${file} cannot be read: ${why}.`,
    })
    await database.close?.()
  })

  test("is not queried after it is closed", async () => {
    const database = sqliteDatabase({ id: "x", file: join(folder, "no.db") })
    await database.close?.()
    await expect(database.schema()).rejects.toMatchObject({ code: "DATABASE_CLOSED" })
  })
})

describe("a query that a model writes can only read the file", () => {
  const written = () => join(folder, "written")
  const ATTACKS: readonly (readonly [string, string])[] = [
    ["a statement that writes", "DELETE FROM doctors"],
    ["one after a SELECT", "SELECT 1; DELETE FROM doctors"],
    ["one after a CTE", "WITH x AS (SELECT 1) DELETE FROM doctors"],
    ["one that returns rows", "WITH x AS (SELECT 1) INSERT INTO doctors VALUES (9, 'x', 1) RETURNING *"],
    ["a pragma", "PRAGMA query_only = OFF"],
    ["a pragma as a table", "SELECT * FROM pragma_database_list"],
    ["a pragma as a table, named by a string", "SELECT * FROM 'pragma_database_list'"],
    ["another file", "ATTACH 'other.db' AS other"],
    ["reading a file", "SELECT readfile('/etc/hostname')"],
    ["reading a file, by a quoted name", "SELECT \"readfile\"('/etc/hostname')"],
    ["reading a file, by a name in brackets", "SELECT [readfile] ('/etc/hostname')"],
    ["reading a file, by a name in backquotes", "SELECT `ReadFile`/* */('/etc/hostname')"],
    ["writing a file", "SELECT writefile('WRITTEN', 'x')"],
    ["writing a file as a column list", "SELECT writefile('WRITTEN', 'x') AS (1)"],
    ["listing a folder", "SELECT name FROM fsdir('/etc')"],
    ["listing a folder by a hidden column", "SELECT name FROM fsdir WHERE path = '/etc'"],
    ["listing a folder, named by a string", "SELECT name FROM 'fsdir' WHERE path = '/etc'"],
    ["listing a folder, in double quotes", "SELECT name FROM \"fsdir\" WHERE path = '/etc'"],
    ["an extension", "SELECT load_extension('x')"],
    ["SQL in a string", "SELECT sha3_query('SELECT 1')"],
    ["raw pages", "SELECT hex(data) FROM sqlite_dbpage"],
    ["statements of others", "SELECT * FROM sqlite_stmt"],
    ["memory", "SELECT * FROM carray(1, 1)"],
    ["a view that reads a file", "SELECT * FROM spy"],
    ["a comment that does not end", "SELECT 1 /* "],
    ["a comment in a comment", "SELECT 1 /* /* */ */"],
    ["a line that ends for some", "SELECT 1 -- \r' \n , writefile('WRITTEN', 'x') --'"],
    ["a parameter", "SELECT ?"],
    ["a named parameter", "SELECT $x"],
    ["a NUL", "SELECT 1\0; DELETE FROM doctors"],
    ["a number with letters", "SELECT 1writefile('WRITTEN', 'x')"],
    ["nothing", " ; "],
    ["an explanation", "EXPLAIN SELECT 1"],
    ["a new table", "CREATE TABLE x (a)"],
  ]

  test.each(ATTACKS)("%s", async (_, sql) => {
    const error = await clinic.query(sql.replaceAll("WRITTEN", written())).catch((one) => one)
    expect(error).toMatchObject({ code: expect.stringMatching(/^QUERY_(?:REFUSED|FAILED)$/) })
    expect(existsSync(written())).toBe(false)
    expect((await clinic.query("SELECT count(*) FROM doctors")).rows).toEqual([[2]])
  })

  test("cannot use more memory than allowed", async () => {
    const small = sqliteDatabase({ id: "x", file: join(folder, "a clinic #1.db"), memory: 20 })
    const huge = "SELECT length(printf('%.*c', 900000000, 'x') || printf('%.*c', 99999999, 'y'))"
    await expect(small.query(huge)).rejects.toThrow("it exceeded the memory limit of 20 MB")
    expect((await small.query("SELECT 1")).rows).toEqual([[1]])
    await small.close?.()
  })

  test("cannot call a forbidden function, whatever the text looks like", () => {
    expect(() => checkProgram([{ opcode: "Function", p4: "writefile(2)" }])).toThrow("writefile")
    expect(() =>
      checkProgram([
        { opcode: "PureFunc", p4: "->>(2)" },
        { opcode: "Ne", p4: "BINARY-8" },
      ]),
    ).not.toThrow()
  })

  test("a file that another program is writing can be queried", async () => {
    const file = join(folder, "busy.db")
    const writer = openSqlite(file)
    writer.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (a); BEGIN; INSERT INTO t VALUES (1)")
    const busy = sqliteDatabase({ id: "busy", file })
    expect((await busy.query("SELECT count(*) FROM t")).rows).toEqual([[0]])
    writer.exec("COMMIT")
    expect((await busy.query("SELECT count(*) FROM t")).rows).toEqual([[1]])
    await busy.close?.()
    writer.close()
  })
})
