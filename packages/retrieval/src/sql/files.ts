/**
 * Files of tables (CSV, JSON, Parquet) as a database that a model may query. They are loaded on the first query; with a
 * cache, once for all processes.
 */

import { resolve } from "node:path"
import type { AskOptions, Database, QueryOptions, QueryResult } from "@superstep/engine/patterns"
import { untilAborted } from "@superstep/engine/tools"
import { OpenOnce } from "../connections.ts"
import { invalidOption, wholeNumber } from "../errors.ts"
import { DatabaseUnopened } from "./duckdb-child.ts"
import { type LoadedTables, type LoadOptions, openTables, removeEntry } from "./load-tables.ts"
import { cachedProfile, type Fingerprint, type ProfileOptions, profileTables } from "./profile-tables.ts"
import { closed, failed, limitsOf, type QueryLimits } from "./queries.ts"
import { checkSelect } from "./select-guard.ts"
import { type FileReport, filesNamed, filesOfFolder, fingerprintOf } from "./table-cache.ts"

export interface FilesOptions extends Omit<LoadOptions, "memory"> {
  readonly id: string
  /** The name for people. Default: the id. */
  readonly name?: string | undefined
  /** Each file is a table with its name. */
  readonly files?: readonly string[] | undefined
  /** All CSV, TSV, JSON, JSON Lines and Parquet files in the folder and its subfolders. */
  readonly folder?: string | undefined
  readonly limits?: QueryLimits | undefined
  /** Maximum megabytes of a query. Default 512. */
  readonly memory?: number | undefined
  /** Options of `profile`. */
  readonly profile?: ProfileOptions | undefined
}

export interface FileDatabase extends Database {
  /** The result of loading each file. */
  report(options?: AskOptions): Promise<readonly FileReport[]>
  close(): Promise<void>
}

interface Loaded extends LoadedTables {
  /** The fingerprint of the files when they were loaded. */
  readonly fingerprint: Fingerprint
}

export function fileDatabase(options: FilesOptions): FileDatabase {
  const { id, name = id, files, folder } = options
  if ((files === undefined) === (folder === undefined)) {
    throw invalidOption(`The database ${id} needs either \`files\` or a \`folder\`.`)
  }
  const memory = wholeNumber("memory", options.memory ?? 512) * 1_000_000
  const closing = new AbortController()
  const tableFiles = () => (folder === undefined ? filesNamed(files ?? []) : filesOfFolder(folder))
  const opened = new OpenOnce(async (): Promise<Loaded> => {
    const found = await tableFiles()
    const fingerprint = await fingerprintOf(found)
    return { ...(await openTables(found, { ...options, memory }, closing.signal)), fingerprint }
  })
  const loaded = async (signal: AbortSignal | undefined): Promise<Loaded> => {
    closing.signal.throwIfAborted()
    return await untilAborted(opened.get(), signal)
  }
  const query = async (sql: string, asked?: QueryOptions): Promise<QueryResult> => {
    const limits = limitsOf(asked, options.limits)
    checkSelect(sql, { beginnings: ["select", "with", "values", "table", "from"], whyRefused })
    const ask = async () => {
      const { child } = await loaded(asked?.signal)
      return await child.ask({ do: "query", sql, limits }, asked?.signal)
    }
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof DatabaseUnopened)) throw error
      // The cache entry is missing or damaged: the files are loaded again.
      const last = await opened.forget()
      last?.child.close()
      await removeEntry(options.cache, last?.cached)
      return await ask().catch((again) => {
        throw again instanceof DatabaseUnopened ? failed(again.message) : again
      })
    }
  }
  const profile = cachedProfile({
    identity: JSON.stringify([files?.map((file) => resolve(file)), folder && resolve(folder)]),
    options: options.profile,
    async fingerprint() {
      closing.signal.throwIfAborted()
      // Files that changed after they were loaded are queried as they were.
      return (await opened.current())?.fingerprint ?? (await fingerprintOf(await tableFiles()))
    },
    look: async (limits) => profileTables((await loaded(undefined)).tables, query, limits),
  })
  return {
    id,
    name,
    kind: "csv",
    schema: async (ask) => (await loaded(ask?.signal)).tables,
    report: async (ask) => (await loaded(ask?.signal)).reports,
    profile,
    query,
    async close() {
      closing.abort(closed(`database ${id}`))
      const last = await opened.current()
      last?.child.close()
      await last?.drop()
    },
  }
}

/** Functions of DuckDB that have side effects, or execute a string. DuckDB's settings block them too. */
const REFUSED = new Set([
  "checkpoint",
  "disable_logging",
  "enable_logging",
  "force_checkpoint",
  "json_execute_serialized_sql",
  "query",
  "query_table",
  "set_log_level",
  "truncate_duckdb_logs",
  "write_log",
])

function whyRefused(name: string): string | undefined {
  // DuckDB ignores the case of names, also between quotes.
  return REFUSED.has(name.toLowerCase()) ? "it has side effects, or executes a string" : undefined
}
