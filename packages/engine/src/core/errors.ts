/**
 * One family of errors. `code` is what programs look at; the message says what happened and what to do.
 * An error carries ids, never a run's state.
 */

export interface ErrorData {
  readonly code: string
  readonly message: string
  /** The node whose task failed, and which attempt it was. */
  readonly node?: string | undefined
  readonly attempt?: number | undefined
  readonly cause?: ErrorData | undefined
  /** False: trying again cannot help. */
  readonly retryable?: boolean | undefined
  /** True: no error route may take this; the run fails. */
  readonly fatal?: boolean | undefined
  /** True: a limit was reached. The run goes along its limit route, or ends with status `limit`. */
  readonly limit?: boolean | undefined
}

export interface SuperstepErrorOptions {
  cause?: unknown
  retryable?: boolean
  fatal?: boolean
  limit?: boolean
  node?: string
  attempt?: number
  /** The run that is meant or in the way. */
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

/** Recognises the family by its mark, so that two copies of the library in one process understand each other. */
export function isSuperstepError(error: unknown, code?: string): error is SuperstepError {
  if (!(error instanceof Error && MARK in error)) return false
  return code === undefined || ("code" in error && error.code === code)
}

const MAX_MESSAGE = 4_000
const MAX_CAUSES = 5

/** An error as data for the journal: code, message and causes; no stack, no state. */
export function toErrorData(error: unknown, depth = 0): ErrorData {
  if (!(error instanceof Error)) {
    return { code: "ERROR", message: clip(typeof error === "string" ? error : describe(error)) }
  }
  const { code, retryable, fatal } = error as Partial<Record<"code" | "retryable" | "fatal", unknown>>
  const isLimit = isSuperstepError(error) && error.limit === true
  const { node, attempt } = isSuperstepError(error) ? error : {}
  return {
    code: typeof code === "string" && code !== "" ? code : "ERROR",
    message: clip(error.message || error.name),
    ...(node === undefined ? {} : { node }),
    ...(attempt === undefined ? {} : { attempt }),
    ...(typeof retryable === "boolean" ? { retryable } : {}),
    ...(fatal === true ? { fatal } : {}),
    ...(isLimit ? { limit: true } : {}),
    ...(error.cause !== undefined && depth < MAX_CAUSES
      ? { cause: toErrorData(error.cause, depth + 1) }
      : {}),
  }
}

/** The error that a run's caller gets to see, made from what the journal holds. */
export function fromErrorData(data: ErrorData): SuperstepError {
  return new SuperstepError(data.code, data.message, {
    ...(data.cause ? { cause: fromErrorData(data.cause) } : {}),
    ...(data.retryable === undefined ? {} : { retryable: data.retryable }),
    ...(data.fatal === undefined ? {} : { fatal: data.fatal }),
    ...(data.limit === undefined ? {} : { limit: data.limit }),
    ...(data.node === undefined ? {} : { node: data.node }),
    ...(data.attempt === undefined ? {} : { attempt: data.attempt }),
  })
}

function describe(error: unknown): string {
  try {
    return `a ${error === null ? "null" : typeof error} was thrown: ${JSON.stringify(error)}`
  } catch {
    return `a ${typeof error} was thrown`
  }
}

function clip(text: string): string {
  return text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE)}…` : text
}
