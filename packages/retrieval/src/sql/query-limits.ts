import { SuperstepError } from "@superstep/engine"
import type { QueryOptions } from "@superstep/engine/patterns"
import type { KnownLimits } from "./bounded-rows.ts"

export interface QueryLimits {
  /** Rows at the most. Default 1,000. */
  readonly rows?: number | undefined
  /** Bytes of the rows as JSON at the most. Default 1 MB. */
  readonly bytes?: number | undefined
  /** Milliseconds at the most. Default 10,000. */
  readonly timeout?: number | undefined
}

const DEFAULTS: KnownLimits = { rows: 1_000, bytes: 1_000_000, timeout: 10_000 }
// Timers and statement_timeout take a little more.
const MAX = 2_000_000_000

/** A query's own limits come first, then those of the database. */
export function limitsOf(query: QueryOptions | undefined, database: QueryLimits | undefined): KnownLimits {
  const of = (name: keyof KnownLimits) =>
    wholeNumber(name, query?.[name] ?? database?.[name] ?? DEFAULTS[name])
  return { rows: of("rows"), bytes: of("bytes"), timeout: of("timeout") }
}

/** The value of an option that counts something. */
export function wholeNumber(name: string, value: number): number {
  if (Number.isInteger(value) && value > 0 && value <= MAX) return value
  const message = `${name} is a whole number from 1 to ${MAX}, and not ${value}.`
  throw new SuperstepError("OPTION_INVALID", message, { retryable: false })
}
