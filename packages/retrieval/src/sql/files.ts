/** Files of tables (CSV, JSON, Parquet) as a database that a model may ask. They are read once, when first asked. */
import { rmSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SuperstepError } from "@superstep/engine"
import type { AskOptions, Database, QueryOptions, QueryResult, Table } from "@superstep/engine/patterns"
import { untilAborted } from "@superstep/engine/tools"
import { DuckDbChild } from "./duckdb-child.ts"
import { whyRefusedInDuckDb } from "./duckdb-functions.ts"
import type { Source } from "./duckdb-messages.ts"
import { filesNamed, filesOfFolder, type Readable, readable, type TableFile } from "./file-sources.ts"
import { limitsOf, type QueryLimits, wholeNumber } from "./query-limits.ts"
import { checkSelect } from "./select-guard.ts"

export interface FilesOptions {
  readonly id: string
  /** What people call it. Default: the id. */
  readonly name?: string | undefined
  /** Each makes a table, named after it. */
  readonly files?: readonly string[] | undefined
  /** All CSV, TSV, JSON, JSON Lines and Parquet files in it and below. */
  readonly folder?: string | undefined
  readonly limits?: QueryLimits | undefined
  /** Megabytes that a query may take. Default 512. */
  readonly memory?: number | undefined
}

/** What became of a file. */
export interface FileReport {
  readonly file: string
  readonly table: string
  readonly rows: number
  /** Rows that could not be read and were left out. */
  readonly brokenRows: number
  /** What its text was converted from, if it was not UTF-8. */
  readonly encoding?: string | undefined
  /** Why there is no table of it. */
  readonly problem?: string | undefined
}

export interface FileDatabase extends Database {
  /** Each file, with what was wrong with it. */
  report(options?: AskOptions): Promise<readonly FileReport[]>
  close(): Promise<void>
}

const MEMORY = 512

export function fileDatabase(options: FilesOptions): FileDatabase {
  const { id, name = id, files, folder } = options
  if ((files === undefined) === (folder === undefined)) {
    throw new SuperstepError("OPTION_INVALID", `The database ${id} needs either \`files\` or a \`folder\`.`)
  }
  wholeNumber("memory", options.memory ?? MEMORY)
  const asked = new LoadedFiles(options)
  return {
    id,
    name,
    kind: "csv",
    schema: async (ask) => (await asked.loaded(ask?.signal)).tables,
    report: async (ask) => (await asked.loaded(ask?.signal)).reports,
    query: (sql, query) => asked.query(sql, query),
    close: () => asked.close(),
  }
}

interface Loaded {
  readonly child: DuckDbChild
  readonly folder: string
  readonly reports: readonly FileReport[]
  readonly tables: readonly Table[]
}

class LoadedFiles {
  readonly #options: FilesOptions
  readonly #closed = new AbortController()
  #loaded: Promise<Loaded> | undefined

  constructor(options: FilesOptions) {
    this.#options = options
  }

  /** A failure is tried again by the next caller. */
  loaded(signal: AbortSignal | undefined): Promise<Loaded> {
    if (this.#closed.signal.aborted) return Promise.reject(this.#closed.signal.reason)
    this.#loaded ??= this.#load()
    const loaded = this.#loaded
    loaded.catch(() => {
      if (this.#loaded === loaded) this.#loaded = undefined
    })
    return untilAborted(loaded, signal)
  }

  async query(sql: string, query?: QueryOptions): Promise<QueryResult> {
    const limits = limitsOf(query, this.#options.limits)
    checkSelect(sql, {
      beginnings: ["select", "with", "values", "table", "from"],
      whyRefused: whyRefusedInDuckDb,
    })
    const { child } = await this.loaded(query?.signal)
    return child.ask({ do: "query", sql, limits }, query?.signal)
  }

  async close(): Promise<void> {
    const message = `The database ${this.#options.id} is closed.`
    this.#closed.abort(new SuperstepError("DATABASE_CLOSED", message, { retryable: false }))
    const loaded = await this.#loaded?.catch(() => undefined)
    loaded?.child.close()
    if (loaded !== undefined) await forget(loaded.folder)
  }

  async #load(): Promise<Loaded> {
    const { files, folder: from, memory = MEMORY } = this.#options
    const { signal } = this.#closed
    const tableFiles = from === undefined ? await filesNamed(files ?? []) : await filesOfFolder(from)
    const folder = await temporaryFolder()
    const child = new DuckDbChild({
      database: join(folder, "tables.duckdb"),
      folder,
      memory: memory * 1_000_000,
    })
    try {
      const readables = []
      for (const file of tableFiles) {
        const made = await readable(file, folder, signal).catch((error: Error): Readable => {
          signal.throwIfAborted()
          return { problem: `it cannot be read: ${error.message}` }
        })
        readables.push({ file, ...made })
      }
      const sources = readables.flatMap(({ source }): Source[] => (source === undefined ? [] : [source]))
      const { loaded, tables } = await child.ask({ do: "load", sources }, signal)
      const byTable = new Map(loaded.map((one) => [one.table, one]))
      const reports = readables.map(({ file, encoding, problem }) => {
        const { rows = 0, broken = 0, problem: why = problem } = byTable.get(file.table) ?? {}
        return reportOf(file, rows, broken, encoding, why)
      })
      return { child, folder, reports, tables: described(tables, reports) }
    } catch (error) {
      child.close()
      await forget(folder)
      throw error
    }
  }
}

function reportOf(
  { file, table }: TableFile,
  rows: number,
  brokenRows: number,
  encoding: string | undefined,
  problem: string | undefined,
): FileReport {
  return {
    file,
    table,
    rows,
    brokenRows,
    ...(encoding === undefined ? {} : { encoding }),
    ...(problem === undefined ? {} : { problem }),
  }
}

function described(tables: readonly Table[], reports: readonly FileReport[]): Table[] {
  const byTable = new Map(reports.map((report) => [report.table, report]))
  return tables.map((table) => {
    const report = byTable.get(table.name.replaceAll('"', ""))
    if (report === undefined) return table
    const { file, rows, brokenRows, encoding } = report
    const notes = [
      `${rows} ${rows === 1 ? "row" : "rows"}`,
      ...(brokenRows > 0 ? [`${brokenRows} broken ${brokenRows === 1 ? "row" : "rows"} left out`] : []),
      ...(encoding === undefined ? [] : [`converted from ${encoding}`]),
    ]
    return { ...table, description: `From ${file}: ${notes.join(", ")}.` }
  })
}

const folders = new Set<string>()

/** Removed by `forget`, or when the process ends in good order. */
async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "superstep-files-"))
  if (folders.size === 0) process.once("exit", forgetAll)
  folders.add(folder)
  return folder
}

async function forget(folder: string): Promise<void> {
  folders.delete(folder)
  if (folders.size === 0) process.off("exit", forgetAll)
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
}

function forgetAll(): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
}
