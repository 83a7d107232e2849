import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DuckDBInstance } from "@duckdb/node-api"
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest"
import { DuckDbChild } from "./duckdb-child.ts"
import { type FileDatabase, fileDatabase } from "./files.ts"

let folder: string
let shop: FileDatabase

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "superstep-tables-"))
  const files: Record<string, string | Buffer> = {
    "orders.csv": "id,customer,amount,placed\n1,Ann,10.5,2026-01-02\n2,Bob,20,2026-01-03\n",
    "no header.csv": "1;2,5;x\n3;4,5;y\n",
    "words.tsv": "name\tcity\nann\toslo\n",
    "broken.csv": 'id,name\n1,a\n2,b,c,d\n3\n4,"d, e"\n5,f\n',
    "late.csv": `n\n${Array.from({ length: 30_000 }, (_, i) => i).join("\n")}\nn/a\n`,
    "empty.csv": "",
    "header.csv": "id,name\n",
    "utf16.csv": Buffer.from("\ufeffname,city\nÅse,Tromsø\n", "utf16le"),
    "latin1.csv": Buffer.from("name,city\nÅse,Tromsø\n", "latin1"),
    "bom.csv": "\ufeffname,city\nÅse,Tromsø\n",
    "image.csv": Buffer.from([0, 1, 2, 0, 0, 3, 255, 254, 0, 0, 7]),
    "Odd [names]*, it's so.csv": "Order ID,select,order id\n1,2,3\n",
    "2024.csv": "a\n1\n",
    "list.json": '[{"a": 1, "b": {"c": [1, 2]}}, {"a": 12345678901234567890}]',
    "cut.json": '[{"a": 1}, {"a":',
    "events.jsonl": '{"a": 1, "kind": "x"}\n{"a":\n\n{"a": 3, "kind": "y"}\n',
    // The names of DuckDB's own tables for rejected rows.
    "rejects.csv": "id,name\n1,a\n2,b,c\n",
    "reject_errors.csv": "id\n1\n",
    "scans.csv": "id\n1\n",
    "two ends.csv": 'id,note\r\n1,a\n2,"x\r\ny"\r\n3,d,e\r\n4,f\n',
    "long line.csv": `id,note\n1,${"x".repeat(3_000_000)}\n2,y\n`,
    "one line.csv": "x".repeat(10_000_000),
    "utf16be.csv": Buffer.from("\ufeffname,city\nÅse,Tromsø\n", "utf16le").swap16(),
    "utf16 without mark.csv": Buffer.from("name,city\nÅse,Tromsø\n", "utf16le"),
    "damaged.parquet": "PAR1 and nothing",
    "below/orders.csv": "id\n1\n",
    ".hidden/secret.csv": "id\n1\n",
    "notes.txt": "nothing to ask",
  }
  await mkdir(join(folder, "below"))
  await mkdir(join(folder, ".hidden"))
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content)
  const duckdb = await DuckDBInstance.create()
  const connection = await duckdb.connect()
  const path = join(folder, "made.parquet")
  await connection.run(
    `COPY (SELECT 7 AS n, 1.50::DECIMAL(9,2) AS price, DATE '2026-01-02' AS day) TO '${path}'`,
  )
  connection.closeSync()
  shop = fileDatabase({ id: "shop", folder })
})
afterAll(async () => {
  await shop?.close()
  await rm(folder, { recursive: true, force: true })
})

const about = async (file: string) => (await shop.report()).find((report) => report.file === file)
const rowsOf = async (sql: string) => (await shop.query(sql)).rows

describe("files as tables", () => {
  test("a table has its file's name, the columns of its header, and types", async () => {
    const tables = await shop.schema()
    expect(tables.find(({ name }) => name === "orders")).toEqual({
      name: "orders",
      columns: [
        { name: "id", type: "BIGINT" },
        { name: "customer", type: "VARCHAR" },
        { name: "amount", type: "DOUBLE" },
        { name: "placed", type: "DATE" },
      ],
      description: "From orders.csv: 2 rows.",
      rowCount: 2,
    })
    expect(await shop.query("SELECT * FROM orders ORDER BY id;")).toEqual({
      columns: ["id", "customer", "amount", "placed"],
      rows: [
        [1, "Ann", 10.5, "2026-01-02"],
        [2, "Bob", 20, "2026-01-03"],
      ],
      isTruncated: false,
    })
  })

  test("includes files in subfolders, except hidden ones and those of other types", async () => {
    const names = (await shop.report()).map(({ file, table }) => `${file} → ${table}`)
    expect(names).toContain(`${join("below", "orders.csv")} → below_orders`)
    expect(names.join()).not.toMatch(/secret|notes/)
  })

  test("a file without a header has numbered columns", async () => {
    expect((await shop.query("FROM no_header")).columns).toEqual(["column0", "column1", "column2"])
    expect((await rowsOf("FROM no_header")).length).toBe(2)
    expect(await rowsOf("FROM words")).toEqual([["ann", "oslo"]])
  })

  test("malformed rows are skipped, counted and reported", async () => {
    expect(await rowsOf("FROM broken ORDER BY id")).toEqual([
      [1, "a"],
      [4, "d, e"],
      [5, "f"],
    ])
    expect(await about("broken.csv")).toMatchObject({ rows: 3, brokenRows: 2 })
    const table = (await shop.schema()).find(({ name }) => name === "broken")
    expect(table?.description).toBe("From broken.csv: 3 rows, 2 broken rows skipped.")
  })

  test("a file may have the name of one of DuckDB's own tables", async () => {
    expect(await rowsOf("FROM rejects")).toEqual([[1, "a"]])
    expect(await about("rejects.csv")).toMatchObject({ rows: 1, brokenRows: 1 })
    expect(await rowsOf("FROM reject_errors, scans")).toEqual([[1, 1]])
  })

  test("mixed line ends in one file are line ends, and malformed rows are still counted", async () => {
    expect(await rowsOf("FROM two_ends ORDER BY id")).toEqual([
      [1, "a"],
      [2, "x\ny"],
      [4, "f"],
    ])
    expect(await about("two ends.csv")).toMatchObject({ rows: 3, brokenRows: 1 })
  })

  test("a line of megabytes is an ordinary row, and a line that is not a row is reported", async () => {
    expect(await rowsOf("SELECT id, length(note) FROM long_line ORDER BY id")).toEqual([
      [1, 3_000_000],
      [2, 1],
    ])
    expect(await about("one line.csv")).toMatchObject({ rows: 0, brokenRows: 1 })
  })

  test("a column whose last value has another type loses no row", async () => {
    expect(await about("late.csv")).toMatchObject({ rows: 30_001, brokenRows: 0 })
    expect(await rowsOf("SELECT count(*) FROM late WHERE n = 'n/a'")).toEqual([[1]])
  })

  test.each(["utf16", "utf16be", "utf16_without_mark", "latin1", "bom"])(
    "%s is read with the right encoding",
    async (table) => {
      expect(await shop.query(`FROM ${table}`)).toMatchObject({
        columns: ["name", "city"],
        rows: [["Åse", "Tromsø"]],
      })
    },
  )

  test("conversions are reported", async () => {
    expect(await about("utf16.csv")).toMatchObject({ encoding: "utf-16le" })
    expect(await about("latin1.csv")).toMatchObject({ encoding: "windows-1252" })
    expect(await about("bom.csv")).not.toHaveProperty("encoding")
  })

  test("an empty file, an image and a truncated file are reported and have no table", async () => {
    expect(await about("empty.csv")).toMatchObject({ rows: 0, problem: "it is empty" })
    expect(await about("image.csv")).toMatchObject({ problem: "it is not text" })
    expect((await about("cut.json"))?.problem).toMatch(/^Invalid Input Error: Malformed JSON/)
    expect((await about("damaged.parquet"))?.problem).toMatch(/^Invalid Input Error: No magic bytes/)
    const names = (await shop.schema()).map(({ name }) => name)
    for (const name of ["empty", "image", "cut", "damaged"]) expect(names).not.toContain(name)
  })

  test("a header without rows is a table without rows", async () => {
    expect(await shop.query("FROM header")).toEqual({ columns: ["id", "name"], rows: [], isTruncated: false })
  })

  test("names that need quotes have them in the schema, and wildcards in a file name are literal", async () => {
    const table = (await shop.schema()).find(({ name }) => name.startsWith("odd"))
    expect(table).toMatchObject({
      name: "odd_names_it_s_so",
      columns: [{ name: '"Order ID"' }, { name: '"select"' }, { name: '"order id_1"' }],
    })
    expect(await rowsOf(`SELECT "Order ID", "select" FROM odd_names_it_s_so`)).toEqual([[1, 2]])
    expect(await rowsOf("FROM table_2024")).toEqual([[1]])
  })

  test("JSON is read whole or by lines, and numbers stay exact", async () => {
    expect(await rowsOf("SELECT a, b FROM list")).toEqual([
      [1, { c: [1, 2] }],
      ["12345678901234567890", null],
    ])
    expect(await rowsOf("SELECT a, kind FROM events ORDER BY a")).toEqual([
      [1, "x"],
      [3, "y"],
    ])
    expect(await about("events.jsonl")).toMatchObject({ rows: 2, brokenRows: 1 })
  })

  test("Parquet is read", async () => {
    expect(await rowsOf("FROM made")).toEqual([[7, 1.5, "2026-01-02"]])
  })
})

test("values are JSON, without digits that the data does not have, in one time zone everywhere", async () => {
  const { rows } =
    await shop.query(`SELECT 0.1::FLOAT, 16777217::FLOAT, 'NaN'::FLOAT, 'inf'::DOUBLE, 1.10::DECIMAL(9,2),
    9007199254740993, [0.1::FLOAT], TIMESTAMPTZ '2026-07-02 12:00:00+02:00', TIMESTAMPTZ '2026-07-02 12:00:00+02:00'::VARCHAR`)
  expect(rows).toEqual([
    [
      0.1,
      16777216,
      "NaN",
      "Infinity",
      1.1,
      "9007199254740993",
      [0.1],
      ...["", ""].fill("2026-07-02 10:00:00+00"),
    ],
  ])
})

describe("queries", () => {
  test("rows and bytes are truncated at their limits", async () => {
    const rows = await shop.query("SELECT n FROM late")
    expect([rows.rows.length, rows.isTruncated]).toEqual([1_000, true])
    const fits = await shop.query("SELECT n FROM late", { rows: 30_001 })
    expect([fits.rows.length, fits.isTruncated]).toEqual([30_001, false])
    const bytes = await shop.query("SELECT repeat('x', 100) FROM late", { bytes: 1_040 })
    expect([bytes.rows.length, bytes.isTruncated]).toEqual([10, true])
  })

  test("the error for a mistake explains how to correct it", async () => {
    const wrong = shop.query("SELECT custmer FROM orders")
    await expect(wrong).rejects.toMatchObject({ code: "QUERY_FAILED", retryable: false })
    await expect(wrong).rejects.toThrow(/custmer.*not found/)
  })

  test("an aborted query ends, and waiting queries continue", async () => {
    const controller = new AbortController()
    const endless = shop.query("SELECT count(*) FROM range(1000000000000)", {
      signal: controller.signal,
      timeout: 50_000,
    })
    const next = shop.query("SELECT 1")
    controller.abort(new Error("enough"))
    await expect(endless).rejects.toThrow("enough")
    expect((await next).rows).toEqual([[1]])
    await expect(shop.query("SELECT 1", { signal: controller.signal })).rejects.toThrow("enough")
  })

  test("a waiting query ends as soon as it is aborted", async () => {
    const endless = new AbortController()
    const ended = shop.query("SELECT count(*) FROM range(1000000000000)", {
      signal: endless.signal,
      timeout: 50_000,
    })
    const controller = new AbortController()
    const waiting = shop.query("SELECT 1", { signal: controller.signal })
    await shop.schema()
    controller.abort(new Error("left"))
    await expect(waiting).rejects.toThrow("left")
    endless.abort(new Error("enough"))
    await expect(ended).rejects.toThrow("enough")
  })

  test("concurrent queries each get their own result", async () => {
    const results = await Promise.all(Array.from({ length: 20 }, (_, i) => rowsOf(`SELECT ${i}`)))
    expect(results).toEqual(Array.from({ length: 20 }, (_, i) => [[i]]))
  })
})

describe("missing files", () => {
  test("a folder without tables is an empty schema", async () => {
    const bare = await mkdtemp(join(tmpdir(), "superstep-tables-"))
    const database = fileDatabase({ id: "bare", folder: bare })
    expect(await database.schema()).toEqual([])
    expect((await database.query("SELECT 1 AS one")).rows).toEqual([[1]])
    await database.close()
    await rm(bare, { recursive: true })
  })

  test.each([
    [{ folder: "/no/such/folder" }, "/no/such/folder cannot be read: ENOENT"],
    [{ files: ["/no/such/file.csv"] }, "/no/such/file.csv cannot be read: ENOENT"],
    [{ files: ["letter.docx"] }, "letter.docx is not a supported file type: .csv, .tsv"],
  ])("%o is rejected", async (options, message) => {
    const database = fileDatabase({ id: "lost", ...options })
    await expect(database.schema()).rejects.toThrow(message)
    await database.close()
  })

  test("files with the same name have separate tables", async () => {
    const files = [join(folder, "orders.csv"), join(folder, "below", "orders.csv")]
    const database = fileDatabase({ id: "two", files })
    expect((await database.schema()).map(({ name }) => name)).toEqual(["orders", "orders_2"])
    await database.close()
    await expect(database.query("SELECT 1")).rejects.toMatchObject({ code: "DATABASE_CLOSED" })
  })

  // Linux has a file that cannot be read from its start.
  test.skipIf(process.platform !== "linux")(
    "an unreadable file is reported and does not stop the others",
    async () => {
      const bare = await mkdtemp(join(tmpdir(), "superstep-tables-"))
      await symlink("/proc/self/mem", join(bare, "shut.csv"))
      const files = [join(bare, "shut.csv"), join(folder, "orders.csv")]
      const database = fileDatabase({ id: "some", files })
      expect(await database.report()).toMatchObject([
        { table: "shut", rows: 0, problem: "it is unreadable: EIO: i/o error, read" },
        { table: "orders", rows: 2 },
      ])
      await database.close()
      await rm(bare, { recursive: true })
    },
  )

  test.each([0, -1, 1.5, Number.NaN])("memory: %d is refused", (memory) => {
    expect(() => fileDatabase({ id: "none", folder, memory })).toThrow(
      "memory must be a whole number from 1 to",
    )
  })

  test("either files or a folder is needed", () => {
    expect(() => fileDatabase({ id: "none" })).toThrow("needs either `files` or a `folder`")
  })
})

describe("a profile", () => {
  test("has values and ranges, and another process reads it without loading the files", async () => {
    const data = await mkdtemp(join(tmpdir(), "superstep-profile-"))
    onTestFinished(() => rm(data, { recursive: true, force: true }))
    await writeFile(
      join(data, "stk.csv"),
      "itm,qty,seen\nlamp,3,2026-01-02\nlamp,5,2026-02-02\nsofa,1,2025-03-04\n",
    )
    const open = () => {
      const database = fileDatabase({ id: "stock", folder: data, profile: { cache: join(data, ".cache") } })
      onTestFinished(() => database.close())
      return database
    }
    const profile = await open().profile?.()
    expect(profile?.tables[0]).toMatchObject({
      name: "stk",
      rowCount: 3,
      columns: [
        { name: "itm", values: ["lamp", "sofa"], distinct: 2 },
        { name: "qty", range: [1, 5] },
        { name: "seen", range: ["2025-03-04", "2026-02-02"] },
      ],
      sample: [{ itm: "lamp", qty: 3, seen: "2026-01-02" }, {}, {}],
    })
    const started = vi.spyOn(DuckDbChild.prototype, "ask")
    onTestFinished(() => started.mockRestore())
    expect(await open().profile?.()).toEqual(profile)
    expect(started).not.toHaveBeenCalled()
    await writeFile(join(data, "stk.csv"), "itm,qty\nrug,3\n")
    expect((await open().profile?.())?.tables[0]?.columns[0]).toMatchObject({ values: ["rug"] })
  })

  test("of a closed database is refused", async () => {
    const database = fileDatabase({ id: "stock", folder })
    await database.close()
    await expect(database.profile?.()).rejects.toMatchObject({ code: "DATABASE_CLOSED" })
  })
})
