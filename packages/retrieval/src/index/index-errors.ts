import { isSuperstepError, SuperstepError } from "@superstep/engine"
import { resultCode } from "@superstep/store-sqlite/internal"
import { fatal, messageOf } from "../errors.ts"

const [BUSY, CORRUPT, FULL, NOT_A_DATABASE] = [5, 11, 13, 26]

/** Works with the file; SQLite's errors become sentences that say what to do. */
export function withFile<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw isSuperstepError(error) ? renamed(error) : fromSqlite(path, error)
  }
}

export function corrupt(path: string, cause?: unknown): SuperstepError {
  return fatal(
    "INDEX_CORRUPT",
    `The index ${path} is damaged: delete it, and add the documents again.`,
    cause,
  )
}

export function unusable(path: string, what: string): SuperstepError {
  return fatal("INDEX_UNUSABLE", `The index ${path} ${what}.`)
}

/** Errors about opening a store become errors about the index. */
function renamed(error: SuperstepError): SuperstepError {
  if (error.code !== "STORE_UNUSABLE" && error.code !== "STORE_WRITE_FAILED") return error
  return fatal("INDEX_UNUSABLE", `The index ${error.message}`, error)
}

function fromSqlite(path: string, error: unknown): SuperstepError {
  const why = messageOf(error)
  switch (resultCode(error)) {
    case BUSY:
      return new SuperstepError(
        "INDEX_LOCKED",
        `The index ${path} is locked by another process: try again when that is done.`,
        { cause: error },
      )
    case CORRUPT:
    case NOT_A_DATABASE:
      return corrupt(path, error)
    case FULL:
      return unusable(path, "cannot be written: the disk is full")
    default:
      return new SuperstepError("INDEX_FAILED", `The index ${path} failed: ${why}.`, { cause: error })
  }
}
