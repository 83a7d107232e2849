/** Neo4j's errors, told so that a person or a model can act on them, without the password. */
import { isSuperstepError, SuperstepError } from "@superstep/engine"
import { failed, refused, timedOut } from "../sql/query-errors.ts"

interface ServerError {
  readonly code?: string
  readonly message: string
}

const TIMEOUTS = [
  "Neo.ClientError.Transaction.TransactionTimedOut",
  "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration",
  "Neo.TransientError.Transaction.Terminated",
  "Neo.ClientError.Transaction.TransactionTerminated",
]
const REFUSALS = [
  "Neo.ClientError.Statement.AccessMode",
  "Neo.ClientError.General.ForbiddenOnReadOnlyDatabase",
]
const UNREACHABLE = ["ServiceUnavailable", "SessionExpired", "N/A"]
/** It starts, or changes its leader. */
const UNAVAILABLE = /^Neo\.TransientError\.\w+\.DatabaseUnavailable$/
const LOGIN = "Neo.ClientError.Security."

export function graphError(id: string, address: string, timeout: number, error: unknown): unknown {
  if (isSuperstepError(error) || !(error instanceof Error)) return error
  const { code = "N/A", message } = error as ServerError
  if (TIMEOUTS.includes(code)) return timedOut(timeout, error)
  if (REFUSALS.includes(code) || code === `${LOGIN}Forbidden`) return refused(ended(message), error)
  if (code.startsWith(LOGIN)) {
    const text = `The graph ${id} at ${address} does not let the user in: ${message} Check the user and the password.`
    return new SuperstepError("DATABASE_UNREACHABLE", text, { cause: error, retryable: false })
  }
  if (code === "Neo.ClientError.Database.DatabaseNotFound") {
    const text = `The graph ${id} at ${address} is not there: ${message} Check the name of the database.`
    return new SuperstepError("DATABASE_UNREACHABLE", text, { cause: error, retryable: false })
  }
  if (UNREACHABLE.includes(code) || UNAVAILABLE.test(code)) {
    const text = `The graph ${id} at ${address} cannot be reached: ${firstLine(message)} Check the address, and that the server is running.`
    return new SuperstepError("DATABASE_UNREACHABLE", text, { cause: error, retryable: true })
  }
  return failed(message, error)
}

function ended(message: string): string {
  return message.replace(/\.\s*$/, "")
}

function firstLine(message: string): string {
  const line = message.split("\n")[0] ?? message
  return line.endsWith(".") ? line : `${line}.`
}
