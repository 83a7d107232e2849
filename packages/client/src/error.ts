/** What a server refuses, as an object: recognise it by `code`, which docs/errors.md lists. */
import type { Problem } from "./generated/routes.ts"

export class ApiError extends Error {
  override readonly name = "ApiError"
  readonly status: number
  readonly code: string
  /** The run that the error concerns. */
  readonly run: string | undefined
  /** What is wrong in the request, by place. */
  readonly problems: Problem["problems"]
  /** How often the request was sent. After a retry, REQUEST_ANSWERED may be about your own answer. */
  readonly attempts: number
  /** Milliseconds that the server asks to wait; undefined: it does not say. */
  readonly retryAfter: number | undefined

  constructor(problem: Partial<Problem>, status: number, attempts: number, retryAfter: number | undefined) {
    super(problem.detail ?? `The server answered with status ${status}.`)
    this.status = status
    this.code = problem.code ?? "HTTP"
    this.run = problem.run
    this.problems = problem.problems
    this.attempts = attempts
    this.retryAfter = retryAfter
  }
}

export async function errorOf(response: Response, attempts: number): Promise<ApiError> {
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN)
  const problem: unknown = await response.json().catch(() => undefined)
  return new ApiError(
    typeof problem === "object" && problem !== null ? problem : {},
    response.status,
    attempts,
    Number.isFinite(seconds) ? seconds * 1_000 : undefined,
  )
}
