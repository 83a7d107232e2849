/**
 * The part of SQLite that is used here, on either driver: `node:sqlite` where the runtime has it with
 * full-text search, else `libsql`. Both are synchronous and write the same file.
 */
import { requireFrom, requireOptional, resolveOptional } from "@superstep/engine/packages"

export type Value = string | number | null | Uint8Array

export interface Statement {
  run(...values: Value[]): { readonly changes: number | bigint; readonly lastInsertRowid: number | bigint }
  /**
   * Every row. (libsql's `get` adds a column of its own, so that there is no `get` here; what it reads by `run` stays
   * open; and text that is not UTF-8, which damage produces, ends the process: see columns.ts.)
   */
  all(...values: Value[]): unknown[]
}

/**
 * Transactions begin and end by `exec`: libsql does not reset a prepared statement that failed, and a BEGIN
 * that found the file locked would hold on to what it saw.
 */
export interface Database {
  exec(sql: string): unknown
  prepare(sql: string): Statement
  close(): unknown
  /** Only if the driver was created with `extensions`. */
  loadExtension?(file: string): unknown
}

export type Driver = (path: string) => Database
type DatabaseClass = new (path: string, options?: { allowExtension: boolean }) => Database

/** Undefined where Node has no SQLite, or has it without FTS5: before 22.16. */
export function nodeSqlite(options: { extensions?: boolean | undefined } = {}): Driver | undefined {
  const sqlite = quietly(() => process.getBuiltinModule("node:sqlite")) as
    | { DatabaseSync: DatabaseClass }
    | undefined
  if (sqlite === undefined || !hasFullText(sqlite.DatabaseSync)) return undefined
  const allowExtension = options.extensions === true
  return (path) => new sqlite.DatabaseSync(path, { allowExtension })
}

const withFullText = new WeakMap<DatabaseClass, boolean>()

function hasFullText(Sqlite: DatabaseClass): boolean {
  let has = withFullText.get(Sqlite)
  if (has === undefined) {
    const database = new Sqlite(":memory:")
    const [row] = database.prepare("SELECT sqlite_compileoption_used('ENABLE_FTS5') AS used").all() as {
      used: number
    }[]
    database.close()
    has = row?.used === 1
    withFullText.set(Sqlite, has)
  }
  return has
}

/** Node 22 warns that its SQLite may still change. Users of a store can do nothing about that. */
function quietly<T>(load: () => T): T {
  const { emitWarning } = process
  const tell = emitWarning as (...words: unknown[]) => void
  process.emitWarning = (...words: unknown[]) => {
    if (!/^SQLite is an experimental feature/.test(String(words[0]))) tell.apply(process, words)
  }
  try {
    return load()
  } finally {
    process.emitWarning = emitWarning
  }
}

const LIBSQL = { name: "libsql", neededBy: `SQLite on Node ${process.versions.node}` }

/** Throws where it is not installed, or has no build for the platform. */
export function libsql(): Driver {
  const load = () => requireOptional<DatabaseClass>(LIBSQL, requireFrom(import.meta.url))
  const Libsql = withoutReport(load) ?? load()
  return (path) => withLists(new Libsql(path))
}

/**
 * libsql needs to know the C library of the system. It asks for Node's diagnostic report, which takes several milliseconds, and
 * for Node's program, which takes none: only the second one gets an answer here. Undefined if that does not do.
 */
function withoutReport<T>(load: () => T): T | undefined {
  const report: typeof process.report | undefined = process.report
  if (report === undefined) return undefined
  const { getReport } = report
  report.getReport = () => ({})
  try {
    return load()
  } catch {
    return undefined
  } finally {
    report.getReport = getReport
  }
}

/** libsql takes the values of a statement in one array too, which saves it a copy, and a lone null or bytes its meaning. */
function withLists(database: Database): Database {
  return {
    exec: (sql) => database.exec(sql),
    prepare(sql) {
      const statement = database.prepare(sql)
      return {
        run: (...values) => statement.run(values as never),
        all: (...values) => statement.all(values as never),
      }
    },
    close: () => database.close(),
    loadExtension: (file) => database.loadExtension?.(file),
  }
}

/** Where its module is, for a thread to load. */
export function libsqlPath(): string {
  return resolveOptional(LIBSQL, requireFrom(import.meta.url))
}

/** SQLite's own number for what went wrong, as far as the driver gives it: 5 is "busy", 26 "not a database". */
export function resultCode(error: unknown): number | undefined {
  const { errcode, rawCode } = Object(error) as { errcode?: unknown; rawCode?: unknown }
  const code = errcode ?? rawCode ?? connectionCode(error)
  // The low byte; the rest tells variants apart.
  return typeof code === "number" ? code & 0xff : undefined
}

/** libsql gives the number for a file that it cannot open in its message only. */
function connectionCode(error: unknown): number | undefined {
  const found = /^ConnectionFailed\(.*: (\d+)"\)$/s.exec(error instanceof Error ? error.message : "")?.[1]
  return found === undefined ? undefined : Number(found)
}

/**
 * Prepares each statement when it is first used: a process uses few of those that a store has. `explain` turns what SQLite
 * says of a statement that it does not accept into the error to throw.
 */
export function preparedLater(database: Database, explain: (error: unknown) => unknown): Database {
  return {
    exec: (sql) => database.exec(sql),
    prepare(sql) {
      const ready = () => {
        try {
          const prepared = database.prepare(sql)
          statement.run = prepared.run.bind(prepared)
          statement.all = prepared.all.bind(prepared)
        } catch (error) {
          throw explain(error)
        }
        return statement
      }
      const statement: Statement = {
        run: (...values) => ready().run(...values),
        all: (...values) => ready().all(...values),
      }
      return statement
    },
    close: () => database.close(),
    loadExtension: (file) => database.loadExtension?.(file),
  }
}

/** Prepares each statement once. */
export function preparedOnce(database: Database): (sql: string) => Statement {
  const known = new Map<string, Statement>()
  return (sql) => {
    let statement = known.get(sql)
    if (statement === undefined) {
      statement = database.prepare(sql)
      known.set(sql, statement)
    }
    return statement
  }
}
