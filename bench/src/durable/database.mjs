// SQLite with no engine over it, by the driver that @superstep/store-sqlite takes: node:sqlite where Node has it,
// else libsql.
import { createRequire } from "node:module"

/** The driver is loaded at the first call, as it is in the store. */
export function openDatabase(path) {
  const sqlite = process.getBuiltinModule("node:sqlite")
  const Database = sqlite === undefined ? createRequire(import.meta.url)("libsql") : sqlite.DatabaseSync
  return new Database(path)
}

/** Moves what is still in the write-ahead log into the file; some drivers leave it there when they close. */
export function emptyWriteAheadLog(path) {
  const database = openDatabase(path)
  database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").all()
  database.close()
}
