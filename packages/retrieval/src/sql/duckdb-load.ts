/** Files made into tables of a DuckDB database, which is then only read. Runs in a process of its own. */
import { createReadStream, createWriteStream } from "node:fs"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { pipeline } from "node:stream/promises"
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
    return { table, rows: 0, broken: 0, problem: problemOf(error) }
  }
}

type Read = (connection: DuckDBConnection, source: Source, folder: string) => Promise<number>

/** Each makes the table, and gives the number of broken rows. */
const readers: Record<Source["format"], Read> = {
  async csv(connection, source, folder) {
    try {
      return await readCsv(connection, source, "")
    } catch (error) {
      // Line ends of two kinds, or very long lines. If that is not it, the first error says more.
      const path = join(folder, `${source.table}.lines.csv`)
      await copyWithPlainLines(source.path, path)
      const long = `, max_line_size = ${LONGEST_LINE}, buffer_size = ${2 * LONGEST_LINE}`
      return await readCsv(connection, { ...source, path }, long)
        .catch(() => {
          throw error
        })
        .finally(() => rm(path, { force: true }))
    }
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

const LONGEST_LINE = 16_000_000

async function readCsv(connection: DuckDBConnection, { path, table }: Source, more: string): Promise<number> {
  // All rows are looked at for the types: none is lost because the first ones were of another kind. No table of a file
  // is named with a line at the front.
  const options = `sample_size = -1, store_rejects = true, rejects_scan = '_scans', rejects_table = '_rejects'${more}`
  await connection.run("DROP TABLE IF EXISTS _scans; DROP TABLE IF EXISTS _rejects")
  await connection.run(`CREATE TABLE ${quoted(table)} AS SELECT * FROM read_csv(${text(path)}, ${options})`)
  return numberOf(connection, "SELECT count(DISTINCT line) FROM _rejects")
}

async function copyWithPlainLines(from: string, to: string): Promise<void> {
  await pipeline(
    createReadStream(from, "latin1"),
    async function* (pieces: AsyncIterable<string>) {
      let isAfterReturn = false
      for await (const piece of pieces) {
        const rest = isAfterReturn && piece.startsWith("\n") ? piece.slice(1) : piece
        isAfterReturn = piece.endsWith("\r")
        yield Buffer.from(rest.replace(/\r\n?/g, "\n"), "latin1")
      }
    },
    createWriteStream(to),
  )
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
function problemOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  if (/Maximum line size/i.test(message)) return `a line is longer than ${LONGEST_LINE / 1_000_000} MB`
  if (message.includes("Error when sniffing file")) {
    return "it cannot be told where its columns end: no delimiter and quotes fit its lines"
  }
  return (message.split("\n")[0] as string).slice(0, 300)
}
