/**
 * What a failed call means: whether the same model may do next time, whether another may, and what to tell the user.
 * Errors are known by their looks, not by their class: two copies of a provider package must work. What goes into an
 * error of ours is text without keys; headers, bodies and prompts stay behind.
 */
import { isSuperstepError, SuperstepError } from "../core/index.ts"
import { withoutSecrets } from "./redact.ts"
import { retryAfter } from "./retry-after.ts"

export interface CallFailure {
  /** The same model may answer next time. */
  readonly retry: boolean
  /** Another model may answer. */
  readonly fallback: boolean
  /** Milliseconds that the provider asks to wait. */
  readonly after?: number | undefined
  /** What the call ends with when nothing else helps. */
  error(model: string, attempts: number): SuperstepError
}

interface Kind {
  readonly retry: boolean
  readonly fallback: boolean
  /** After the model's name. */
  readonly says: string
  readonly advice: string
}

const LATER = "Try again later, or give a fallback model."
const KINDS = {
  key: {
    retry: false,
    fallback: true,
    says: "refused the key",
    advice: "Check the key, and what it may be used for.",
  },
  unknownModel: { retry: false, fallback: true, says: "was not found", advice: "Check the model's name." },
  quota: {
    retry: false,
    fallback: true,
    says: "has no quota left",
    advice: "Check the plan and its billing, or give a fallback model.",
  },
  limit: {
    retry: true,
    fallback: true,
    says: "is at its limit",
    advice: "Try again later, set limits for its provider, or give a fallback model.",
  },
  tooLong: {
    retry: false,
    fallback: true,
    says: "cannot take a prompt this long",
    advice: "Shorten the history, or give a fallback model with more room.",
  },
  refused: {
    retry: false,
    fallback: false,
    says: "refused the request",
    advice: "Check the agent's settings, tools and schema.",
  },
  down: { retry: true, fallback: true, says: "failed", advice: LATER },
  network: {
    retry: true,
    fallback: true,
    says: "could not be reached",
    advice: "Check the network and the server's address.",
  },
  garbage: { retry: true, fallback: true, says: "gave an answer that cannot be read", advice: LATER },
  unable: {
    retry: false,
    fallback: true,
    says: "cannot do what it was asked",
    advice: "Give another model, or ask for less.",
  },
  unknown: { retry: false, fallback: true, says: "failed", advice: "See the cause." },
} as const satisfies Record<string, Kind>

const NETWORK =
  /^(ECONN|EPIPE|ENOTFOUND|EAI_|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|UND_ERR|ERR_STREAM_PREMATURE|ERR_HTTP2|AbortError|TimeoutError)/
const GARBAGE =
  /AI_(JSONParseError|TypeValidationError|InvalidResponseDataError|EmptyResponseBodyError|NoContentGeneratedError)/
const TOO_LONG = /context.?length|context window|maximum context|prompt is too long|too many tokens/i
const QUOTA = /insufficient_quota|current quota|billing|credit balance/i

/** An error of the engine keeps its code, and says itself whether trying again helps. */
export function callFailure(error: unknown, now: number): CallFailure {
  if (isSuperstepError(error)) {
    const again = error.retryable === true
    return { retry: again, fallback: again, error: () => error }
  }
  const face = faceOf(error)
  const what = kindOf(face)
  const kind: Kind = KINDS[what]
  const after = retryAfter(face.headers, now)
  // A provider may know better than its status tells; of an answer that it could not read it knows nothing.
  const retry = kind.retry && (face.isRetryable !== false || what === "garbage")
  return {
    retry,
    fallback: kind.fallback,
    after,
    error(model, attempts) {
      const status = face.status === undefined ? "" : ` (${face.status})`
      const tries = attempts > 1 ? ` after ${attempts} attempts` : ""
      const text = `${model} ${kind.says}${status}${tries}: ${face.message} ${kind.advice}`
      return new SuperstepError("MODEL_FAILED", text, { cause: plainCause(error), retryable: retry })
    },
  }
}

interface Face {
  readonly status: number | undefined
  readonly isRetryable: boolean | undefined
  readonly headers: unknown
  readonly message: string
  /** Names, codes and types, of the error and of what the provider sent. */
  readonly marks: string
  /** The same of its causes. */
  readonly codes: readonly string[]
}

function faceOf(error: unknown): Face {
  const chain = causes(error)
  const marks: string[] = []
  for (const one of chain) {
    marks.push(...strings(one.name, one.code, one.type))
    const sent = record(record(one.data)?.error)
    marks.push(...strings(sent?.code, sent?.type))
  }
  const top = chain[0]
  return {
    status: number(top?.statusCode) ?? number(top?.status) ?? number(top?.code),
    isRetryable: typeof top?.isRetryable === "boolean" ? top.isRetryable : undefined,
    headers: top?.responseHeaders,
    message: sentence(messageOf(error)),
    marks: marks.join(" "),
    codes: marks,
  }
}

function kindOf({ status, isRetryable, message, marks, codes }: Face): keyof typeof KINDS {
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
  if (status >= 500 || status === 408 || status === 409 || isRetryable === true) return "down"
  return status === 413 || TOO_LONG.test(words) ? "tooLong" : "refused"
}

/** Without a status: errors that come inside a stream, and those of a provider package. */
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

/** The chain of causes as data: what a log prints of it has no headers, bodies or keys. */
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
  return typeof error === "string" && error !== "" ? error : "it did not say why"
}

function sentence(text: string): string {
  const short = clean(text)
  return /[.!?…]$/.test(short) ? short : `${short}.`
}

function clean(text: string): string {
  const plain = withoutSecrets(text).trim().replace(/\s+/g, " ")
  return plain.length > MAX_MESSAGE ? `${plain.slice(0, MAX_MESSAGE)}…` : plain
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
