/**
 * Opens or creates a SQLite file that processes share: its folder, the settings of the connection, and its schema. Any
 * failure is STORE_UNUSABLE.
 */
import { statSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { isSuperstepError, type SuperstepError } from "@superstep/engine"
import type { OnTightened } from "@superstep/engine/stores"
import { type Database, type Driver, libsql, nodeSqlite, resultCode } from "./driver.ts"
import { unusable, writeFailed } from "./errors.ts"
import { privateDatabase, privateFolder, tightenDatabase } from "./private-files.ts"

export interface FileOptions {
  readonly path: string
  readonly durability: "normal" | "full"
  /** Milliseconds for which SQLite waits for another process's write; it blocks the event loop. */
  readonly busyTimeout: number
  /** Milliseconds between two checks that the file still exists: a check costs as much as writing a row. */
  readonly lookAgain: number
  readonly driver?: Driver | undefined
  /** Called with one line about permissions that were too loose. Default: a warning of the process. */
  readonly onTightened?: OnTightened | undefined
  /** Allows loading extensions. */
  readonly extensions?: boolean | undefined
  /** Whether the file needs no `migrate`: read outside of any transaction. Throws for a file that cannot be used. */
  isCurrent?(database: Database, path: string): boolean
  /** Brings the file up to date, in a transaction that may write. Afterwards there is a table `meta`. */
  migrate(database: Database, path: string): void
}

export interface OpenFile {
  readonly database: Database
  /** Absolute. */
  readonly path: string
  /** The error if the file was removed or replaced, so that writes to it would be lost. */
  isGone(): SuperstepError | undefined
}

/**
 * The pages after which the write-ahead log is moved into the file, and the bytes to which it is truncated when it restarts
 * after a burst. Moving blocks the event loop until the disk has all of it, as far as the heartbeat thread has not moved it
 * before (`onLogGrown`). A durable step writes three pages, and a run that only starts and ends writes twenty, most of them
 * again and again: with SQLite's own 1,000 pages, every 50th run would wait.
 */
const LOG_PAGES = 16_000
const LOG_SIZE = 67_108_864

const [PERMISSION, BUSY, READ_ONLY, CANNOT_OPEN, NOT_A_DATABASE] = [3, 5, 8, 14, 26]

export function openSqliteFile(options: FileOptions): OpenFile {
  const { path: location, extensions, driver = anyDriver(location, extensions) } = options
  // Absolute, so that no driver takes it for an address.
  const path = resolve(location)
  const onTightened = options.onTightened ?? emitWarning
  makeFolder(path, onTightened)
  privateDatabase(path)
  let database: Database | undefined
  try {
    database = driver(path)
    configure(database, path, options)
    tightenDatabase(path, onTightened)
    return { database, path, isGone: goneCheck(path, options.lookAgain) }
  } catch (error) {
    try {
      database?.close()
    } catch {
      // The first error is the one to report.
    }
    if (isSuperstepError(error)) throw error
    // What libsql says of a file that it cannot open is only a number.
    throw unusable(path, reason(error), resultCode(error) === CANNOT_OPEN ? undefined : error)
  }
}

function anyDriver(path: string, extensions?: boolean): Driver {
  try {
    return nodeSqlite({ extensions }) ?? libsql()
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw unusable(path, `cannot be opened. ${why}; or use Node 22.16 or later, which has SQLite`, error)
  }
}

function makeFolder(path: string, onTightened: OnTightened): void {
  const folder = dirname(path)
  try {
    privateFolder(folder, onTightened)
  } catch (error) {
    if (isSuperstepError(error)) throw error
    throw unusable(path, `needs the folder ${folder}, which cannot be created: choose another path`, error)
  }
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
    throw unusable(path, "is a folder: use the path of a file")
  }
}

function configure(database: Database, path: string, options: FileOptions): void {
  database.exec(`PRAGMA busy_timeout = ${options.busyTimeout}`)
  if (modeOf(database) !== "wal") {
    // Only takes effect in a new file, before anything is in it.
    if (isEmpty(database)) database.exec("PRAGMA auto_vacuum = INCREMENTAL")
    writeAhead(database, options.busyTimeout)
    if (modeOf(database) !== "wal") {
      throw unusable(
        path,
        "is on a file system without shared memory, which SQLite's WAL needs: use a local disk",
      )
    }
  }
  database.exec(`PRAGMA wal_autocheckpoint = ${LOG_PAGES}`)
  database.exec(`PRAGMA journal_size_limit = ${LOG_SIZE}`)
  // Always set: drivers differ in their defaults.
  database.exec(`PRAGMA synchronous = ${options.durability === "full" ? "FULL" : "NORMAL"}`)
  // A file that is up to date is opened without the lock, which another process may hold for long.
  if (options.isCurrent?.(database, path)) return checkWritable(database, options.busyTimeout)
  database.exec("BEGIN IMMEDIATE")
  try {
    options.migrate(database, path)
    database.exec(CHANGE_NOTHING)
    database.exec("COMMIT")
  } catch (error) {
    database.exec("ROLLBACK")
    throw error
  }
}

function modeOf(database: Database): string | undefined {
  const [mode] = database.prepare("PRAGMA journal_mode").all() as { journal_mode: string }[]
  return mode?.journal_mode
}

function isEmpty(database: Database): boolean {
  const [pages] = database.prepare("PRAGMA page_count").all() as { page_count: number }[]
  return pages?.page_count === 0
}

/** SQLite opens a read-only file, and fails with the first write. Not checked while others write. */
function checkWritable(database: Database, busyTimeout: number): void {
  database.exec("PRAGMA busy_timeout = 0")
  try {
    database.exec("BEGIN IMMEDIATE")
  } catch (error) {
    if (resultCode(error) === BUSY) return
    throw error
  } finally {
    database.exec(`PRAGMA busy_timeout = ${busyTimeout}`)
  }
  try {
    database.exec(CHANGE_NOTHING)
  } finally {
    database.exec("ROLLBACK")
  }
}

/** Fails where nothing can be changed: BEGIN IMMEDIATE does not. */
const CHANGE_NOTHING = "DELETE FROM meta WHERE false"

/** SQLite does not wait by itself when several processes that create the file switch its mode at once. */
function writeAhead(database: Database, busyTimeout: number): void {
  const deadline = performance.now() + busyTimeout
  for (;;) {
    try {
      database.exec("PRAGMA journal_mode = WAL")
      return
    } catch (error) {
      if (resultCode(error) !== BUSY || performance.now() >= deadline) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2)
    }
  }
}

function emitWarning(message: string): void {
  process.emitWarning(message, { type: "SuperstepWarning", code: "FILE_PERMISSIONS" })
}

/**
 * SQLite keeps writing to a file that was removed. The file is not opened for this: closing it again would
 * take SQLite's locks away.
 */
function goneCheck(path: string, lookAgain: number): OpenFile["isGone"] {
  const { ino, dev } = statSync(path)
  let looked = performance.now()
  return () => {
    const now = performance.now()
    if (now - looked < lookAgain) return undefined
    const found = statSync(path, { throwIfNoEntry: false })
    if (found?.ino !== ino || found.dev !== dev) {
      return writeFailed(`${path} was removed or replaced while it was open: restore it, or reopen the store`)
    }
    looked = now
    return undefined
  }
}

function reason(error: unknown): string {
  switch (resultCode(error)) {
    case NOT_A_DATABASE:
      return "is not a SQLite database: choose another path, or move the file"
    case PERMISSION:
    case READ_ONLY:
    case CANNOT_OPEN:
      return "is not writable: check the permissions of the file and its folder, or choose another path"
    case BUSY:
      return "is locked by another process: try again later"
    default:
      return `cannot be opened (${error instanceof Error ? error.message : error}): choose another path, or restore the file`
  }
}
