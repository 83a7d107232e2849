/** Errors of expressions: at compile time, with a position in the text, and at evaluation. */
import { SuperstepError } from "../core/index.ts"
import { clipped } from "../text/index.ts"

/** Offsets into a source text: from `start` to `end`, exclusive. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** The text is not an expression. Found at compile time, never at run time. */
export class ExpressionError extends SuperstepError {
  readonly start: number
  readonly end: number

  constructor(message: string, { start, end }: Span) {
    super("EXPRESSION_INVALID", message, { retryable: false })
    this.name = "ExpressionError"
    this.start = start
    this.end = end
  }
}

/** An operation that its values do not allow. Internal: a missing path, `&&` and `||` can absorb it. */
export class Failure extends Error {
  readonly at: Span

  constructor(message: string, at: Span) {
    super(message)
    this.at = at
  }
}

/** The error for the caller of `evaluate`, if nothing absorbed the failure. */
export function expressionFailed(source: string, failure: Failure): SuperstepError {
  return new SuperstepError(
    "EXPRESSION_FAILED",
    `The expression ${quotedSource(source)} failed at character ${failure.at.start + 1}: ${failure.message}.`,
    { retryable: false },
  )
}

/** Never absorbed: the expression exceeded a limit. */
export function tooCostly(reason: string): SuperstepError {
  return new SuperstepError("EXPRESSION_TOO_COSTLY", `An expression was stopped: ${reason}.`, {
    retryable: false,
  })
}

const MAX_QUOTED = 200

export function quotedSource(text: string): string {
  return `\`${clipped(text, MAX_QUOTED)}\``
}
