/** Runs in a SQLite file, so that they survive their process. */
import { SuperstepError } from "@superstep/engine"
import { openDatabase } from "./open-database.ts"
import { type SqliteStore, storeOn } from "./sqlite-store.ts"
import { Transactions } from "./transactions.ts"

export type { SqliteStore } from "./sqlite-store.ts"

export interface SqliteStoreOptions {
  /** The file; it is made, with its folder, when it is missing. `.superstep/superstep.db` unless told. */
  readonly path?: string | undefined
  /**
   * What an acknowledged record survives: "normal", the default, a crash of the process; "full" a power
   * failure too, for one fsync a commit.
   */
  readonly durability?: "normal" | "full" | undefined
}

const BUSY_TIMEOUT = 5_000
const LOOK_AGAIN = 250

export function sqliteStore(options: SqliteStoreOptions = {}): SqliteStore {
  const { path, durability = "normal" } = options
  if (durability !== "normal" && durability !== "full") {
    throw new SuperstepError(
      "OPTION_INVALID",
      `Bad store option: durability is "normal" or "full", not "${durability}".`,
    )
  }
  const {
    database,
    path: file,
    isGone,
  } = openDatabase({
    path,
    durability,
    busyTimeout: BUSY_TIMEOUT,
    lookAgain: LOOK_AGAIN,
  })
  return storeOn(file, database, new Transactions(database, isGone))
}
