/** What is said between us and the process that DuckDB runs in. */
import type { QueryResult, Table } from "@superstep/engine/patterns"
import type { KnownLimits } from "./bounded-rows.ts"

export type FileFormat = "csv" | "json" | "lines" | "parquet"

/** A file to make a table of: text in UTF-8, under a path without wildcards. */
export interface Source {
  readonly path: string
  readonly table: string
  readonly format: FileFormat
}

export interface LoadedTable {
  readonly table: string
  readonly rows: number
  /** Rows that could not be read and were left out. */
  readonly broken: number
  /** Why there is no such table. */
  readonly problem?: string | undefined
}

export type DuckDbRequest =
  | { readonly do: "load"; readonly sources: readonly Source[] }
  | { readonly do: "query"; readonly sql: string; readonly limits: KnownLimits }

export interface DuckDbReplies {
  readonly load: { readonly loaded: readonly LoadedTable[]; readonly tables: readonly Table[] }
  readonly query: QueryResult
}

export type DuckDbReply =
  | { readonly ok: DuckDbReplies[keyof DuckDbReplies] }
  | { readonly error: "refused" | "failed" | "timeout"; readonly message: string }

/** Its only argument, as JSON. */
export interface DuckDbSettings {
  /** Its file. If that is there its tables have been loaded. */
  readonly database: string
  readonly folder: string
  /** Bytes. */
  readonly memory: number
}
