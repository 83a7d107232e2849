/**
 * What PostgreSQL and its driver report, as errors that say what to do. No message has a password: an address is shown
 * without it (address.ts), and the driver never repeats it.
 */
import { SuperstepError } from "@superstep/engine"

export function unusable(what: string, cause?: unknown): SuperstepError {
  return new SuperstepError("STORE_UNUSABLE", `${what}.`, { cause })
}

export function writeFailed(what: string, cause?: unknown): SuperstepError {
  return new SuperstepError("STORE_WRITE_FAILED", `${what}${why(cause)}.`, { cause })
}

export function readFailed(what: string, cause: unknown): SuperstepError {
  return new SuperstepError("STORE_READ_FAILED", `${what} cannot be read${why(cause)}.`, { cause })
}

/** The start of a sentence about damage: `Run "x" is damaged`. Only called when there is damage. */
export type Subject = () => string

export function corrupt(subject: Subject, what: string, cause?: unknown): SuperstepError {
  const text = `${subject()}: ${what}. Restore the database from a backup.`
  return new SuperstepError("STORE_CORRUPT", text, { cause })
}

export function outdated(schema: string, cause: unknown): SuperstepError {
  const text = `Schema "${schema}" was migrated by a newer Superstep while this process had it open. Restart this process with the newer version: its runs continue there.`
  return new SuperstepError("STORE_OUTDATED", text, { cause, retryable: false })
}

export function isClosed(): SuperstepError {
  return new SuperstepError("STORE_CLOSED", "The store is closed: open it again with postgresStore().")
}

export function optionInvalid(what: string): SuperstepError {
  return new SuperstepError("OPTION_INVALID", `Bad store option: ${what}${what.endsWith("?") ? "" : "."}`)
}

function why(cause: unknown): string {
  return cause instanceof Error && cause.message !== "" ? `: ${cause.message}` : ""
}

/** PostgreSQL's five characters, or Node's name of a network error. */
export function codeOf(error: unknown): string {
  const { code } = Object(error) as { code?: unknown }
  return typeof code === "string" ? code : ""
}

/** What the driver says when its connection is gone, which has no code. */
const GONE =
  /connection terminated|connection ended|not queryable|timeout exceeded when trying to connect|query read timeout|socket (?:was )?(?:closed|hang up)|server closed the connection/i
/** The server is starting, stopping, or has no connection left; a network error. */
const AWAY =
  /^(?:57P0[123]|57P05|53300|53400|08\w{3}|25006|ECONN(?:RESET|REFUSED|ABORTED)|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN|ENETDOWN|EHOSTDOWN)$/

/** Whether the connection was lost, or could not be opened: the statement may or may not have been executed. */
export function isConnectionLost(error: unknown): boolean {
  const causes = error instanceof AggregateError ? error.errors : [error]
  return causes.some(
    (cause) => AWAY.test(codeOf(cause)) || (cause instanceof Error && GONE.test(cause.message)),
  )
}

/** What the server says, in English only, when a migration replaces a function that is being called. */
const REPLACED = /^cache lookup failed for function /

/**
 * Whether the server rolled the statement back and a retry may succeed: a deadlock, a locked or a removed row, a function
 * that was replaced.
 */
export function isConflict(error: unknown): boolean {
  const code = codeOf(error)
  if (code === "XX000") return error instanceof Error && REPLACED.test(error.message)
  return ["40P01", "40001", "55P03"].includes(code)
}

/** Whether a value of the statement caused the error, and not the server: each write of a batch is then tried on its own. */
export function isOfValue(error: unknown): boolean {
  return /^(?:22|23|54)/.test(codeOf(error))
}

/** What is wrong with the set-up, with what to do about it; undefined for any other error. */
export function setUpProblem(error: unknown, { shown, schema }: DatabaseTarget): SuperstepError | undefined {
  const text = setUpText(codeOf(error), error instanceof Error ? error.message : "", schema)
  return text === undefined ? undefined : unusable(`PostgreSQL at ${shown} ${text}`, error)
}

export interface DatabaseTarget {
  /** The address, without its password. */
  readonly shown: string
  readonly schema: string
}

function setUpText(code: string, message: string, schema: string): string | undefined {
  if (code === "28P01" || /password must be a string|no password supplied|SASL/.test(message))
    return "refuses the password: check the user and the password of the URL, or PGPASSWORD"
  if (code === "28000")
    return `does not let this user connect (${message}): check the user, TLS, and pg_hba.conf`
  if (code === "3D000") return `has no such database (${message}): create it, or correct the URL`
  if (code === "42501")
    return `denies a permission (${message}): grant the user USAGE and CREATE on schema "${schema}" and all rights on its tables, or let it create the schema`
  if (code === "3F000" || code === "42P01" || code === "42883")
    return `has no tables of Superstep in schema "${schema}" any more (${message}): restart this process, which creates them`
  if (/SSL|self.signed|certificate|unable to verify/i.test(`${code} ${message}`))
    return `and this process do not agree on TLS (${message}): set the option tls, for example { ca } with the certificate of the server's authority`
  if (code === "26000" || code === "42P05")
    return `lost a prepared statement (${message}), as behind a pooler in transaction mode: set prepare: false`
  if (code === "ENOTFOUND") return "has an unknown host name: check the URL"
  return undefined
}

export function unreachable({ shown }: DatabaseTarget, milliseconds: number, cause: unknown): SuperstepError {
  const text = `PostgreSQL at ${shown} could not be reached for ${Math.ceil(milliseconds / 1_000)} s${why(cause)}. Check that the server runs and accepts connections from here`
  return unusable(text, cause)
}

export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
