/** What goes wrong with an expression: when it is read (with a place in its text), and when it is evaluated. */
import { SuperstepError } from "../core/index.ts"
import { clipped } from "../text/index.ts"

/** Offsets into a source text: from `start` up to, not including, `end`. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** The text is not an expression. Found when it is compiled, never at run time. */
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

/** An operation that its values do not allow. Stays inside: a missing path, `&&` and `||` can absorb it. */
export class Failure extends Error {
  readonly at: Span

  constructor(message: string, at: Span) {
    super(message)
    this.at = at
  }
}

/** What the caller of `evaluate` gets to see of a failure that nothing absorbed. */
export function expressionFailed(source: string, failure: Failure): SuperstepError {
  return new SuperstepError(
    "EXPRESSION_FAILED",
    `The expression ${quotedSource(source)} failed at character ${failure.at.start + 1}: ${failure.message}.`,
    { retryable: false },
  )
}

/** Never absorbed: the expression asked for more than any expression gets. */
export function tooCostly(reason: string): SuperstepError {
  return new SuperstepError("EXPRESSION_TOO_COSTLY", `An expression was stopped: ${reason}.`, {
    retryable: false,
  })
}

const MAX_QUOTED = 200

export function quotedSource(text: string): string {
  return `\`${clipped(text, MAX_QUOTED)}\``
}
