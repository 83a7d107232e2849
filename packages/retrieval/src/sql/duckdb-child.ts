/** The parent's side of the DuckDB process: its messages, and its errors. */

import type { SuperstepError } from "@superstep/engine"
import { requireFrom, resolveOptional } from "@superstep/engine/packages"
import type { QueryResult, Table } from "@superstep/engine/patterns"
import { ChildProgram, ProgramEnded } from "../child-program.ts"
import { fatal, programBeside } from "../errors.ts"
import { closed, failed, refused, timedOut } from "./queries.ts"
import type { KnownLimits } from "./rows.ts"

/** Milliseconds that a late query gets to end by itself. */
const GRACE = 1_000

export class DuckDbChild {
  readonly #program: ChildProgram<DuckDbRequest, DuckDbReply>
  readonly #settings: DuckDbSettings

  constructor(settings: DuckDbSettings) {
    this.#settings = settings
    this.#program = new ChildProgram(programBeside(import.meta.url, "duckdb-process"), settings)
  }

  async ask<R extends DuckDbRequest>(request: R, signal?: AbortSignal): Promise<DuckDbReplies[R["do"]]> {
    resolveOptional(DUCKDB, requireFrom(import.meta.url))
    const limit = request.do === "query" ? request.limits.timeout : undefined
    const timeout = limit === undefined ? undefined : limit + GRACE
    const reply = await this.#program.ask(request, { timeout, signal }).catch((error) => {
      throw error instanceof ProgramEnded ? this.#ended(error, limit) : error
    })
    if ("ok" in reply) return reply.ok as DuckDbReplies[R["do"]]
    if (reply.error === "timeout") throw timedOut(limit as number)
    if (reply.error === "unopened") throw new DatabaseUnopened(reply.message)
    throw reply.error === "refused" ? refused(reply.message) : failed(reply.message)
  }

  close(): void {
    this.#program.close()
  }

  /** `limit` is the time limit of a query; files are read without one. */
  #ended({ why, exit }: ProgramEnded, limit: number | undefined): SuperstepError {
    if (why === "closed") return closed("database of files")
    if (limit === undefined) {
      return fatal(
        "FILE_UNREADABLE",
        `DuckDB crashed while reading the file (${exit}): it may be too large, or damaged.`,
      )
    }
    if (why === "late") return timedOut(limit)
    const memory = Math.round(this.#settings.memory / 1_000_000)
    return exit === "SIGKILL"
      ? failed(`it exceeded the memory limit of ${memory} MB.`)
      : failed(`it crashed DuckDB (${exit}).`)
  }
}

const DUCKDB = { name: "@duckdb/node-api", neededBy: "SQL over files" }

/** The version of DuckDB that reads files. */
export function duckdbVersion(): string {
  const require = requireFrom(import.meta.url)
  resolveOptional(DUCKDB, require)
  return (require(`${DUCKDB.name}/package.json`) as { version: string }).version
}

/** The database file was removed, or this version of DuckDB cannot open it. */
export class DatabaseUnopened extends Error {}

export type FileFormat = "csv" | "json" | "lines" | "parquet" | "xlsx"

/** A file to load as a table: text in UTF-8, at a path without wildcards. */
export interface Source {
  readonly path: string
  readonly table: string
  readonly format: FileFormat
}

export interface LoadedTable {
  readonly table: string
  readonly rows: number
  /** Rows that could not be read and were skipped. */
  readonly broken: number
  /** Why the table could not be loaded. */
  readonly problem?: string | undefined
  /** The problem may be temporary: the disk was full, or memory was short. */
  readonly isTransient?: boolean | undefined
}

export type DuckDbRequest =
  | { readonly do: "load"; readonly source: Source }
  /** Ends the loading. */
  | { readonly do: "tables" }
  | { readonly do: "query"; readonly sql: string; readonly limits: KnownLimits }

export interface DuckDbReplies {
  /** One result per table: a workbook has several. */
  readonly load: readonly LoadedTable[]
  readonly tables: readonly Table[]
  readonly query: QueryResult
}

export type DuckDbReply =
  | { readonly ok: DuckDbReplies[keyof DuckDbReplies] }
  | { readonly error: "refused" | "failed" | "timeout" | "unopened"; readonly message: string }

/** The program's only argument, as JSON. */
export interface DuckDbSettings {
  /** The database's file. */
  readonly database: string
  /** The folder for copies of files. */
  readonly folder: string
  /** Bytes. */
  readonly memory: number
}
