/** Runs in a SQLite file, so that they survive their process. */
import { SuperstepError } from "@superstep/engine"
import { isBusy, lockedBy } from "./busy.ts"
import { openLater } from "./deferred-store.ts"
import { openDatabase, pathOf } from "./open-database.ts"
import { outdatedCheck } from "./schema.ts"
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
  /**
   * Milliseconds for which a write is retried while another process has the file locked. The event loop is never
   * blocked meanwhile. Default: 60,000.
   */
  readonly busyTimeout?: number | undefined
  /** Called with what the operator should know. Default: `process.emitWarning`. */
  readonly onNotice?: ((notice: StoreNotice) => void) | undefined
}

export interface StoreNotice {
  /** Waiting for another process's lock; file permissions that were tightened, or could not be. */
  readonly code: "STORE_LOCKED" | "FILE_PERMISSIONS"
  /** One line. */
  readonly message: string
}

const BUSY_TIMEOUT = 60_000
const LOOK_AGAIN = 250

export function sqliteStore(options: SqliteStoreOptions = {}): SqliteStore {
  const { durability = "normal", busyTimeout = BUSY_TIMEOUT, onNotice = emitWarning } = options
  if (durability !== "normal" && durability !== "full") {
    throw invalid(`durability is "normal" or "full", not "${durability}"`)
  }
  if (!(busyTimeout >= 0)) throw invalid(`busyTimeout is a number of milliseconds, not ${busyTimeout}`)
  const path = pathOf(options.path)
  const onWait = () => onNotice({ code: "STORE_LOCKED", message: `Waiting: ${lockedBy(path)}.` })

  function open(): SqliteStore {
    const { database, isGone } = openDatabase({
      path: options.path,
      durability,
      lookAgain: LOOK_AGAIN,
      onTightened: (message) => onNotice({ code: "FILE_PERMISSIONS", message }),
    })
    const transactions = new Transactions(database, {
      mayWrite: isGone,
      mayChange: outdatedCheck(database, path),
      busyTimeout,
      onWait,
      lockedBy: () => lockedBy(path),
    })
    return storeOn(path, database, transactions)
  }

  try {
    return open()
  } catch (error) {
    if (!isBusy(error)) throw error
    return openLater({
      open,
      busyTimeout,
      onWait,
      giveUp: (cause) => new SuperstepError("STORE_UNUSABLE", `${lockedBy(path)}.`, { cause }),
    })
  }
}

function invalid(what: string): SuperstepError {
  return new SuperstepError("OPTION_INVALID", `Bad store option: ${what}.`)
}

function emitWarning({ code, message }: StoreNotice): void {
  process.emitWarning(message, { type: "SuperstepWarning", code })
}
