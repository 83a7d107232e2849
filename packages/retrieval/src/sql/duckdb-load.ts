/** Files made into tables of a DuckDB database, which is then only read. Runs in a process of its own. */
import { join } from "node:path"
import type { DuckDBConnection } from "@duckdb/node-api"
import type { Table } from "@superstep/engine/patterns"
import type { LoadedTable, Source } from "./duckdb-messages.ts"

/** `folder` is for copies. */
export async function loadFile(
  connection: DuckDBConnection,
  source: Source,
  folder: string,
): Promise<LoadedTable> {
  const { table } = source
  try {
    const broken = await readers[source.format](connection, source, folder)
    const rows = await numberOf(connection, `SELECT count(*) FROM ${quoted(table)}`)
    return { table, rows, broken }
  } catch (error) {
    return { table, rows: 0, broken: 0, problem: shortened(error) }
  }
}

type Read = (connection: DuckDBConnection, source: Source, folder: string) => Promise<number>

/** Each makes the table, and gives the number of broken rows. */
const readers: Record<Source["format"], Read> = {
  async csv(connection, { path, table }) {
    // All rows are looked at for the types: none is lost because the first ones were of another kind.
    const options =
      "sample_size = -1, store_rejects = true, rejects_scan = 'scans', rejects_table = 'rejects'"
    await connection.run("DROP TABLE IF EXISTS scans; DROP TABLE IF EXISTS rejects")
    await connection.run(`CREATE TABLE ${quoted(table)} AS SELECT * FROM read_csv(${text(path)}, ${options})`)
    return numberOf(connection, "SELECT count(DISTINCT line) FROM rejects")
  },
  async json(connection, { path, table }) {
    await connection.run(`CREATE TABLE ${quoted(table)} AS SELECT * FROM read_json(${text(path)})`)
    return 0
  },
  async lines(connection, { path, table }, folder) {
    const objects = `read_json_objects(${text(path)}, format = 'newline_delimited', ignore_errors = true)`
    const broken = await numberOf(connection, `SELECT count(*) FROM ${objects} WHERE json IS NULL`)
    // After a broken line, DuckDB's reader of tables loses others: it is given the good ones only.
    const good = broken === 0 ? path : join(folder, `${table}.good.jsonl`)
    if (broken > 0) {
      await connection.run(
        `COPY (SELECT json FROM ${objects} WHERE json IS NOT NULL) TO ${text(good)} (FORMAT json)`,
      )
    }
    const read = `read_json(${text(good)}, format = 'newline_delimited')`
    const columns = broken === 0 ? "*" : "json.*"
    await connection.run(`CREATE TABLE ${quoted(table)} AS SELECT ${columns} FROM ${read}`)
    return broken
  },
  async parquet(connection, { path, table }) {
    await connection.run(`CREATE TABLE ${quoted(table)} AS SELECT * FROM read_parquet(${text(path)})`)
    return 0
  },
}

/** The tables, named as a query names them. */
export async function tablesOf(connection: DuckDBConnection): Promise<Table[]> {
  const keywords = await connection.runAndReadAll(
    "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category <> 'unreserved'",
  )
  const reserved = new Set(keywords.getRows().map(([word]) => word))
  const asWritten = (name: string) =>
    /^[A-Za-z_]\w*$/.test(name) && !reserved.has(name.toLowerCase()) ? name : quoted(name)
  const found = await connection.runAndReadAll(
    `SELECT table_name, column_name, data_type FROM duckdb_columns()
     WHERE database_name = current_database() AND schema_name = 'main' AND NOT internal
     ORDER BY table_oid, column_index`,
  )
  const tables = new Map<string, { name: string; columns: { name: string; type: string }[] }>()
  for (const [table, column, type] of found.getRows() as [string, string, string][]) {
    const known = tables.get(table) ?? { name: asWritten(table), columns: [] }
    known.columns.push({ name: asWritten(column), type })
    tables.set(table, known)
  }
  return [...tables.values()]
}

async function numberOf(connection: DuckDBConnection, sql: string): Promise<number> {
  const [row] = (await connection.runAndReadAll(sql)).getRows()
  return Number(row?.[0])
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

function text(value: string): string {
  return `'${value.replaceAll("'", "''")}'`
}

/** DuckDB's first line says what; the rest is about the statement, which is ours. */
function shortened(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return (message.split("\n")[0] as string).slice(0, 300)
}
