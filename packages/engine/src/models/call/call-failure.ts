/**
 * Classifies a failed call: whether to retry the same model, whether to fall back to another, and the message for the
 * user. Errors are recognized by their fields, not by their class, because a program may have two copies of a provider
 * package. The engine's errors contain text without keys, and never headers, bodies or prompts.
 */
import { isSuperstepError, SuperstepError } from "../../core/index.ts"
import { omitUndefined } from "../../core/internal.ts"
import { clipped } from "../../text/index.ts"
import { withoutSecrets } from "../redact.ts"

export interface CallFailure {
  /** Whether a retry of the same model may succeed. */
  readonly retry: boolean
  /** Whether another model may succeed. */
  readonly fallback: boolean
  /** The wait that the provider requests, in milliseconds. */
  readonly after?: number | undefined
  /** Whether the request was sent to the provider. */
  readonly isSent: boolean
  /** Whether the provider may have processed the request: it did not refuse it. */
  readonly isServed: boolean
  /** The error of the call if no retry and no fallback succeeds. */
  error(model: string, attempts: number): SuperstepError
}

/** Whether to retry, whether to fall back, what happened, and advice for the user. */
type Kind = readonly [retry: boolean, fallback: boolean, did: string, advice: string]

const LATER = "Try again later, or set a fallback model."
const KINDS = {
  key: [false, true, "refused the key", "Check the key and its permissions."],
  unknownModel: [false, true, "was not found", "Check the model's name."],
  quota: [false, true, "has no quota left", "Check the plan and its billing, or set a fallback model."],
  limit: [
    true,
    true,
    "is rate limited",
    "Try again later, set limits for its provider, or set a fallback model.",
  ],
  tooLong: [
    false,
    true,
    "cannot accept a prompt this long",
    "Shorten the history, or set a fallback model with a larger context window.",
  ],
  refused: [false, false, "refused the request", "Check the agent's settings, tools and schema."],
  down: [true, true, "failed", LATER],
  network: [true, true, "could not be reached", "Check the network and the server's address."],
  garbage: [true, true, "returned an unreadable answer", LATER],
  unable: [false, true, "cannot do what it was asked", "Use another model, or ask for less."],
  unknown: [false, true, "failed", "See the cause."],
} as const satisfies Record<string, Kind>

const NETWORK =
  /^(ECONN|EPIPE|ENOTFOUND|EAI_|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|UND_ERR|ERR_STREAM_PREMATURE|ERR_HTTP2|AbortError|TimeoutError)/
/** No connection: the provider does not know of the request. */
const UNREACHABLE = /^(ECONNREFUSED|ENOTFOUND|EAI_|ENETUNREACH|EHOSTUNREACH|UND_ERR_CONNECT)/
const GARBAGE =
  /AI_(JSONParseError|TypeValidationError|InvalidResponseDataError|EmptyResponseBodyError|NoContentGeneratedError)/
const TOO_LONG =
  /context.?(?:length|window|limit)|maximum context|(?:prompt|input) is too long|too many (?:input )?tokens|token count.*exceeds/i
const QUOTA = /insufficient_quota|current quota|billing|credit balance/i

/** An error of the engine keeps its code and its own `retryable`. */
export function callFailure(error: unknown, now: number): CallFailure {
  if (isSuperstepError(error)) {
    const again = error.retryable === true
    const fallback = again || error.code === "MODEL_MEDIA_UNSUPPORTED"
    // Among the engine's errors, only timeouts are retried; the others occur before a request is sent.
    return { retry: again, fallback, isSent: again, isServed: again, error: () => error }
  }
  const fields = fieldsOf(error)
  const kind = kindOf(fields)
  const [mayRetry, fallback, did, advice]: Kind = KINDS[kind]
  // A provider package's own `isRetryable` overrides the status, except for an answer that it could not read.
  const retry = mayRetry && (fields.isRetryable !== false || kind === "garbage")
  const isRefused = fields.status !== undefined && fields.status >= 400
  const isUnreachable = fields.codes.some((code) => UNREACHABLE.test(code))
  return {
    retry,
    fallback,
    isSent: isRefused || (kind !== "unable" && kind !== "key"),
    isServed: !isRefused && !isUnreachable && kind !== "unable" && kind !== "key",
    after: retryAfter(fields.headers, now),
    error(model, attempts) {
      const status = fields.status === undefined ? "" : ` (${fields.status})`
      const tries = attempts > 1 ? ` after ${attempts} attempts` : ""
      const text = `${model} ${did}${status}${tries}: ${fields.message} ${advice}`
      const code = kind === "tooLong" ? "CONTEXT_OVERFLOW" : "MODEL_FAILED"
      return new SuperstepError(code, text, { cause: plainCause(error), retryable: retry })
    },
  }
}

interface ErrorFields {
  readonly status: number | undefined
  readonly isRetryable: boolean | undefined
  readonly headers: unknown
  readonly message: string
  /** Names, codes and types of the error, of its causes and of the provider's response. */
  readonly codes: readonly string[]
}

function fieldsOf(error: unknown): ErrorFields {
  const chain = causes(error)
  const codes: string[] = []
  for (const one of chain) {
    codes.push(...strings(one.name, one.code, one.type))
    const sent = record(record(one.data)?.error)
    codes.push(...strings(sent?.code, sent?.type))
  }
  const top = chain[0]
  return {
    status: number(top?.statusCode) ?? number(top?.status) ?? number(top?.code),
    isRetryable: typeof top?.isRetryable === "boolean" ? top.isRetryable : undefined,
    headers: top?.responseHeaders,
    message: sentence(messageOf(error)),
    codes,
  }
}

function kindOf({ status, isRetryable, message, codes }: ErrorFields): keyof typeof KINDS {
  const marks = codes.join(" ")
  const words = `${marks} ${message}`
  if (/content_filter|content_policy/i.test(marks)) return "refused"
  if (status === undefined || status < 400) {
    if (codes.some((code) => NETWORK.test(code)) || /fetch failed|terminated|socket hang up/i.test(message))
      return "network"
    if (GARBAGE.test(marks) || status !== undefined) return "garbage"
    return isRetryable === true ? "down" : kindOfWords(words, marks)
  }
  if (status === 401 || status === 403) return "key"
  if (status === 402) return "quota"
  if (status === 404) return "unknownModel"
  if (status === 429) return QUOTA.test(words) ? "quota" : "limit"
  if (isTransient(status) || isRetryable === true) return "down"
  return status === 413 || TOO_LONG.test(words) ? "tooLong" : "refused"
}

/** For errors without a status: errors inside a stream, and those of a provider package. */
function kindOfWords(words: string, marks: string): keyof typeof KINDS {
  if (QUOTA.test(marks)) return "quota"
  if (/authentication|permission|api_key|LoadAPIKey/i.test(marks)) return "key"
  if (/not_found|NoSuchModel/i.test(marks)) return "unknownModel"
  if (TOO_LONG.test(words)) return "tooLong"
  if (/rate_limit|overloaded/i.test(marks)) return "limit"
  if (/UnsupportedFunctionality/.test(marks)) return "unable"
  if (/invalid_request|AI_Invalid/i.test(marks)) return "refused"
  return /server_error|api_error|unavailable/i.test(marks) ? "down" : "unknown"
}

/** The chain of causes without headers, bodies and keys: safe to log. */
function plainCause(error: unknown): SuperstepError {
  let made: SuperstepError | undefined
  for (const one of causes(error).reverse()) {
    const status = number(one.statusCode)
    const [code = "ERROR"] = strings(one.code, status === undefined ? undefined : `HTTP_${status}`, one.name)
    made = new SuperstepError(code, clean(messageOf(one)), made === undefined ? {} : { cause: made })
  }
  return made ?? new SuperstepError("ERROR", clean(messageOf(error)))
}

const MAX_CAUSES = 5
const MAX_MESSAGE = 500

function causes(error: unknown): Record<string, unknown>[] {
  const chain: Record<string, unknown>[] = []
  let one = record(error)
  while (one !== undefined && chain.length < MAX_CAUSES) {
    chain.push(one)
    one = record(one.cause)
  }
  return chain
}

function messageOf(error: unknown): string {
  const { message } = record(error) ?? {}
  if (typeof message === "string" && message.trim() !== "") return message
  return typeof error === "string" && error !== "" ? error : "no reason was reported"
}

function sentence(text: string): string {
  const short = clean(text)
  return /[.!?…]$/.test(short) ? short : `${short}.`
}

function clean(text: string): string {
  const plain = withoutSecrets(text).trim().replace(/\s+/g, " ")
  return clipped(plain, MAX_MESSAGE)
}

function record(value: unknown): Record<string, unknown> | undefined {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined
}

function number(value: unknown): number | undefined {
  return typeof value === "number" && value >= 100 && value < 600 ? value : undefined
}

function strings(...values: unknown[]): string[] {
  return values.filter((value) => typeof value === "string" && value !== "") as string[]
}

/** The wait that the provider requests in its headers: milliseconds from `now`, or undefined. */
export function retryAfter(headers: unknown, now: number): number | undefined {
  const milliseconds = header(headers, "retry-after-ms")
  if (milliseconds !== undefined && /^\d+(\.\d+)?$/.test(milliseconds)) return Math.ceil(Number(milliseconds))
  const value = header(headers, "retry-after")
  if (value === undefined) return undefined
  if (/^\d+(\.\d+)?$/.test(value)) return Math.ceil(Number(value) * 1_000)
  // A date; `Date.parse` alone would accept "-1" and "1 2".
  const at = /^[A-Za-z]{3,9},? /.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}

/** Ignores the case of names. `headers` is a plain object or a `Headers`. */
function header(headers: unknown, name: string): string | undefined {
  if (typeof headers !== "object" || headers === null) return undefined
  const entries = headers instanceof Headers ? headers.entries() : Object.entries(headers)
  for (const [key, value] of entries) {
    if (key.toLowerCase() === name && typeof value === "string") return value.trim()
  }
  return undefined
}

const MARK = Symbol.for("vercel.ai.error.AI_APICallError")
const FAMILY = Symbol.for("vercel.ai.error")

interface ProviderFailure {
  readonly message: string
  readonly code?: string | undefined
  readonly statusCode?: number | undefined
  /** Default: true for the statuses 408, 409, 429, and 500 and above. */
  readonly retryable?: boolean | undefined
  readonly responseHeaders?: Readonly<Record<string, string>> | undefined
}

/** An error like that of a provider package: `AI_APICallError.isInstance` accepts it. */
export function providerError(failure: ProviderFailure, url: string): Error {
  const { message, code, statusCode, responseHeaders } = failure
  const error = new Error(message)
  error.name = "AI_APICallError"
  return Object.assign(error, {
    [MARK]: true,
    [FAMILY]: true,
    url,
    requestBodyValues: {},
    isRetryable: failure.retryable ?? (statusCode !== undefined && isTransient(statusCode)),
    ...omitUndefined({ code, statusCode, responseHeaders }),
  })
}

function isTransient(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500
}
