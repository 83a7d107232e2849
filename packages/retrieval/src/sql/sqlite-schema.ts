/** The tables and views of a SQLite file, with their keys, named as a query names them. */
import type { ForeignKey, Table } from "@superstep/engine/patterns"
import { sqlName } from "./rows.ts"

type All = (sql: string, ...values: string[]) => Record<string, unknown>[]

/** Rows are counted up to this many. */
const MAX_COUNTED = 100_000

export function sqliteTables(all: All): Table[] {
  const found = all(
    `SELECT name, type FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'view', 'virtual')
     AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name`,
  ) as { name: string; type: string }[]
  return found.flatMap(({ name, type }) => {
    try {
      return [tableOf(all, name, type)]
    } catch {
      // A view over a table that is gone, or that calls what it may not: it cannot be asked.
      return []
    }
  })
}

function tableOf(all: All, name: string, type: string): Table {
  // Hidden ones, of virtual tables, have 1.
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
    // Without a column it refers to the primary key.
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
