/**
 * The program that runs SQLite in a separate process, because a query cannot be interrupted and blocks its process. The
 * file is opened for reading, and functions and modules that access anything else are refused (sqlite-guard.ts).
 */
import { pathToFileURL } from "node:url"
import type { Json } from "@superstep/engine"
import { requireFrom } from "@superstep/engine/packages"
import type { ForeignKey, QueryResult, Table } from "@superstep/engine/patterns"
import { answerParent, programSettings } from "../child-program.ts"
import { BoundedRows, exactNumber, type KnownLimits, sqlName } from "./rows.ts"
import type { SqliteReply, SqliteRequest, SqliteSettings } from "./sqlite.ts"
import { checkProgram, checkSqliteSelect } from "./sqlite-guard.ts"
import { SelectRefused } from "./strict-select.ts"

const { file, driver, memory } = programSettings<SqliteSettings>()

/** The part that both drivers have in common. */
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
    // One per request: an unfinished statement would keep its snapshot.
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
  // Views must not call functions that queries must not call. SQLite enforces the limit itself, because no timer fires
  // while a query runs.
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
  return {
    columns: statement.columns().map(({ name }) => name),
    rows: bounded.rows,
    isTruncated: bounded.isTruncated,
  }
}

function toJson(value: unknown): Json {
  if (typeof value === "bigint") return exactNumber(String(value))
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value)
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString("hex")}`
  return value as Json
}

// The tables and views of a SQLite file, with their keys, named as a query names them.

type All = (sql: string, ...values: string[]) => Record<string, unknown>[]

/** Maximum rows to count. */
const MAX_COUNTED = 100_000

function sqliteTables(all: All): Table[] {
  const found = all(
    `SELECT name, type FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'view', 'virtual')
     AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name`,
  ) as { name: string; type: string }[]
  return found.flatMap(({ name, type }) => {
    try {
      return [tableOf(all, name, type)]
    } catch {
      // A view over a table that was dropped, or that calls a forbidden function: it cannot be queried.
      return []
    }
  })
}

function tableOf(all: All, name: string, type: string): Table {
  // Hidden columns of virtual tables have the value 1.
  const columns = all(
    "SELECT name, type, pk FROM pragma_table_xinfo(?) WHERE hidden <> 1 ORDER BY cid",
    name,
  ) as { name: string; type: string; pk: number }[]
  const primaryKey = columns
    .filter(({ pk }) => pk > 0)
    .sort((one, other) => one.pk - other.pk)
    .map((column) => asWritten(column.name))
  const foreignKeys = foreignKeysOf(all, name)
  const rowCount = type === "table" ? countOf(all, name) : undefined
  return {
    name: asWritten(name),
    columns: columns.map((column) => ({ name: asWritten(column.name), type: column.type || "ANY" })),
    ...(primaryKey.length > 0 && { primaryKey }),
    ...(foreignKeys.length > 0 && { foreignKeys }),
    ...(rowCount !== undefined && { rowCount }),
  }
}

function foreignKeysOf(all: All, table: string): ForeignKey[] {
  const rows = all(
    `SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id, seq`,
    table,
  ) as { id: number; table: string; from: string; to: string | null }[]
  const byId = new Map<number, { columns: string[]; table: string; references: string[] }>()
  for (const { id, table: other, from, to } of rows) {
    const key = byId.get(id) ?? { columns: [], table: asWritten(other), references: [] }
    key.columns.push(asWritten(from))
    // Without a column, the key refers to the primary key.
    if (to !== null) key.references.push(asWritten(to))
    byId.set(id, key)
  }
  return [...byId.values()]
}

function countOf(all: All, table: string): number | undefined {
  const [row] = all(`SELECT count(*) AS n FROM (SELECT 1 FROM ${sqlName(table)} LIMIT ${MAX_COUNTED + 1})`)
  const count = Number(row?.n)
  return count > MAX_COUNTED ? undefined : count
}

function asWritten(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) && !RESERVED.has(name.toLowerCase()) ? name : sqlName(name)
}

const RESERVED: ReadonlySet<string> = new Set(
  (
    "add all alter and as between by case cast check collate column commit constraint create cross current_date " +
    "current_time current_timestamp default delete desc distinct drop else end escape except exists foreign from full " +
    "group having in index inner insert intersect into is isnull join left like limit natural not notnull null on or " +
    "order outer primary references right rollback row select set table then to transaction union unique update " +
    "using values when where window with"
  ).split(" "),
)
