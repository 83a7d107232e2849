/** Limits of queries, and errors with messages that a model can act on. A retry fixes none of them. */
import type { SuperstepError } from "@superstep/engine"
import type { QueryOptions } from "@superstep/engine/patterns"
import { fatal, wholeNumber } from "../errors.ts"
import type { KnownLimits } from "./rows.ts"

export interface QueryLimits {
  /** Maximum rows. Default 1,000. */
  readonly rows?: number | undefined
  /** Maximum bytes of the rows as JSON. Default 1 MB. */
  readonly bytes?: number | undefined
  /** Maximum milliseconds. Default 10,000. */
  readonly timeout?: number | undefined
}

const DEFAULTS: KnownLimits = { rows: 1_000, bytes: 1_000_000, timeout: 10_000 }

/** The limits of the query take precedence over those of the database. */
export function limitsOf(query: QueryOptions | undefined, database: QueryLimits | undefined): KnownLimits {
  const of = (name: keyof KnownLimits) =>
    wholeNumber(name, query?.[name] ?? database?.[name] ?? DEFAULTS[name])
  return { rows: of("rows"), bytes: of("bytes"), timeout: of("timeout") }
}

/** The query is not one plain SELECT, or reads something that is not allowed. */
export function refused(why: string, cause?: unknown): SuperstepError {
  return fatal("QUERY_REFUSED", `The query was refused: ${why}.`, cause)
}

/** The database cannot parse or execute the query. */
export function failed(why: string, cause?: unknown): SuperstepError {
  return fatal("QUERY_FAILED", `The query failed: ${why}`, cause)
}

export function timedOut(milliseconds: number, cause?: unknown): SuperstepError {
  const message = `The query was stopped after ${milliseconds} ms: ask for less, or set a longer \`timeout\`.`
  return fatal("QUERY_TIMEOUT", message, cause)
}

/** `what` names a database or a graph by its id. */
export function closed(what: string): SuperstepError {
  return fatal("DATABASE_CLOSED", `The ${what} is closed.`)
}

/** Advice for messages about an unsafe role: the options in a goal file and in code. */
export const UNSAFE_ROLE_ADVICE =
  "To use this role anyway, set `allow_unsafe_role: true` for the database in the goal file, or " +
  "`allowUnsafeRole: true` in code."
