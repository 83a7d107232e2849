/** Files for tests, on every driver that this runtime has. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { JournalRecord } from "@superstep/engine"
import { onTestFinished } from "vitest"
import { type Database, type Driver, libsql, nodeSqlite } from "./driver.ts"
import { journalTables, type SqliteStore } from "./journal-tables.ts"
import { openDatabase } from "./open-database.ts"

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

export function open(path: string, driver: Driver, durability: "normal" | "full" = "normal"): Database {
  // Nobody waits for a lock here: within one process no one would let go of it.
  return openDatabase({ path, durability, busyTimeout: 0, driver })
}

export function openStore(path: string, driver: Driver): SqliteStore {
  return journalTables(open(path, driver))
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

export function records(first: number, count: number, value = "value"): JournalRecord[] {
  return Array.from({ length: count }, (_, i) => ({
    seq: first + i,
    frame: "",
    entry: { type: "step.recorded", at: 1_000 + first + i, task: 1, key: "k", value },
    events: first + i,
  }))
}
