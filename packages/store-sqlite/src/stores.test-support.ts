/** Files for tests, on every driver that this runtime has. */
import { copyFileSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { codecOf } from "@superstep/engine/stores"
import { onTestFinished } from "vitest"
import { type Database, type Driver, libsql, nodeSqlite } from "./file/driver.ts"
import { withLateStatements } from "./file/schema.ts"
import { Transactions } from "./file/transactions.ts"
import { openDatabase, type StoreKeys } from "./open-store.ts"
import { type SqliteStore, storeOn } from "./sqlite-store.ts"

export { created, lease, over, records } from "./stored-values.test-support.ts"

const node = nodeSqlite()
export const drivers: { name: string; driver: Driver }[] = [
  { name: "libsql", driver: libsql() },
  ...(node === undefined ? [] : [{ name: "node:sqlite", driver: node }]),
]

/** A path in a folder of its own, which is gone when the test is over. */
export function freshPath(): string {
  const folder = mkdtempSync(join(tmpdir(), "superstep-sqlite-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, "runs.db")
}

const empty = new Map<Driver, string>()

/** The path of an empty store that is up to date: a copy, as migrating a new file takes longer than most tests. */
export function emptyPath(driver: Driver): string {
  let original = empty.get(driver)
  if (original === undefined) {
    const folder = mkdtempSync(join(tmpdir(), "superstep-sqlite-"))
    process.once("exit", () => rmSync(folder, { recursive: true, force: true }))
    original = join(folder, "empty.db")
    const { database } = openFile(original, driver)
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    empty.set(driver, original)
  }
  const path = freshPath()
  copyFileSync(original, path)
  return path
}

export function open(path: string, driver: Driver, durability: "normal" | "full" = "normal"): Database {
  return openFile(path, driver, durability).database
}

function openFile(path: string, driver: Driver, durability: "normal" | "full" = "normal") {
  return openDatabase({ path, durability, lookAgain: 0, driver })
}

/** Without a time to wait for a lock: within one process nobody would let go of it. */
export function openStore(path: string, driver: Driver, busyTimeout = 0, keys?: StoreKeys): SqliteStore {
  const codec = codecOf(keys)
  const {
    database,
    path: file,
    isGone,
  } = openDatabase({
    path,
    durability: "normal",
    lookAgain: 0,
    driver,
    codec,
  })
  const transactions = new Transactions(database, { mayWrite: isGone, busyTimeout })
  return storeOn(file, withLateStatements(database, file), transactions, codec)
}

/** A store on a connection that the test has too, or on one that looks at what is asked of it. */
export function storeOver(database: Database): SqliteStore {
  return storeOn("", database, unhurried(database))
}

/** Transactions that have as much time as they need, unless the test says how much. */
function unhurried(database: Database, maxChanging = Number.POSITIVE_INFINITY): Transactions {
  return new Transactions(database, { mayWrite: () => undefined, busyTimeout: 0, maxChanging })
}

/** A store that says when it has committed. */
export function committingStore(database: Database, onCommit: () => void, maxChanging?: number): SqliteStore {
  const counted = watched(database, { exec: (sql) => sql === "COMMIT" && onCommit() })
  return storeOn("", counted, unhurried(counted, maxChanging))
}

/** From now on the file cannot grow. */
export function fillDisk(database: Database): void {
  const [pages] = database.prepare("PRAGMA page_count").all() as [{ page_count: number }]
  database.exec(`PRAGMA max_page_count = ${pages.page_count}`)
}

/** Does what `change` does to the file, on a connection of its own. */
export function alter(path: string, driver: Driver, change: (database: Database) => void): void {
  const database = driver(path)
  try {
    change(database)
  } finally {
    database.close()
  }
}

/** A connection that says what is done on it. */
export function watched(
  database: Database,
  watch: { exec?(sql: string): unknown; prepare?(sql: string): void },
): Database {
  return {
    exec(sql) {
      database.exec(sql)
      watch.exec?.(sql)
    },
    prepare(sql) {
      watch.prepare?.(sql)
      return database.prepare(sql)
    },
    close: () => database.close(),
  }
}
