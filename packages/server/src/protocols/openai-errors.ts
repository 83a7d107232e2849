/** Problems of the OpenAI routes in OpenAI's shape, wherever they arise: in the check of a key, a limit, a schema, a handler. */
import type { MiddlewareHandler } from "hono"
import type { Env } from "../access.ts"
import type { Problem } from "../problem.ts"

/** With all that is below them. */
export const OPENAI_PATHS = ["/v1/models/*", "/v1/chat/completions/*", "/v1/responses/*"]

export interface OpenAiError {
  readonly message: string
  readonly type: string
  readonly param: string | null
  readonly code: string
}

export const openAiErrors: MiddlewareHandler<Env> = async (c, next) => {
  await next()
  if (c.res.headers.get("content-type") !== "application/problem+json") return
  const { status, code, detail, problems } = (await c.res.json()) as Problem
  const headers = new Headers(c.res.headers)
  headers.set("content-type", "application/json")
  const param = problems?.[0]?.in.replace(/^body\./, "") ?? null
  const error: OpenAiError = { message: detail, type: typeOf(status), param, code }
  c.res = undefined
  c.res = new Response(JSON.stringify({ error }), { status, headers })
}

function typeOf(status: number): string {
  if (status === 429) return "rate_limit_error"
  return status >= 500 ? "server_error" : "invalid_request_error"
}

export interface ErrorCode {
  readonly code: string
  readonly message: string
}

/** The error of a run, or of the server that follows it. */
export function runError(error: ErrorCode): OpenAiError {
  return { message: error.message, type: "server_error", param: null, code: error.code }
}
