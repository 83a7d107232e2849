import { isSuperstepError, SuperstepError } from "@superstep/engine"
import { resultCode } from "@superstep/store-sqlite/shared"

const [BUSY, CORRUPT, FULL, NOT_A_DATABASE] = [5, 11, 13, 26]

/** Does what it is given to do with the file; what SQLite says becomes a sentence that says what to do. */
export function withFile<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw isSuperstepError(error) ? renamed(error) : fromSqlite(path, error)
  }
}

export function corrupt(path: string, cause?: unknown): SuperstepError {
  const text = `The index ${path} is damaged: delete it, and add the documents again.`
  return new SuperstepError("INDEX_CORRUPT", text, { cause, retryable: false })
}

export function unusable(path: string, what: string): SuperstepError {
  return new SuperstepError("INDEX_UNUSABLE", `The index ${path} ${what}.`, { retryable: false })
}

/** What opening a file says of a store is said of an index. */
function renamed(error: SuperstepError): SuperstepError {
  if (error.code !== "STORE_UNUSABLE" && error.code !== "STORE_WRITE_FAILED") return error
  return new SuperstepError("INDEX_UNUSABLE", `The index ${error.message}`, {
    cause: error,
    retryable: false,
  })
}

function fromSqlite(path: string, error: unknown): SuperstepError {
  const why = error instanceof Error ? error.message : String(error)
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
