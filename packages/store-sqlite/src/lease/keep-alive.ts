/** The heartbeat thread's connection to the file. */
import type { KeepAlive, KeepAliveOptions } from "@superstep/engine"
import { heartbeatThread } from "@superstep/engine/stores"
import { libsqlPath, nodeSqlite } from "../file/driver.ts"
import { DISMISSAL } from "./leases.ts"

export function keepAlive(path: string, options: KeepAliveOptions): KeepAlive {
  // The driver of the store: two copies of SQLite in one process release each other's locks.
  const libsql = nodeSqlite() === undefined ? libsqlPath() : undefined
  return heartbeatThread(options, { program: PROGRAM, data: { path, libsql, sql: DISMISSAL } })
}

/** Dismisses a hung holder as leases.ts does. */
const PROGRAM = `
const { path, libsql, sql } = workerData
const Database = libsql === undefined
  ? process.getBuiltinModule("node:sqlite").DatabaseSync
  : require(libsql)
const database = new Database(path)
database.exec("PRAGMA busy_timeout = 2000")

function beat(holder) {
  database.prepare("UPDATE holders SET beat = beat + 1 WHERE id = ?").run(holder)
}

function dismiss(holder, run) {
  database.exec("BEGIN IMMEDIATE")
  try {
    if (database.prepare(sql.removeHolder).run(holder).changes > 0) {
      database.prepare(sql.countHungRun).run(1, holder, run)
      database.prepare(sql.freeAll).run(holder)
    }
    database.exec("COMMIT")
  } catch (error) {
    database.exec("ROLLBACK")
    throw error
  }
}

function close() {
  database.close()
}
`
