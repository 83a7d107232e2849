/**
 * Finds the recording for a request.
 *
 * Strict: the caller's next recording, if its request is the same. Each agent has its own order, because the order of
 * parallel agents varies. Lenient: the same request; otherwise the same agent's call with the same ordinal, or one with
 * the same last user message. Among equal matches, one that was not used yet.
 */

import { createHash } from "node:crypto"
import type {
  LanguageModelV3CallOptions,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
  SharedV3ProviderMetadata,
} from "@ai-sdk/provider"
import type { Json } from "../../core/index.ts"
import { canonicalJson, omitUndefined } from "../../core/internal.ts"
import { clipped } from "../../text/index.ts"
import { providerError } from "../call/call-failure.ts"
import { partsOf, StreamedReply } from "../call/reply-stream.ts"
import { type CalledBy, type Message, messageText, quotedExcerpt, ReplyCursor } from "../model.ts"
import type { SecretStripper } from "../redact.ts"

export type CassetteMatch = "strict" | "lenient"

export interface Recording {
  /**
   * The number of the call. Calls are numbered in the order in which they began; lines have the order in which they
   * ended.
   */
  readonly call: number
  readonly agent: string
  readonly ordinal?: number | undefined
  /** `provider/model`. */
  readonly model: string
  readonly request: RecordedRequest
  readonly reply: RecordedReply
}

export interface Asked extends CalledBy {
  /** `provider/model`, if known. */
  readonly model?: string | undefined
  readonly request: RecordedRequest
}

type Found =
  | { readonly recording: Recording }
  /** There are no further recordings. */
  | { readonly atEnd: true; readonly why: string }
  /** The recording is of a different request. */
  | { readonly atEnd: false; readonly why: string }

export class RecordingFinder {
  readonly #recordings: Recording[]
  readonly #match: CassetteMatch
  readonly #cursors = new Map<string, ReplyCursor>()
  readonly #used = new Set<Recording>()
  readonly #calls = new Map<string, number>()

  constructor(recordings: readonly Recording[], match: CassetteMatch) {
    this.#recordings = [...recordings]
    this.#match = match
  }

  find(asked: Asked): Found {
    return this.#match === "strict" ? this.#next(asked) : this.#fitting(asked)
  }

  /** Adds a call that has just been recorded, as used. */
  add(recording: Recording, asked: Asked): void {
    this.#recordings.push(recording)
    this.#used.add(recording)
    this.#cursor(asked).advancePast(this.#of(asked).length - 1)
  }

  #of({ agent, model }: Asked): Recording[] {
    return this.#recordings.filter(
      (recording) => recording.agent === agent && (model === undefined || recording.model === model),
    )
  }

  #cursor({ agent }: Asked): ReplyCursor {
    const cursor = this.#cursors.get(agent) ?? new ReplyCursor()
    this.#cursors.set(agent, cursor)
    return cursor
  }

  #next(asked: Asked): Found {
    const own = this.#of(asked)
    const cursor = this.#cursor(asked)
    const index = cursor.indexFor(asked.ordinal, (calls) => {
      const found = own.findIndex(({ ordinal }) => ordinal !== undefined && ordinal >= calls)
      return found < 0 ? own.length : found
    })
    const recording = own[index]
    if (recording === undefined) return { atEnd: true, why: this.#explainMiss(asked, own) }
    if (recording.request.hash !== asked.request.hash) {
      const why = `Call ${index + 1} on it differs: ${difference(recording.request, asked.request)}.`
      return { atEnd: false, why }
    }
    cursor.advancePast(index)
    return { recording }
  }

  #fitting(asked: Asked): Found {
    const { agent, model, request } = asked
    const ordinal = asked.ordinal ?? this.#calls.get(agent) ?? 0
    this.#calls.set(agent, (this.#calls.get(agent) ?? 0) + 1)
    const said = lastUserMessage(request)
    let best: { readonly recording: Recording; readonly score: number } | undefined
    for (const recording of this.#recordings) {
      if (model !== undefined && recording.model !== model) continue
      const isSame = recording.request.hash === request.hash
      const isTurn = recording.agent === agent && (recording.ordinal ?? recording.call) === ordinal
      const isSameText = said !== undefined && lastUserMessage(recording.request) === said
      if (!isSame && !isTurn && !isSameText) continue
      const score =
        (isSame ? 32 : 0) +
        (isTurn ? 16 : 0) +
        (isSameText ? 8 : 0) +
        (recording.agent === agent ? 4 : 0) +
        (this.#used.has(recording) ? 0 : 1)
      // Among equally used ones, the last: a retried call succeeded in the end.
      const isBetter = best === undefined || score > best.score || (score === best.score && score % 2 === 0)
      if (isBetter) best = { recording, score }
    }
    if (best === undefined) return { atEnd: true, why: this.#explainMiss(asked, this.#of(asked)) }
    this.#used.add(best.recording)
    return { recording: best.recording }
  }

  #explainMiss(asked: Asked, own: readonly Recording[]): string {
    const nearest = nearestTo(asked.request, own.length > 0 ? own : this.#recordings)
    const has = `It has ${own.length} of ${this.#recordings.length} calls by this caller`
    if (nearest === undefined) return `${has}.`
    return `${has}; compared with the closest one, ${difference(nearest.request, asked.request)}.`
  }
}

/** The recording that shares the most messages with a request. */
function nearestTo(request: RecordedRequest, recordings: readonly Recording[]): Recording | undefined {
  const hashes = new Set(request.messages.map(({ hash }) => hash))
  let nearest: Recording | undefined
  let most = -1
  for (const recording of recordings) {
    const { messages } = recording.request
    const shared = messages.filter(({ hash }) => hashes.has(hash)).length
    const closeness = shared - Math.abs(messages.length - request.messages.length) / 1_000
    if (closeness > most) {
      nearest = recording
      most = closeness
    }
  }
  return nearest
}

/** A hash that identifies the request, and enough of its content to show differences. */
export interface RecordedRequest {
  readonly hash: string
  readonly messages: readonly RecordedMessage[]
  /** Hash by name. */
  readonly tools: Readonly<Record<string, string>>
  /** All other settings of the request. */
  readonly settings: Readonly<Record<string, Json>>
}

interface RecordedMessage {
  readonly role: string
  readonly hash: string
  /** The beginning of each message, and more of the last ones: every request contains all earlier messages. */
  readonly text: string
}

const LAST = 3
const MAX_LENGTH = 1_000
const MAX_BEFORE_LENGTH = 80

/** Without parts that differ between machines: headers, signals, the caller. */
export function recordedRequest(
  options: LanguageModelV3CallOptions,
  secrets: SecretStripper,
): RecordedRequest {
  const { prompt, tools = [], headers: _, abortSignal: _signal, includeRawChunks: _raw, ...rest } = options
  const { superstep: _caller, ...providerOptions } = rest.providerOptions ?? {}
  const messages = prompt.map((message, index) => {
    const clean = secrets.json(message, hashBytes)
    // Strips secrets from each part, and again from the combined text, in which parts may form a secret.
    const text = secrets.text(messageText(clean as unknown as Message))
    const most = index >= prompt.length - LAST ? MAX_LENGTH : MAX_BEFORE_LENGTH
    const hash = short(clean)
    return { role: message.role, hash, text: clipped(text, most) }
  })
  const settings = secrets.json({ ...rest, providerOptions }, hashBytes) as Record<string, Json>
  if (Object.keys(providerOptions).length === 0) delete settings.providerOptions
  const { responseFormat } = settings as { responseFormat?: { readonly schema?: Json } }
  if (responseFormat?.schema !== undefined) {
    settings.responseFormat = { ...responseFormat, schema: short(responseFormat.schema) }
  }
  const request = {
    messages,
    tools: Object.fromEntries(tools.map((tool) => [tool.name, short(secrets.json(tool, hashBytes))])),
    settings,
  }
  const identity = { ...request, messages: messages.map(({ role, hash }) => [role, hash]) }
  return { hash: sha256(canonical(identity)).slice(0, 32), ...request }
}

function lastUserMessage({ messages }: RecordedRequest): string | undefined {
  return messages.findLast(({ role }) => role === "user")?.hash
}

/** Describes the differences between two requests; for messages, only the first difference. */
function difference(then: RecordedRequest, now: RecordedRequest): string {
  const found: string[] = []
  const length = Math.max(then.messages.length, now.messages.length)
  for (let index = 0; index < length && found.length === 0; index++) {
    const [was, is] = [then.messages[index], now.messages[index]]
    if (was?.hash === is?.hash && was?.role === is?.role) continue
    const number = `message ${index + 1}`
    if (was === undefined) found.push(`${number} is new: ${printed(is)}`)
    else if (is === undefined) found.push(`${number} is gone: ${printed(was)}`)
    else found.push(`${number} was ${printed(was, is)} and is ${printed(is, was)}`)
  }
  for (const name of new Set([...Object.keys(then.tools), ...Object.keys(now.tools)])) {
    if (then.tools[name] === now.tools[name]) continue
    const how =
      then.tools[name] === undefined ? "is new" : now.tools[name] === undefined ? "is gone" : "has changed"
    found.push(`tool "${name}" ${how}`)
  }
  for (const name of new Set([...Object.keys(then.settings), ...Object.keys(now.settings)])) {
    const [was, is] = [canonical(then.settings[name]), canonical(now.settings[name])]
    if (was !== is) found.push(`${name} was ${clipped(was, 120)} and is ${clipped(is, 120)}`)
  }
  return found.join("; ") || "nothing visible: the cassette may have been edited"
}

/** Starts shortly before the first character that differs. */
function printed(message: RecordedMessage | undefined, other?: RecordedMessage): string {
  if (message === undefined) return "nothing"
  let same = 0
  if (other !== undefined) {
    while (same < message.text.length && message.text[same] === other.text[same]) same++
  }
  const from = same > 40 && same < message.text.length ? same - 20 : 0
  return `${quotedExcerpt(`${from > 0 ? "…" : ""}${message.text.slice(from)}`, 120)} (${message.role})`
}

function short(value: Json): string {
  return sha256(canonical(value)).slice(0, 12)
}

function sha256(text: string | Uint8Array): string {
  return createHash("sha256").update(text).digest("hex")
}

/** Images are replaced by their hash. */
function hashBytes(bytes: Uint8Array): Json {
  return { bytes: sha256(bytes) }
}

function canonical(value: Json | undefined): string {
  return value === undefined ? "not set" : canonicalJson(value)
}

// The recorded form of a reply, and its replay as a whole or as a stream.

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
