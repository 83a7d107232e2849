/** Errors of this package: which of them a retry does not help, and options that are out of range. */
import { SuperstepError } from "@superstep/engine"

/** An error that comes again however often it is tried. */
export function fatal(code: string, message: string, cause?: unknown): SuperstepError {
  return new SuperstepError(code, message, { retryable: false, ...(cause !== undefined && { cause }) })
}

export function invalidOption(message: string): SuperstepError {
  return fatal("OPTION_INVALID", message)
}

// Timers and statement_timeout take a little more.
const MAX = 2_000_000_000

/** The value of an option that counts something. */
export function wholeNumber(name: string, value: number, least = 1, most = MAX): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value
  throw invalidOption(`${name} must be a whole number from ${least} to ${most}, not ${value}.`)
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
