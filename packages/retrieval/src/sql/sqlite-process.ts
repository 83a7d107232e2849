/**
 * The program that SQLite runs in, apart from ours: a query cannot be interrupted, and blocks its process.
 * The file is opened for reading, and functions and modules that reach beyond it are refused (sqlite-guard.ts).
 */
import { pathToFileURL } from "node:url"
import type { Json } from "@superstep/engine"
import { requireFrom } from "@superstep/engine/packages"
import type { QueryResult, Table } from "@superstep/engine/patterns"
import { answerParent, programSettings } from "../child-program.ts"
import { BoundedRows, exactNumber, type KnownLimits } from "./rows.ts"
import type { SqliteReply, SqliteRequest, SqliteSettings } from "./sqlite.ts"
import { checkProgram, checkSqliteSelect } from "./sqlite-guard.ts"
import { sqliteTables } from "./sqlite-schema.ts"
import { SelectRefused } from "./strict-select.ts"

const { file, driver, memory } = programSettings<SqliteSettings>()

/** What both drivers have. */
interface Driver {
  exec(sql: string): unknown
  close(): unknown
  prepare(sql: string): {
    all(...values: string[]): unknown[]
    iterate(): IterableIterator<unknown>
    columns(): readonly { readonly name: string }[]
    raw?(isRaw: boolean): unknown
    safeIntegers?(isSafe: boolean): unknown
    setReturnArrays?(isArray: boolean): void
    setReadBigInts?(isBig: boolean): void
  }
}

await answerParent<SqliteRequest, SqliteReply>(
  async () => async (request) => {
    // One for each request: a statement that is not read to its end would hold on to what it saw.
    const database = open()
    try {
      return { ok: request.do === "schema" ? tablesIn(database) : query(database, request) }
    } finally {
      database.close()
    }
  },
  (error) => ({
    error: error instanceof SelectRefused ? "refused" : "failed",
    message: error instanceof Error ? error.message : String(error),
  }),
)

function open(): Driver {
  const database = openFile()
  // Views may not call what a query may not. The limit is SQLite's own: no timer fires while a query runs.
  const settings = [
    "query_only = ON",
    "trusted_schema = OFF",
    "busy_timeout = 2000",
    `hard_heap_limit = ${memory}`,
  ]
  database.exec(settings.map((setting) => `PRAGMA ${setting};`).join(" "))
  return database
}

function openFile(): Driver {
  const require = requireFrom(import.meta.url)
  if (driver !== undefined) {
    const Libsql = require(driver) as new (path: string) => Driver
    return new Libsql(`${pathToFileURL(file).href}?mode=ro`)
  }
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite") as unknown as {
    DatabaseSync: new (path: string, options: { readonly readOnly: boolean }) => Driver
  }
  return new DatabaseSync(file, { readOnly: true })
}

function tablesIn(database: Driver): Table[] {
  return sqliteTables((sql, ...values) => database.prepare(sql).all(...values) as Record<string, unknown>[])
}

function query(
  database: Driver,
  { sql, limits }: { readonly sql: string; readonly limits: KnownLimits },
): QueryResult {
  const namesOf = (table: string) =>
    (database.prepare(`SELECT name FROM ${table}`).all() as { name: string }[]).map(({ name }) =>
      name.toLowerCase(),
    )
  checkSqliteSelect(sql, namesOf("pragma_module_list"), new Set(namesOf("sqlite_schema")))
  checkProgram(database.prepare(`EXPLAIN ${sql}`).all() as { opcode: unknown; p4: unknown }[])
  const statement = database.prepare(sql)
  statement.raw?.(true)
  statement.safeIntegers?.(true)
  statement.setReturnArrays?.(true)
  statement.setReadBigInts?.(true)
  const bounded = new BoundedRows(limits)
  for (const row of statement.iterate()) {
    if (!bounded.add((row as unknown[]).map(toJson))) break
  }
  return { columns: statement.columns().map(({ name }) => name), rows: bounded.rows, isCut: bounded.isCut }
}

function toJson(value: unknown): Json {
  if (typeof value === "bigint") return exactNumber(String(value))
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value)
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString("hex")}`
  return value as Json
}
