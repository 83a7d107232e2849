/**
 * One family of errors. Programs check `code`; the message states what happened and what to do.
 * An error carries ids, never a run's state.
 */
import { clipped } from "../text/internal.ts"
import { HiddenPart } from "./hidden-part.ts"
import { omitUndefined } from "./json.ts"

export interface ErrorData {
  readonly code: string
  readonly message: string
  /** The name of its class, if more specific than `Error` or `SuperstepError`. */
  readonly name?: string | undefined
  /** The node whose task failed, and the attempt. */
  readonly node?: string | undefined
  readonly attempt?: number | undefined
  readonly cause?: ErrorData | undefined
  /** False: a retry cannot help. */
  readonly retryable?: boolean | undefined
  /** True: no error route applies; the run fails. */
  readonly fatal?: boolean | undefined
  /** True: a limit was reached. The run takes its limit route, or ends with status `limit`. */
  readonly limit?: boolean | undefined
}

export interface SuperstepErrorOptions {
  cause?: unknown
  /** The name of the class that the error had where it was thrown. */
  name?: string
  retryable?: boolean
  fatal?: boolean
  limit?: boolean
  node?: string
  attempt?: number
  /** The affected or the conflicting run. */
  run?: string
}

const MARK = Symbol.for("superstep.error")

export class SuperstepError extends Error {
  readonly code: string
  declare readonly retryable?: boolean
  declare readonly fatal?: boolean
  declare readonly limit?: boolean
  declare readonly node?: string
  declare readonly attempt?: number
  declare readonly run?: string

  constructor(code: string, message: string, options: SuperstepErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = code === "CONVERGENCE" ? "ConvergenceError" : "SuperstepError"
    this.code = code
    const { cause: _, ...known } = options
    Object.assign(this, known)
    Object.defineProperty(this, MARK, { value: true })
  }
}

/** An error that a retry cannot fix. */
export function terminalError(code: string, message: string, cause?: unknown): SuperstepError {
  return new SuperstepError(code, message, { cause, retryable: false })
}

/** Recognises the family by its mark, so that two copies of the library in one process are compatible. */
export function isSuperstepError(error: unknown, code?: string): error is SuperstepError {
  if (!(error instanceof Error && MARK in error)) return false
  return code === undefined || ("code" in error && error.code === code)
}

const MAX_MESSAGE = 4_000
const MAX_NAME = 200
const MAX_CAUSES = 5

/** Errors that made a task fail, with the data of that failure, which has its location. */
const failures = new HiddenPart<Error, ErrorData>()

/** Records `data`, which names a node and an attempt, as the failure of `error`. */
export function failedAs(error: Error, data: ErrorData): void {
  failures.set(error, data)
}

/** An error as data for the journal: code, name, message and causes; no stack, no state. */
export function toErrorData(error: unknown, depth = 0): ErrorData {
  if (!(error instanceof Error)) {
    return { code: "ERROR", message: clip(typeof error === "string" ? error : describe(error)) }
  }
  const { code, retryable, fatal } = error as Partial<Record<"code" | "retryable" | "fatal", unknown>>
  const { node, attempt } = failures.get(error) ?? (isSuperstepError(error) ? error : {})
  return omitUndefined({
    code: typeof code === "string" && code !== "" ? code : "ERROR",
    message: clip(error.message || error.name),
    name: errorName(error),
    node,
    attempt,
    retryable: typeof retryable === "boolean" ? retryable : undefined,
    fatal: fatal === true ? true : undefined,
    limit: isSuperstepError(error) && error.limit === true ? true : undefined,
    cause: error.cause !== undefined && depth < MAX_CAUSES ? toErrorData(error.cause, depth + 1) : undefined,
  }) as ErrorData
}

/** A class without its own `name` is named by its constructor. Undefined if it adds nothing to the code. */
function errorName(error: Error): string | undefined {
  const { name } = error
  const known = typeof name === "string" && name !== "" && name !== "Error" ? name : error.constructor?.name
  if (typeof known !== "string" || known === "" || known === "Error" || known === "SuperstepError")
    return undefined
  return clip(known, MAX_NAME)
}

/** The error for a run's caller, created from journaled data. */
export function fromErrorData(
  data: ErrorData,
  causeOf: (cause: ErrorData) => unknown = (cause) => fromErrorData(cause),
): SuperstepError {
  const { code, message, cause, name, retryable, fatal, limit, node, attempt } = data
  return new SuperstepError(code, message, {
    ...(cause && { cause: causeOf(cause) }),
    ...omitUndefined({ name, retryable, fatal, limit, node, attempt }),
  })
}

function describe(error: unknown): string {
  try {
    return `a ${error === null ? "null" : typeof error} was thrown: ${JSON.stringify(error)}`
  } catch {
    return `a ${typeof error} was thrown`
  }
}

function clip(text: string, max = MAX_MESSAGE): string {
  return clipped(text, max)
}
