/** PostgreSQL's errors in words that a person or a model can act on, without the password. */
import { isSuperstepError, SuperstepError } from "@superstep/engine"
import { messageOf } from "../errors.ts"
import { CURSOR } from "./postgres-query.ts"
import { failed, refused, timedOut } from "./queries.ts"

interface ServerError {
  readonly code?: string
  readonly message: string
  readonly detail?: string
  readonly hint?: string
  readonly position?: string
}

/** The server wants values for `$1`, and we give none. */
const PROTOCOL_VIOLATION = "08P01"
const REFUSALS = new Set(["25006", "42501", "0A000"])

export function queryError(error: unknown, timeout: number): unknown {
  if (isSuperstepError(error) || !(error instanceof Error)) return error
  const { code, message, detail, hint, position } = error as ServerError
  if (code === "57014" || code === "55P03") return timedOut(timeout, error)
  if (code !== undefined && REFUSALS.has(code)) return refused(message, error)
  if (code === "42601" && message.includes("multiple commands")) {
    return refused("only one statement can be run, and these are several", error)
  }
  if (code === PROTOCOL_VIOLATION && message.includes("parameters")) {
    return refused("it has parameters: write the values themselves", error)
  }
  const at = Number(position) - CURSOR.length
  const place = at > 0 ? ` (at character ${at})` : ""
  return failed([`${message}${place}.`, detail, hint].filter(Boolean).join(" "), error)
}

/** The query may be as good as any: the server went away, or turned us out. */
export function isConnectionLost(error: unknown): boolean {
  if (isSuperstepError(error) || !(error instanceof Error)) return false
  const { code, message } = error as ServerError
  if (code !== undefined) return /^(?:080..|57P0[1-3]|ECONNRESET|EPIPE|ETIMEDOUT)$/.test(code)
  return /^Connection terminated|is not queryable/.test(message)
}

export interface Address {
  readonly host: string
  readonly port: number
  readonly database?: string | undefined
}

const NO_SUCH_DATABASE = "3D000"

/** Not reached, or not let in. */
export function unreachable(id: string, address: Address, error: unknown): SuperstepError {
  // Several addresses of one name fail as one error without a message.
  const causes = error instanceof AggregateError ? error.errors : [error]
  const reasons = [...new Set(causes.map(messageOf))]
  const code = (error as ServerError).code ?? ""
  const place = `${address.host}:${address.port}${address.database ? `/${address.database}` : ""}`
  const { what, advice, retryable } = reasonOf(code)
  const message = `The database ${id} at ${place} ${what}: ${reasons.join("; ")}. ${advice}`
  return new SuperstepError("DATABASE_UNREACHABLE", message, { cause: error, retryable })
}

function reasonOf(code: string): { what: string; advice: string; retryable: boolean } {
  // Class 28: the server was reached, and knows the role or its password not.
  if (code.startsWith("28")) {
    return { what: "does not let the role in", advice: "Check the role and its password.", retryable: false }
  }
  if (code === NO_SUCH_DATABASE) {
    return { what: "is not there", advice: "Check the name of the database.", retryable: false }
  }
  const advice = "Check the address, and that the server is running and takes connections from here."
  return { what: "cannot be reached", advice, retryable: true }
}
