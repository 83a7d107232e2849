/**
 * The program that runs DuckDB in a separate process. DuckDB's memory limit does not cover everything that a query can
 * allocate, some of its functions cannot be interrupted, and some crash the process. Therefore this process has no
 * secrets in its environment, monitors its memory, and can be killed at any time.
 */
import { createReadStream, createWriteStream } from "node:fs"
import { rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { pipeline } from "node:stream/promises"
import type {
  DuckDBConnection,
  DuckDBDataChunk,
  DuckDBInstance,
  DuckDBValueConverter,
} from "@duckdb/node-api"
import type { Json } from "@superstep/engine"
import type { QueryResult, Table } from "@superstep/engine/patterns"
import { clipped } from "@superstep/engine/text"
import { answerParent, programSettings, watchMemory } from "../child-program.ts"
import type { DuckDbReply, DuckDbRequest, DuckDbSettings, LoadedTable, Source } from "./duckdb-child.ts"
import { BoundedRows, exactNumber, type KnownLimits, sqlName } from "./rows.ts"

/** A query that is not allowed. Other errors are DuckDB's own. */
class Refusal extends Error {}

const { database, folder, memory } = programSettings<DuckDbSettings>()
const options = {
  autoinstall_known_extensions: "false",
  autoload_known_extensions: "false",
  memory_limit: `${Math.floor(memory / 1_000_000)}MB`,
}
// The parent has verified that it is installed.
const duckdb = await load<typeof import("@duckdb/node-api")>("@duckdb/node-api")
let writing: DuckDBInstance | undefined
let opened: DuckDBInstance | undefined

async function loadOne(source: Source): Promise<readonly LoadedTable[]> {
  writing ??= await duckdb.DuckDBInstance.create(database, { ...options, temp_directory: folder })
  const connection = await writing.connect()
  try {
    return await loadFile(connection, source, folder)
  } finally {
    connection.closeSync()
  }
}

/** Closes the file, which flushes it, and opens it again for reading. */
async function endLoading(): Promise<readonly Table[]> {
  writing ??= await duckdb.DuckDBInstance.create(database, { ...options, temp_directory: folder })
  try {
    const connection = await writing.connect()
    const tables = await tablesOf(connection)
    connection.closeSync()
    return tables
  } finally {
    writing.closeSync()
    writing = undefined
  }
}

async function open(): Promise<void> {
  const instance = await duckdb.DuckDBInstance.create(database, {
    ...options,
    access_mode: "READ_ONLY",
  })
  const connection = await instance.connect()
  // Nothing is spilled to disk: a query that does not fit into memory fails.
  await connection.run("SET temp_directory = ''")
  await connection.run("SET enable_external_access = false")
  await connection.run("SET lock_configuration = true")
  connection.closeSync()
  opened = instance
}

async function query({ sql, limits }: Extract<DuckDbRequest, { do: "query" }>): Promise<DuckDbReply> {
  try {
    if (opened === undefined) await open()
  } catch (error) {
    return { error: "unopened", message: (error as Error).message }
  }
  const connection = await (opened as DuckDBInstance).connect()
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    connection.interrupt()
  }, limits.timeout)
  const watch = watchMemory(memory)
  try {
    return { ok: await runSelect(connection, sql, limits) }
  } catch (error) {
    if (isLate) return { error: "timeout", message: "" }
    throw error
  } finally {
    clearTimeout(timer)
    clearInterval(watch)
    connection.closeSync()
  }
}

/** The name is a variable so that bundlers do not resolve it. The package is optional. */
function load<Module>(name: string): Promise<Module> {
  return import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ name)
}

async function runSelect(
  connection: DuckDBConnection,
  sql: string,
  limits: KnownLimits,
): Promise<QueryResult> {
  const statements = await connection.extractStatements(sql)
  if (statements.count !== 1) throw new Refusal("only one statement is allowed")
  const prepared = await statements.prepare(0)
  try {
    if (prepared.statementType !== duckdb.StatementType.SELECT)
      throw new Refusal("only one SELECT can be run")
    if (prepared.parameterCount > 0) throw new Refusal("it has parameters: write literal values")
    const result = await prepared.stream()
    const bounded = new BoundedRows(limits)
    while (!bounded.isTruncated) {
      const chunk = await result.fetchChunk()
      if (chunk === null || chunk.rowCount === 0) break
      take(chunk, bounded)
    }
    return { columns: result.columnNames(), rows: bounded.rows, isTruncated: bounded.isTruncated }
  } finally {
    prepared.destroySync()
  }
}

/** Row by row, because a chunk may exceed the limits by far. */
function take(chunk: DuckDBDataChunk, bounded: BoundedRows): void {
  for (let row = 0; row < chunk.rowCount; row += 1) {
    if (!bounded.add(chunk.convertRowValues(row, toJson))) return
  }
}

const toJson: DuckDBValueConverter<Json> = (value, type, converter) => {
  if (typeof value === "bigint") return exactNumber(String(value))
  if (type.typeId === duckdb.DuckDBTypeId.FLOAT && typeof value === "number") return floatOf(value)
  if (value instanceof duckdb.DuckDBDecimalValue) return exactNumber(value.toString())
  return duckdb.JsonDuckDBValueConverter(value, type, converter as never) as Json
}

/** The shortest number that equals this FLOAT: 0.1 instead of 0.10000000149011612. */
function floatOf(value: number): Json {
  if (!Number.isFinite(value)) return String(value)
  for (let digits = 6; digits < 9; digits += 1) {
    const short = Number(value.toPrecision(digits))
    if (Math.fround(short) === value) return short
  }
  return Number(value.toPrecision(9))
}

// Loads files into tables of a DuckDB database, which is read-only afterwards. Runs in DuckDB's process.

/** `folder` is for copies of files. */
async function loadFile(
  connection: DuckDBConnection,
  source: Source,
  folder: string,
): Promise<readonly LoadedTable[]> {
  if (source.format !== "xlsx") return [await loadTable(connection, source, source.format, folder)]
  try {
    const loaded: LoadedTable[] = []
    for (const sheet of await sheetsOf(source, folder)) {
      loaded.push(await loadTable(connection, { ...source, ...sheet }, "csv", folder))
      await rm(sheet.path, { force: true })
    }
    return loaded
  } catch (error) {
    return [{ table: source.table, rows: 0, broken: 0, problem: problemOf(error) }]
  }
}

async function loadTable(
  connection: DuckDBConnection,
  source: Source,
  format: Exclude<Source["format"], "xlsx">,
  folder: string,
): Promise<LoadedTable> {
  const { table } = source
  try {
    const broken = await readers[format](connection, source, folder)
    const rows = await numberOf(connection, `SELECT count(*) FROM ${sqlName(table)}`)
    return { table, rows, broken }
  } catch (error) {
    return { table, rows: 0, broken: 0, problem: problemOf(error), isTransient: isTransient(error) }
  }
}

type Read = (connection: DuckDBConnection, source: Source, folder: string) => Promise<number>

/** Each creates the table, and returns the number of malformed rows. */
const readers: Record<Exclude<Source["format"], "xlsx">, Read> = {
  async csv(connection, source, folder) {
    try {
      return await readCsv(connection, source, "")
    } catch (error) {
      // The file may have mixed line ends, or very long lines. If not, the first error is more helpful.
      const path = join(folder, `${source.table}.lines.csv`)
      await copyWithPlainLines(source.path, path)
      const long = `, max_line_size = ${MAX_LINE_LENGTH}, buffer_size = ${2 * MAX_LINE_LENGTH}`
      return await readCsv(connection, { ...source, path }, long)
        .catch(() => {
          throw error
        })
        .finally(() => rm(path, { force: true }))
    }
  },
  async json(connection, { path, table }) {
    await connection.run(`CREATE TABLE ${sqlName(table)} AS SELECT * FROM read_json(${text(path)})`)
    return 0
  },
  async lines(connection, { path, table }, folder) {
    const objects = `read_json_objects(${text(path)}, format = 'newline_delimited', ignore_errors = true)`
    const broken = await numberOf(connection, `SELECT count(*) FROM ${objects} WHERE json IS NULL`)
    // After a malformed line, DuckDB's JSON reader loses valid ones, so it receives only the valid lines.
    const good = broken === 0 ? path : join(folder, `${table}.good.jsonl`)
    if (broken > 0) {
      await connection.run(
        `COPY (SELECT json FROM ${objects} WHERE json IS NOT NULL) TO ${text(good)} (FORMAT json)`,
      )
    }
    const read = `read_json(${text(good)}, format = 'newline_delimited')`
    const columns = broken === 0 ? "*" : "json.*"
    await connection.run(`CREATE TABLE ${sqlName(table)} AS SELECT ${columns} FROM ${read}`)
    return broken
  },
  async parquet(connection, { path, table }) {
    await connection.run(`CREATE TABLE ${sqlName(table)} AS SELECT * FROM read_parquet(${text(path)})`)
    return 0
  },
}

const MAX_LINE_LENGTH = 16_000_000

async function readCsv(connection: DuckDBConnection, { path, table }: Source, more: string): Promise<number> {
  // Types are inferred from all rows, so that no row is lost because the first ones had another type. Names of internal
  // tables begin with an underscore, which no table of a file does.
  const options = `sample_size = -1, store_rejects = true, rejects_scan = '_scans', rejects_table = '_rejects'${more}`
  await connection.run("DROP TABLE IF EXISTS _scans; DROP TABLE IF EXISTS _rejects")
  await connection.run(`CREATE TABLE ${sqlName(table)} AS SELECT * FROM read_csv(${text(path)}, ${options})`)
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

/** The tables, named as queries write them. */
async function tablesOf(connection: DuckDBConnection): Promise<Table[]> {
  const keywords = await connection.runAndReadAll(
    "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category <> 'unreserved'",
  )
  const reserved = new Set(keywords.getRows().map(([word]) => word))
  const asWritten = (name: string) =>
    /^[A-Za-z_]\w*$/.test(name) && !reserved.has(name.toLowerCase()) ? name : sqlName(name)
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

function text(value: string): string {
  return `'${value.replaceAll("'", "''")}'`
}

/** The first line of DuckDB's message is the problem; the rest is about the internal statement. */
function problemOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  if (/Maximum line size/i.test(message)) return `a line is longer than ${MAX_LINE_LENGTH / 1_000_000} MB`
  if (message.includes("Error when sniffing file")) {
    return "its columns cannot be detected: no delimiter and quotes match its lines"
  }
  return clipped(message.split("\n")[0] as string, 300)
}

/** Whether the problem is not in the file itself. */
function isTransient(error: unknown): boolean {
  return /^(?:IO|Out of Memory|FATAL|INTERNAL) Error/i.test(error instanceof Error ? error.message : "")
}

// Converts the sheets of an Excel workbook to CSV files. It runs in DuckDB's process because a workbook can be a zip bomb.

interface Sheet {
  readonly sheet: string
  readonly data: readonly (readonly unknown[])[]
}

type ReadWorkbook = (path: string) => Promise<readonly Sheet[]>

const MAX_SHEETS = 100

/** The first sheet with cells is a table with the file's name; the others add their own. */
async function sheetsOf(
  { path, table }: Pick<Source, "path" | "table">,
  folder: string,
): Promise<readonly Pick<Source, "path" | "table">[]> {
  // The name is a variable so that bundlers do not resolve it. The package is optional, and the parent has verified that
  // it is installed.
  const name = "read-excel-file/node"
  const { default: read } = (await import(
    /* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ name
  )) as { default: ReadWorkbook }
  const sheets = (await read(path)).filter(({ data }) => data.some((row) => row.some(hasValue)))
  if (sheets.length === 0) throw new Error("no sheet has cells")
  const taken = new Set<string>()
  const written = []
  for (const [i, { sheet, data }] of sheets.slice(0, MAX_SHEETS).entries()) {
    let own = i === 0 ? table : `${table}_${plain(sheet)}`
    for (let n = 2; taken.has(own); n += 1) own = `${table}_${plain(sheet)}_${n}`
    taken.add(own)
    const file = join(folder, `${own}.sheet.csv`)
    const rows = data.filter((row) => row.some(hasValue))
    await writeFile(file, rows.map((row) => `${row.map(cellText).join(",")}\n`).join(""))
    written.push({ path: file, table: own })
  }
  return written
}

function hasValue(value: unknown): boolean {
  return value !== null && value !== undefined && value !== ""
}

function plain(name: string): string {
  return name
    .normalize("NFC")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "_")
    .replace(/^_|_$/g, "")
}

function cellText(value: unknown): string {
  if (!hasValue(value)) return ""
  // Workbooks have no time zones. A value at midnight is a date.
  if (value instanceof Date)
    return value
      .toISOString()
      .replace(/T00:00:00\.000Z$/, "")
      .replace(/\.000Z$/, "")
  return typeof value === "string" ? `"${value.replaceAll('"', '""')}"` : String(value)
}

// Last: what follows an `await` of a module is not initialised while it waits.
await answerParent<DuckDbRequest, DuckDbReply>(
  async () => async (request) => {
    if (request.do === "load") return { ok: await loadOne(request.source) }
    return request.do === "tables" ? { ok: await endLoading() } : await query(request)
  },
  (error) => ({
    error: error instanceof Refusal ? "refused" : "failed",
    message: error instanceof Error ? error.message : String(error),
  }),
)
