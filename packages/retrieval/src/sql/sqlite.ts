/** A SQLite file as a database that a model may query: read-only, in a separate process, within limits. */
import { stat } from "node:fs/promises"
import { resolve } from "node:path"
import type { SuperstepError } from "@superstep/engine"
import type { AskOptions, Database, QueryOptions, QueryResult, Table } from "@superstep/engine/patterns"
import { libsqlPath } from "@superstep/store-sqlite/internal"
import { digestOf } from "../cache-file.ts"
import { ChildProgram, ProgramEnded } from "../child-program.ts"
import { fatal, messageOf, programBeside, wholeNumber } from "../errors.ts"
import { cachedProfile, type Fingerprint, type ProfileOptions, profileTables } from "./profile-tables.ts"
import { closed, failed, limitsOf, type QueryLimits, refused, timedOut } from "./queries.ts"
import type { KnownLimits } from "./rows.ts"
import { checkSqliteSelect } from "./sqlite-guard.ts"
import { SelectRefused } from "./strict-select.ts"

export interface SqliteOptions {
  readonly id: string
  /** The name for people. Default: the id. */
  readonly name?: string | undefined
  readonly file: string
  readonly limits?: QueryLimits | undefined
  /** Maximum megabytes of a query. Default 512. */
  readonly memory?: number | undefined
  /** Options of `profile`. */
  readonly profile?: ProfileOptions | undefined
}

export type SqliteRequest =
  | { readonly do: "schema" }
  | { readonly do: "query"; readonly sql: string; readonly limits: KnownLimits }

export type SqliteReply =
  | { readonly ok: readonly Table[] | QueryResult }
  | { readonly error: "refused" | "failed"; readonly message: string }

/** The program's only argument, as JSON. */
export interface SqliteSettings {
  readonly file: string
  /** The module of `libsql`. Absent: Node's own SQLite. */
  readonly driver?: string | undefined
  /** Bytes. */
  readonly memory: number
}

/** Milliseconds that a late query gets to end by itself. */
const GRACE = 500
/** Milliseconds to read the schema of a large file on a slow disk. */
const SCHEMA_TIMEOUT = 30_000

export function sqliteDatabase(options: SqliteOptions): Database {
  const { id, name = id, file } = options
  const memory = wholeNumber("memory", options.memory ?? 512) * 1_000_000
  let program: ChildProgram<SqliteRequest, SqliteReply> | undefined
  let isClosed = false

  async function ask<R extends SqliteRequest>(request: R, limit: number, signal?: AbortSignal) {
    if (isClosed) throw closed(`database ${id}`)
    await checkFile(file)
    program ??= new ChildProgram(programBeside(import.meta.url, "sqlite-process"), {
      file,
      driver: driverPath(),
      memory,
    } satisfies SqliteSettings)
    const reply = await program.ask(request, { timeout: limit + GRACE, signal }).catch((error) => {
      throw error instanceof ProgramEnded ? ended(error, limit, id) : error
    })
    if ("ok" in reply) return reply.ok as R extends { do: "schema" } ? readonly Table[] : QueryResult
    if (reply.error === "refused") throw refused(reply.message)
    if (reply.message === "out of memory") throw memoryExceeded(memory)
    throw request.do === "schema" || /not a database/.test(reply.message)
      ? unreadable(file, reply.message)
      : failed(reply.message)
  }

  const schema = (asked?: AskOptions) => ask({ do: "schema" }, SCHEMA_TIMEOUT, asked?.signal)
  const query = async (sql: string, asked?: QueryOptions) => {
    const limits = limitsOf(asked, options.limits)
    // The process checks the query again, because it knows the modules of its SQLite.
    try {
      checkSqliteSelect(sql)
    } catch (error) {
      throw error instanceof SelectRefused ? refused(error.message) : error
    }
    return await ask({ do: "query", sql, limits }, limits.timeout, asked?.signal)
  }
  const profile = cachedProfile({
    identity: JSON.stringify(["sqlite", resolve(file)]),
    options: options.profile,
    fingerprint: () => fingerprintOf(file),
    look: async (limits) => profileTables(await schema(), query, limits),
  })
  return {
    id,
    name,
    kind: "sqlite",
    schema,
    profile,
    query,
    async close() {
      isClosed = true
      program?.close()
    },
  }
}

/** libsql takes precedence, because it is the same for every version of Node. */
function driverPath(): string | undefined {
  try {
    return libsqlPath()
  } catch (error) {
    if (process.getBuiltinModule?.("node:sqlite") !== undefined) return undefined
    throw error
  }
}

/** The size and the modification time of the file and of its write-ahead log. Any difference counts. */
async function fingerprintOf(file: string): Promise<Fingerprint> {
  const seen = [file, `${file}-wal`].map(async (path) => {
    const found = await stat(path).catch(() => undefined)
    return [found?.size, found?.mtimeMs]
  })
  return { shape: digestOf(await Promise.all(seen)), parts: {} }
}

async function checkFile(file: string): Promise<void> {
  const found = await stat(file).catch((error) => {
    throw unreadable(file, error.code === "ENOENT" ? "no such file" : messageOf(error))
  })
  if (!found.isFile()) throw unreadable(file, "it is not a file")
}

function unreadable(file: string, why: string): SuperstepError {
  return fatal("FILE_UNREADABLE", `${file} cannot be read: ${why.replace(/\.$/, "")}.`)
}

function ended({ why, exit }: ProgramEnded, limit: number, id: string): SuperstepError {
  if (why === "closed") return closed(`database ${id}`)
  return why === "late" ? timedOut(limit) : failed(`it crashed SQLite (${exit}).`)
}

function memoryExceeded(memory: number): SuperstepError {
  return failed(`it exceeded the memory limit of ${Math.round(memory / 1_000_000)} MB.`)
}
