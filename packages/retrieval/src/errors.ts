/** Errors of this package: those that a retry does not fix, and options out of range. */
import { SuperstepError } from "@superstep/engine"

/** An error that a retry does not fix. */
export function fatal(code: string, message: string, cause?: unknown): SuperstepError {
  return new SuperstepError(code, message, { retryable: false, ...(cause !== undefined && { cause }) })
}

export function invalidOption(message: string): SuperstepError {
  return fatal("OPTION_INVALID", message)
}

// Slightly below the maximum of timers and of statement_timeout.
const MAX = 2_000_000_000

/** Validates an option that is a count. */
export function wholeNumber(name: string, value: number, min = 1, max = MAX): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value
  throw invalidOption(`${name} must be a whole number from ${min} to ${max}, not ${value}.`)
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
