import { isSuperstepError, SuperstepError } from "@superstep/engine"
import { resultCode } from "./driver.ts"

/** `what` goes on after the path, and says what to do. */
export function unusable(path: string, what: string, cause?: unknown): SuperstepError {
  return new SuperstepError("STORE_UNUSABLE", `${path} ${what}.`, { cause })
}

export function writeFailed(what: string, cause?: unknown): SuperstepError {
  return new SuperstepError("STORE_WRITE_FAILED", `${what}${why(cause)}.`, { cause })
}

/** What SQLite says of a damaged file: "malformed", "not a database". */
const OF_DAMAGE: ReadonlySet<number | undefined> = new Set([11, 26])

export function readFailed(what: string, cause: unknown): SuperstepError {
  if (isSuperstepError(cause)) return cause
  if (OF_DAMAGE.has(resultCode(cause)) || isOutOfRange(cause))
    return corrupt(() => `${what} cannot be read`, `the file is damaged${why(cause)}`, cause)
  return new SuperstepError("STORE_READ_FAILED", `${what} cannot be read${why(cause)}.`, { cause })
}

const MEND =
  "Restore the file from a backup, or recover what is readable with superstep runs salvage; superstep doctor --store lists all damage."

/** What is damaged, where, and what is wrong there. */
export function corrupt(place: Place, what: string, cause?: unknown): SuperstepError {
  const text = `${place()}: ${what}. ${MEND}`
  return new SuperstepError("STORE_CORRUPT", text, { cause })
}

/** Without what to do about it: for lists of damage, which say that once. */
export function messageOfDamage(error: unknown): string {
  return error instanceof Error ? error.message.replace(` ${MEND}`, "") : String(error)
}

export function tablesDamaged(cause: unknown): SuperstepError {
  return corrupt(
    () => "The tables of the store are damaged",
    `SQLite does not accept them${why(cause)}`,
    cause,
  )
}

/** Says that something is damaged, and where: only asked when it is. */
export type Place = () => string

export function outdated(path: string, now: unknown, own: number): SuperstepError {
  const text = `${path} was brought to version ${now} by a newer Superstep while this process, which writes version ${own}, had it open. Restart this process with the newer version: its runs go on there.`
  return new SuperstepError("STORE_OUTDATED", text, { retryable: false })
}

export function isClosed(): SuperstepError {
  return new SuperstepError("STORE_CLOSED", "The store is closed: open it again with sqliteStore().")
}

/** What node:sqlite says of a number that is larger than any that is written here. */
function isOutOfRange(cause: unknown): boolean {
  return (Object(cause) as { code?: unknown }).code === "ERR_OUT_OF_RANGE"
}

function why(cause: unknown): string {
  return cause instanceof Error ? `: ${cause.message}` : ""
}
