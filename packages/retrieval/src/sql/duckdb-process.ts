/**
 * The program that runs DuckDB in a separate process. DuckDB's memory limit does not cover everything that a query can
 * allocate, some of its functions cannot be interrupted, and some crash the process. Therefore this process has no
 * secrets in its environment, monitors its memory, and can be killed at any time.
 */
import type {
  DuckDBConnection,
  DuckDBDataChunk,
  DuckDBInstance,
  DuckDBValueConverter,
} from "@duckdb/node-api"
import type { Json } from "@superstep/engine"
import type { QueryResult, Table } from "@superstep/engine/patterns"
import { answerParent, programSettings, watchMemory } from "../child-program.ts"
import type { DuckDbReply, DuckDbRequest, DuckDbSettings, LoadedTable, Source } from "./duckdb-child.ts"
import { loadFile, tablesOf } from "./duckdb-load.ts"
import { BoundedRows, exactNumber, type KnownLimits } from "./rows.ts"

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
