/**
 * Errors as problem+json (RFC 9457). The `code` is the one of docs/errors.md. An error that is not one of ours may quote
 * anything, so its text stays in the log.
 */
import { isSuperstepError } from "@superstep/engine"
import type { Context } from "hono"
import { HTTPException } from "hono/http-exception"
import type { ContentfulStatusCode } from "hono/utils/http-status"

export interface Problem {
  readonly type: "about:blank"
  readonly title: string
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly run?: string | undefined
  /** What is wrong in the request, by place. */
  readonly problems?: readonly { readonly in: string; readonly message: string }[] | undefined
}

const STATUS: Readonly<Record<string, ContentfulStatusCode>> = {
  NOT_ALLOWED: 403,
  DEFINITION_UNKNOWN: 404,
  INDEX_UNKNOWN: 404,
  KEY_UNKNOWN: 404,
  SCHEDULE_UNKNOWN: 404,
  THREAD_UNKNOWN: 404,
  VERSION_UNKNOWN: 404,
  RUN_UNKNOWN: 404,
  WORKFLOW_UNKNOWN: 404,
  WEBHOOK_UNKNOWN: 404,
  DELIVERY_UNKNOWN: 404,
  HOOK_UNKNOWN: 404,
  LINK_UNKNOWN: 404,
  REQUEST_UNKNOWN: 404,
  INPUT_INVALID: 422,
  NOT_SERIALISABLE: 422,
  REQUEST_INVALID: 422,
  OPTION_INVALID: 422,
  FLOW_KEY_INVALID: 422,
  SIGNAL_INVALID: 422,
  SCHEDULE_INVALID: 422,
  DEFINITION_INVALID: 422,
  REPLAY_STUCK: 422,
  SUPERSTEP_UNKNOWN: 422,
  SEQ_UNKNOWN: 422,
  TASK_UNKNOWN: 422,
  NODE_UNKNOWN: 422,
  PATH_UNKNOWN: 422,
  UNKNOWN_CHANNEL: 422,
  OUTPUT_MISSING: 422,
  VALUE_TOO_LARGE: 413,
  SIGNALS_FULL: 429,
  DEFINITION_CONFLICT: 409,
  DEFINITION_READ_ONLY: 409,
  SCHEDULE_TAKEN: 409,
  KEY_BUDGET_USED_UP: 429,
  KEY_PAUSED: 429,
  KEY_QUOTA_USED_UP: 429,
  REQUEST_ANSWERED: 409,
  REQUEST_EXPIRED: 409,
  REQUEST_NOT_OPEN: 409,
  KEY_REVOKED: 409,
  KEY_TAKEN: 409,
  RUN_EXISTS: 409,
  COMMAND_UNKNOWN: 409,
  RUN_HELD: 409,
  RUN_KEPT: 409,
  RUN_OVER: 409,
  RUN_QUARANTINED: 409,
  RUN_NOT_QUARANTINED: 409,
  RUN_NOT_FAILED: 409,
  THREAD_BUSY: 409,
  GRAPH_CHANGED: 409,
  PACKAGE_MISSING: 501,
  AUTH_UNAVAILABLE: 503,
  RUNTIME_CLOSED: 503,
  STORE_AWAY: 503,
  STORE_LOCKED: 503,
  MAIL_UNREAD: 503,
}

const TITLES: Readonly<Record<number, string>> = {
  400: "Bad request",
  401: "Not authenticated",
  403: "Not allowed",
  404: "Not found",
  405: "Method not allowed",
  406: "Not acceptable",
  409: "Conflict",
  413: "Too large",
  415: "Unsupported media type",
  422: "Invalid",
  429: "Too many requests",
  500: "Internal error",
  501: "Not implemented",
  503: "Unavailable",
}

export function problem(
  status: ContentfulStatusCode,
  code: string,
  detail: string,
  more: Pick<Problem, "run" | "problems"> = {},
): Response {
  return responseOf(problemData(status, code, detail, more))
}

/** With more fields, which RFC 9457 allows. */
export function problemWith(
  status: ContentfulStatusCode,
  code: string,
  detail: string,
  more: object,
): Response {
  return responseOf({ ...problemData(status, code, detail), ...more })
}

function problemData(
  status: ContentfulStatusCode,
  code: string,
  detail: string,
  more: Pick<Problem, "run" | "problems"> = {},
): Problem {
  return { type: "about:blank", title: TITLES[status] ?? "Error", status, code, detail, ...more }
}

function responseOf(data: Problem): Response {
  const headers = { "content-type": "application/problem+json" }
  return new Response(JSON.stringify(data), { status: data.status, headers })
}

/** What a handler threw, as a response. `report` gets what the client must not see. */
export function problemOf(error: unknown, report: (error: unknown) => void): Response {
  return responseOf(problemIn(error, report))
}

/** The same as data: one of several results. */
export function problemIn(error: unknown, report: (error: unknown) => void): Problem {
  // Thrown by the framework, for a body that is not JSON.
  if (error instanceof HTTPException)
    return problemData(error.status as ContentfulStatusCode, "REQUEST_INVALID", `${error.message}.`)
  if (isSuperstepError(error)) {
    const status = STATUS[error.code]
    if (status !== undefined) return problemData(status, error.code, error.message, { run: error.run })
  }
  report(error)
  return problemData(500, "INTERNAL", "The server failed to answer. Its log has the cause.")
}

interface Failed {
  readonly success: boolean
  readonly target?: string
  readonly error?: { readonly issues: readonly { readonly path: PropertyKey[]; readonly message: string }[] }
}

/** A message of zod in the words of a person who sends a request. */
export function plainMessage(message: string): string {
  if (message.endsWith("received undefined")) return "Required."
  if (message.endsWith("received NaN")) return "must be a number"
  const [, least] = /^Too small: expected string to have >=(\d+) characters$/.exec(message) ?? []
  if (least !== undefined) return least === "1" ? "must not be empty" : `needs at least ${least} characters`
  const [, most] = /^Too big: expected string to have <=(\d+) characters$/.exec(message) ?? []
  if (most !== undefined) return `must have at most ${most} characters`
  return message
    .replace(/^(?:Invalid input|Invalid option|Too small|Too big): /, "")
    .replaceAll('"|"', '", "')
}

/** For zod-openapi: what is wrong with a request, all at once. */
export function invalidRequest(result: Failed, _: Context): Response | undefined {
  if (result.success || result.error === undefined) return undefined
  const place = result.target === "json" ? "body" : (result.target ?? "request")
  const problems = result.error.issues.map(({ path, message }) => ({
    in: [place, ...path.map(String)].join("."),
    message: plainMessage(message),
  }))
  const first = problems[0]
  const detail = first === undefined ? "The request is not valid." : `${first.in}: ${first.message}`
  return problem(422, "REQUEST_INVALID", detail, { problems })
}
