/** What a cassette keeps of a reply, and how it becomes one again: as a whole or as a stream, as it is wanted. */
import type {
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
  SharedV3ProviderMetadata,
} from "@ai-sdk/provider"
import type { Json } from "../core/index.ts"
import type { SecretStripper } from "./cassette-secrets.ts"
import { providerError } from "./provider-error.ts"
import { partsOf } from "./stream-parts.ts"
import { StreamedReply } from "./stream-reply.ts"

export type RecordedReply =
  | { readonly result: Json }
  /** A stream; `broken` is what it broke off with. */
  | { readonly parts: readonly Json[]; readonly broken?: RecordedError | undefined }
  | { readonly error: RecordedError }

/** What those who retry look at; no headers but the one that says when, no bodies. */
interface RecordedError {
  readonly name: string
  readonly message: string
  readonly code?: string | undefined
  readonly statusCode?: number | undefined
  readonly retryable?: boolean | undefined
  readonly retryAfter?: Readonly<Record<string, string>> | undefined
  /** What kind of error the provider called it. */
  readonly data?: Json | undefined
  readonly cause?: RecordedError | undefined
}

/** A reply that is ready to be given. */
export interface ReplayedReply {
  readonly parts: readonly LanguageModelV3StreamPart[]
  /** What the stream breaks off with after its parts. */
  readonly broken?: Error | undefined
  /** All of it; fails as a stream does that has an error in it, or does not come to its end. */
  whole(): LanguageModelV3GenerateResult
}

export function recordedResult(
  result: LanguageModelV3GenerateResult,
  secrets: SecretStripper,
): RecordedReply {
  const { request: _, response, ...rest } = result
  const { headers: _headers, body: _body, ...metadata } = response ?? {}
  return {
    result: secrets.data(plain({ ...rest, ...(response === undefined ? {} : { response: metadata }) })),
  }
}

export function recordedStream(
  parts: readonly LanguageModelV3StreamPart[],
  broken: unknown,
  secrets: SecretStripper,
): RecordedReply {
  const isWhole = broken === undefined
  const kept = parts
    .filter(({ type }) => type !== "raw")
    .map((part) => (part.type === "error" ? { ...part, error: recordedError(part.error, secrets) } : part))
  const data = secrets.data(plain(withoutSplitSecrets(kept, isWhole, secrets))) as readonly Json[]
  return isWhole ? { parts: data } : { parts: data, broken: recordedError(broken, secrets) }
}

const MOST_CAUSES = 3

export function recordedError(error: unknown, secrets: SecretStripper, depth = 0): RecordedError {
  const { name, message, code, statusCode, isRetryable, responseHeaders, data, cause } = Object(error)
  const { code: sentCode, type: sentType } = Object(Object(data).error)
  const sent = [sentCode, sentType].some((mark) => typeof mark === "string")
    ? secrets.data(plain({ error: { code: sentCode, type: sentType } }))
    : undefined
  const headers = Object.entries(Object(responseHeaders) as Record<string, unknown>).filter(
    ([header, value]) => /^retry-after(-ms)?$/i.test(header) && typeof value === "string",
  ) as [string, string][]
  return {
    name: typeof name === "string" && name !== "" ? name : "Error",
    message: secrets.text(typeof message === "string" ? message : String(error)),
    ...(typeof code === "string" || typeof code === "number" ? { code: secrets.text(String(code)) } : {}),
    ...(typeof statusCode === "number" ? { statusCode } : {}),
    ...(typeof isRetryable === "boolean" ? { retryable: isRetryable } : {}),
    ...(headers.length === 0 ? {} : { retryAfter: Object.fromEntries(headers) }),
    ...(sent === undefined ? {} : { data: sent }),
    ...(cause instanceof Error && depth < MOST_CAUSES
      ? { cause: recordedError(cause, secrets, depth + 1) }
      : {}),
  }
}

/** Throws what was recorded as an error. */
export function replayed(reply: RecordedReply, url: string): ReplayedReply {
  if ("error" in reply) throw errorOf(reply.error, url)
  if ("result" in reply) {
    // Recorded by recordedResult.
    const result = revive(reply.result) as LanguageModelV3GenerateResult
    return { parts: partsOf(result), whole: () => result }
  }
  const parts = reply.parts.map((part) => {
    // Recorded by recordedStream.
    const made = revive(part) as LanguageModelV3StreamPart
    return made.type === "error" ? { ...made, error: errorOf(made.error as RecordedError, url) } : made
  })
  const broken = reply.broken === undefined ? undefined : errorOf(reply.broken, url)
  return { parts, broken, whole: () => wholeOf(parts, broken) }
}

function wholeOf(
  parts: readonly LanguageModelV3StreamPart[],
  broken: Error | undefined,
): LanguageModelV3GenerateResult {
  const streamed = new StreamedReply(undefined)
  for (const part of parts) streamed.take(part)
  if (broken !== undefined) throw broken
  const { content, warnings = [], providerMetadata, ...rest } = streamed.answer()
  return {
    ...rest,
    content: [...content],
    warnings: [...warnings],
    ...(providerMetadata === undefined
      ? {}
      : { providerMetadata: providerMetadata as SharedV3ProviderMetadata }),
  }
}

function errorOf(recorded: RecordedError, url: string): Error {
  const { name, message, code, statusCode, retryable, retryAfter, data, cause } = recorded
  const error =
    name === "AI_APICallError"
      ? providerError({ ...recorded, responseHeaders: retryAfter }, url)
      : Object.assign(new Error(message), {
          name,
          ...(code === undefined ? {} : { code }),
          ...(statusCode === undefined ? {} : { statusCode }),
          ...(retryable === undefined ? {} : { isRetryable: retryable }),
          ...(retryAfter === undefined ? {} : { responseHeaders: retryAfter }),
        })
  if (data !== undefined) Object.assign(error, { data })
  if (cause !== undefined) error.cause = errorOf(cause, url)
  return error
}

type Delta = Extract<LanguageModelV3StreamPart, { delta: string }>

/** A secret may come in several pieces. Where the whole has one, its pieces become one. */
function withoutSplitSecrets(
  parts: readonly LanguageModelV3StreamPart[],
  isWhole: boolean,
  secrets: SecretStripper,
): LanguageModelV3StreamPart[] {
  const keyOf = (part: Delta) => `${part.type} ${part.id}`
  const joined = new Map<string, string>()
  for (const part of parts)
    if (isDelta(part)) joined.set(keyOf(part), (joined.get(keyOf(part)) ?? "") + part.delta)
  const clean = new Map<string, string>()
  for (const [key, text] of joined) {
    const stripped = isWhole ? secrets.text(text) : secrets.beginning(text)
    if (stripped !== text) clean.set(key, stripped)
  }
  const given = new Set<string>()
  return parts.flatMap((part) => {
    const delta = isDelta(part) ? clean.get(keyOf(part)) : undefined
    if (delta === undefined || !isDelta(part)) return [part]
    if (given.has(keyOf(part))) return []
    given.add(keyOf(part))
    return [{ ...part, delta }]
  })
}

function isDelta(part: LanguageModelV3StreamPart): part is Delta {
  return "delta" in part
}

/** As JSON: bytes as base64, which providers give as well. */
function plain(value: unknown): Json {
  const text = JSON.stringify(value, function (this: Record<string, unknown>, key, item: unknown) {
    const bytes = this[key]
    return bytes instanceof Uint8Array ? Buffer.from(bytes).toString("base64") : item
  })
  return JSON.parse(text) as Json
}

/** A time is a Date again: in a whole reply, and in the part of a stream that has it. */
function revive(recorded: Json): unknown {
  const value = structuredClone(recorded) as { timestamp?: unknown; response?: { timestamp?: unknown } }
  for (const holder of [value, value.response]) {
    if (typeof holder?.timestamp === "string") holder.timestamp = new Date(holder.timestamp)
  }
  return value
}
