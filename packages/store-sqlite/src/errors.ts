import { SuperstepError } from "@superstep/engine"

/** `what` goes on after the path, and says what to do. */
export function unusable(path: string, what: string, cause?: unknown): SuperstepError {
  return new SuperstepError("STORE_UNUSABLE", `${path} ${what}.`, { cause })
}

export function writeFailed(what: string, cause?: unknown): SuperstepError {
  return new SuperstepError("STORE_WRITE_FAILED", `${what}${why(cause)}.`, { cause })
}

export function readFailed(what: string, cause: unknown): SuperstepError {
  return new SuperstepError("STORE_READ_FAILED", `${what} cannot be read${why(cause)}.`, { cause })
}

/** What is damaged, where, and what is wrong there. */
export function corrupt(place: Place, what: string, cause?: unknown): SuperstepError {
  const text = `${place()}: ${what}. Restore the file from a backup.`
  return new SuperstepError("STORE_CORRUPT", text, { cause })
}

/** Says that something is damaged, and where: only asked when it is. */
export type Place = () => string

export function isClosed(): SuperstepError {
  return new SuperstepError("STORE_CLOSED", "The store is closed: open it again with sqliteStore().")
}

function why(cause: unknown): string {
  return cause instanceof Error ? `: ${cause.message}` : ""
}
