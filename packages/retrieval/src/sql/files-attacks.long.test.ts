/** Harmful queries that a model could write for files: refused or limited, and everything stays unchanged. */
import { createHash } from "node:crypto"
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { DuckDbChild } from "./duckdb-child.ts"
import { type FileDatabase, fileDatabase } from "./files.ts"

const LIMITS = { rows: 50, bytes: 20_000, timeout: 300 }

let folder: string
let data: string
let database: FileDatabase
let unguarded: DuckDbChild
let before: unknown
let http: Server
let calls = 0

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "superstep-attacks-"))
  data = join(folder, "people.csv")
  await writeFile(data, "id,name\n1,Ann\n2,Bob\n")
  database = fileDatabase({ id: "people", files: [data], limits: LIMITS, memory: 200 })
  unguarded = new DuckDbChild({ database: join(folder, "tables.duckdb"), folder, memory: 200_000_000 })
  await unguarded.ask({ do: "load", source: { path: data, table: "people", format: "csv" } })
  await unguarded.ask({ do: "tables" })
  http = createServer((_, response) => {
    calls += 1
    response.end("id\n1\n")
  })
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve))
  before = await everything()
})
afterAll(async () => {
  unguarded?.close()
  await database?.close()
  http?.close()
  await rm(folder, { recursive: true, force: true })
})

/** The files, the folder, the tables, and the received requests. */
async function everything(): Promise<unknown> {
  const { rows } = await database.query("SELECT count(*), string_agg(name, ',' ORDER BY id) FROM people", {
    timeout: 20_000,
  })
  const hash = createHash("sha256").update(await readFile(data))
  hash.update(await readFile(join(folder, "tables.duckdb")))
  return { rows, calls, files: await readdir(folder), hash: hash.digest("hex") }
}

const filled = (sql: string) =>
  sql.replaceAll("FOLDER", folder).replaceAll("PORT", `${(http.address() as AddressInfo).port}`)

const REFUSED: Record<string, string> = {
  "reading a file as CSV": "SELECT * FROM read_csv('/etc/passwd')",
  "reading a file as text": "SELECT * FROM read_text('/etc/passwd')",
  "reading a file as bytes": "SELECT * FROM read_blob('/etc/passwd')",
  "reading a file by its name": "SELECT * FROM '/etc/passwd'",
  "reading the files themselves": "SELECT * FROM 'FOLDER/people.csv'",
  "reading Parquet": "SELECT * FROM read_parquet('FOLDER/*.parquet')",
  "reading JSON": "SELECT * FROM read_json('/etc/passwd')",
  "listing a folder": "SELECT * FROM glob('/etc/*')",
  "sniffing a file": "SELECT * FROM sniff_csv('/etc/passwd')",
  "calling out over HTTP": "SELECT * FROM read_csv('http://127.0.0.1:PORT/x.csv')",
  "calling out by a name": "FROM 'http://127.0.0.1:PORT/x.csv'",
  "COPY to a file": "COPY people TO 'FOLDER/stolen.csv'",
  "COPY from a file": "COPY people FROM '/etc/passwd'",
  exporting: "EXPORT DATABASE 'FOLDER/stolen'",
  importing: "IMPORT DATABASE 'FOLDER'",
  "attaching a database": "ATTACH 'FOLDER/other.duckdb' AS other",
  detaching: "DETACH tables",
  "installing an extension": "INSTALL httpfs",
  "loading an extension": "LOAD httpfs",
  "a setting": "SET memory_limit = '100GB'",
  "a pragma": "PRAGMA memory_limit = '100GB'",
  unlocking: "SET lock_configuration = false",
  "opening the files again": "SET enable_external_access = true",
  resetting: "RESET ALL",
  "a write": "UPDATE people SET name = 'x'",
  "an insert": "INSERT INTO people VALUES (3, 'x')",
  "a delete": "DELETE FROM people",
  "a delete with a CTE": "WITH x AS (SELECT 1) DELETE FROM people",
  "a drop": "DROP TABLE people",
  "a temporary table": "CREATE TEMP TABLE t AS SELECT 1",
  "a macro": "CREATE MACRO f() AS 1",
  "a secret": "CREATE SECRET s (TYPE http)",
  "a checkpoint": "CHECKPOINT",
  "a checkpoint by a function": "SELECT * FROM force_checkpoint()",
  "logging to a file": "FROM enable_logging(storage = 'file', storage_config = {'path': 'FOLDER/log'})",
  "logging by a quoted name": `FROM "Enable_Logging"('QueryLog')`,
  "SQL in a string": "FROM query('SELECT * FROM read_text(''/etc/passwd'')')",
  "SQL as JSON": "SELECT * FROM json_execute_serialized_sql('{}')",
  "several statements": "SELECT 1; DROP TABLE people",
  "a statement behind a comment": "SELECT 1 -- ;\n; DROP TABLE people",
  "a transaction": "BEGIN",
  "a call": "CALL pragma_version()",
  preparing: "PREPARE p AS SELECT 1",
  "the environment": "SELECT getenv('PATH')",
  "reading a database": "FROM read_duckdb('FOLDER/tables.duckdb')",
  "what is in a Parquet file": "FROM parquet_metadata('/etc/passwd')",
  "the schema of a Parquet file": "FROM parquet_schema('FOLDER/people.csv')",
  "reading lines of JSON": "FROM read_ndjson_objects('/etc/passwd')",
  "reading a file of several": "FROM read_csv(['/etc/passwd', 'FOLDER/people.csv'])",
  "reading a file by a quoted name": `FROM "/etc/passwd"`,
  "reading by a name with a method": "SELECT '/etc/passwd'.read_text()",
  "SQL in a string with a method": "SELECT 'SELECT 1'.query()",
  "logging with a method": "SELECT name.enable_logging() FROM people",
  "a log entry with a method on a column": `SELECT "name".write_log() FROM people`,
  "reading a file by its name in a subquery": "SELECT (SELECT count(*) FROM 'FOLDER/people.csv')",
  "calling out over HTTPS": "FROM read_parquet('https://127.0.0.1:PORT/x.parquet')",
  "calling out to a bucket": "FROM read_csv('s3://bucket/x.csv')",
  "known secrets": "FROM duckdb_secrets()",
  "installed extensions": "FROM duckdb_extensions()",
  "memory by its address": "FROM arrow_scan(1, 1, 1)",
  "SQL in a string, by a name with a space that is none": "FROM query\u2060('SELECT 1')",
  "a table by its name in a string": "FROM query_table('people')",
  "SQL in a string, in a subquery": "SELECT (SELECT count(*) FROM query('FROM people'))",
  "a copy in a CTE": "WITH x AS (COPY people TO 'FOLDER/x') SELECT 1",
  "an insert in a CTE": "WITH x AS (INSERT INTO people VALUES (3, 'x') RETURNING id) FROM x",
  "a merge": "MERGE INTO people USING people p ON true WHEN MATCHED THEN DELETE",
  "a pivot, which makes a type": "PIVOT people ON name",
  "a view": "CREATE VIEW v AS SELECT 1",
  "an index": "CREATE INDEX i ON people (id)",
  "a sequence": "CREATE SEQUENCE s",
  "a variable": "SET VARIABLE x = 1",
  "another database": "USE memory",
  "an explained run": "EXPLAIN ANALYZE SELECT 1",
  vacuuming: "VACUUM",
  "profiling to a file": "PRAGMA profiling_output = 'FOLDER/profile'",
  "a parameter": "SELECT $1",
  nothing: "",
}

const BOUNDED: Record<string, string> = {
  "rows without end": "WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r) SELECT i FROM r",
  "a count without end": "SELECT count(*) FROM range(1000000000000)",
  "a huge result": "SELECT * FROM range(1000000000000)",
  "a product of tables": "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range <> b.range",
  "a huge sort": "SELECT * FROM range(1000000000) ORDER BY random()",
  "one row of 300 MB": "SELECT repeat('x', 300000000)",
  "a thousand rows of 100 MB": "SELECT repeat('x', 100000000) FROM range(1000)",
  "padding to 2 GB": "SELECT lpad('', 2000000000, 'x')",
  "formatting to 1 GB": "SELECT format('{:1000000000}', 1)",
  "two billion bits": "SELECT bitstring('1', 2000000000)",
  "an aggregate of gigabytes": "SELECT string_agg(repeat('x', 1000000)) FROM range(100000)",
  "a list in a list, 900 times": `SELECT ${"[".repeat(900)}1${"]".repeat(900)}`,
  "parentheses without end": `SELECT ${"(".repeat(50_000)}1${")".repeat(50_000)}`,
  "a sum without end": `SELECT ${"1+".repeat(50_000)}1`,
  "a huge list": "SELECT range(100000000000)",
  "a distance that cannot be interrupted": "SELECT levenshtein(repeat('a', 300000), repeat('b', 300000))",
}

const CODES = ["QUERY_REFUSED", "QUERY_FAILED", "QUERY_TIMEOUT"]

describe("queries that a model must not run", () => {
  test.each(Object.entries(REFUSED))("%s is refused", async (_, sql) => {
    // Refused, and not only timed out.
    const error = await database.query(filled(sql), { timeout: 20_000 }).then(
      () => undefined,
      (thrown) => thrown,
    )
    expect(["QUERY_REFUSED", "QUERY_FAILED"]).toContain(error?.code)
    expect(await everything()).toEqual(before)
  })

  test.each(Object.entries(BOUNDED))("%s is limited", async (_, sql) => {
    const memory = process.memoryUsage().rss
    const began = performance.now()
    const outcome = await database.query(sql).catch((error) => error)
    expect(performance.now() - began).toBeLessThan(15_000)
    expect(process.memoryUsage().rss - memory).toBeLessThan(100_000_000)
    if (outcome instanceof Error) expect(CODES).toContain((outcome as Error & { code: string }).code)
    else {
      expect(outcome.rows.length).toBeLessThanOrEqual(LIMITS.rows)
      expect(outcome.isTruncated).toBe(true)
    }
    expect(await everything()).toEqual(before)
  })
})

describe("DuckDB's own settings hold without the guard", () => {
  test.each(Object.entries({ ...REFUSED, ...BOUNDED }))("%s", async (_, sql) => {
    const began = performance.now()
    const outcome = await unguarded
      .ask({ do: "query", sql: filled(sql), limits: LIMITS })
      .catch((error) => error)
    expect(performance.now() - began).toBeLessThan(15_000)
    if (outcome instanceof Error) expect(CODES).toContain((outcome as Error & { code: string }).code)
    else expect(JSON.stringify(outcome.rows)).not.toContain("root:")
    expect(await everything()).toEqual(before)
  })
})
