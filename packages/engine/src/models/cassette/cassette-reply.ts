/** The recorded form of a reply, and its replay as a whole or as a stream. */
import type {
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
  SharedV3ProviderMetadata,
} from "@ai-sdk/provider"
import type { Json } from "../../core/index.ts"
import { omitUndefined } from "../../core/internal.ts"
import { providerError } from "../call/call-failure.ts"
import { partsOf, StreamedReply } from "../call/reply-stream.ts"
import type { SecretStripper } from "../redact.ts"

export type RecordedReply =
  | { readonly result: Json }
  /** A stream; `broken` is the error with which it ended. */
  | { readonly parts: readonly Json[]; readonly broken?: RecordedError | undefined }
  | { readonly error: RecordedError }

/** The parts of an error that a retry depends on: no bodies, and no headers except `retry-after`. */
interface RecordedError {
  readonly name: string
  readonly message: string
  readonly code?: string | undefined
  readonly statusCode?: number | undefined
  readonly retryable?: boolean | undefined
  readonly retryAfter?: Readonly<Record<string, string>> | undefined
  /** The provider's own kind of error. */
  readonly data?: Json | undefined
  readonly cause?: RecordedError | undefined
}

/** A recorded reply, ready to replay. */
export interface ReplayedReply {
  readonly parts: readonly LanguageModelV3StreamPart[]
  /** The error with which the stream ends after its parts. */
  readonly broken?: Error | undefined
  /** The complete reply. Throws if the stream contains an error or is incomplete. */
  whole(): LanguageModelV3GenerateResult
}

export function recordedResult(
  result: LanguageModelV3GenerateResult,
  secrets: SecretStripper,
): RecordedReply {
  const { request: _, response, ...rest } = result
  const { headers: _headers, body: _body, ...metadata } = response ?? {}
  const kept = response === undefined ? rest : { ...rest, response: metadata }
  return { result: secrets.json(kept, base64) }
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
  const data = secrets.json(withoutSplitSecrets(kept, isWhole, secrets), base64) as readonly Json[]
  return isWhole ? { parts: data } : { parts: data, broken: recordedError(broken, secrets) }
}

const MAX_CAUSES = 3

export function recordedError(error: unknown, secrets: SecretStripper, depth = 0): RecordedError {
  const { name, message, code, statusCode, isRetryable, responseHeaders, data, cause } = Object(error)
  const { code: sentCode, type: sentType } = Object(Object(data).error)
  const hasKind = typeof sentCode === "string" || typeof sentType === "string"
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
    ...(hasKind && { data: secrets.json({ error: { code: sentCode, type: sentType } }, base64) }),
    ...(cause instanceof Error && depth < MAX_CAUSES && { cause: recordedError(cause, secrets, depth + 1) }),
  }
}

/** Throws if the recorded reply is an error. */
export function replayed(reply: RecordedReply, url: string): ReplayedReply {
  if ("error" in reply) throw errorOf(reply.error, url)
  if ("result" in reply) {
    // Recorded by recordedResult.
    const result = restoreDates(reply.result) as LanguageModelV3GenerateResult
    return { parts: partsOf(result), whole: () => result }
  }
  const parts = reply.parts.map((part) => {
    // Recorded by recordedStream.
    const made = restoreDates(part) as LanguageModelV3StreamPart
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
    ...(providerMetadata !== undefined && {
      providerMetadata: providerMetadata as SharedV3ProviderMetadata,
    }),
  }
}

function errorOf(recorded: RecordedError, url: string): Error {
  const { name, message, code, statusCode, retryable, retryAfter, data, cause } = recorded
  const error =
    name === "AI_APICallError"
      ? providerError({ ...recorded, responseHeaders: retryAfter }, url)
      : Object.assign(new Error(message), {
          name,
          ...omitUndefined({ code, statusCode, isRetryable: retryable, responseHeaders: retryAfter }),
        })
  if (data !== undefined) Object.assign(error, { data })
  if (cause !== undefined) error.cause = errorOf(cause, url)
  return error
}

type Delta = Extract<LanguageModelV3StreamPart, { delta: string }>

/** A secret may be split over several pieces. If the joined text contains one, its pieces are merged. */
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
    const stripped = isWhole ? secrets.text(text) : secrets.prefix(text)
    if (stripped !== text) clean.set(key, stripped)
  }
  const written = new Set<string>()
  return parts.flatMap((part) => {
    const delta = isDelta(part) ? clean.get(keyOf(part)) : undefined
    if (delta === undefined || !isDelta(part)) return [part]
    if (written.has(keyOf(part))) return []
    written.add(keyOf(part))
    return [{ ...part, delta }]
  })
}

function isDelta(part: LanguageModelV3StreamPart): part is Delta {
  return "delta" in part
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64")
}

/** Restores timestamps to `Date`, in a whole reply and in the parts of a stream. */
function restoreDates(recorded: Json): unknown {
  const value = structuredClone(recorded) as { timestamp?: unknown; response?: { timestamp?: unknown } }
  for (const holder of [value, value.response]) {
    if (typeof holder?.timestamp === "string") holder.timestamp = new Date(holder.timestamp)
  }
  return value
}
