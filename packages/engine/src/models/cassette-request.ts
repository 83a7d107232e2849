/** What a cassette keeps of a request: a hash to know it by, and enough of it to tell what has changed. */
import { createHash } from "node:crypto"
import type { LanguageModelV3CallOptions } from "@ai-sdk/provider"
import type { Json } from "../core/index.ts"
import type { SecretStripper } from "./cassette-secrets.ts"
import type { Message } from "./model.ts"
import { messageText, quoted } from "./prompt-text.ts"

export interface RecordedRequest {
  readonly hash: string
  readonly messages: readonly RecordedMessage[]
  /** Hash by name. */
  readonly tools: Readonly<Record<string, string>>
  /** Everything else that was asked for. */
  readonly settings: Readonly<Record<string, Json>>
}

interface RecordedMessage {
  readonly role: string
  readonly hash: string
  /** The beginning, and more of the last ones: every request has all the messages before it in it. */
  readonly text: string
}

const LAST = 3
const LONGEST = 1_000
const LONGEST_BEFORE = 80

/** Without what differs from machine to machine: headers, signals, who calls. */
export function recordedRequest(
  options: LanguageModelV3CallOptions,
  secrets: SecretStripper,
): RecordedRequest {
  const { prompt, tools = [], headers: _, abortSignal: _signal, includeRawChunks: _raw, ...rest } = options
  const { superstep: _caller, ...providerOptions } = rest.providerOptions ?? {}
  const messages = prompt.map((message, index) => {
    const clean = secrets.data(plain(message))
    // Still a message, but for its secrets; what several parts say together is looked at once more.
    const text = secrets.text(messageText(clean as unknown as Message))
    const most = index >= prompt.length - LAST ? LONGEST : LONGEST_BEFORE
    const hash = short(clean)
    return { role: message.role, hash, text: text.length > most ? `${text.slice(0, most)}…` : text }
  })
  const settings = secrets.data(plain({ ...rest, providerOptions })) as Record<string, Json>
  if (Object.keys(providerOptions).length === 0) delete settings.providerOptions
  const { responseFormat } = settings as { responseFormat?: { readonly schema?: Json } }
  if (responseFormat?.schema !== undefined) {
    settings.responseFormat = { ...responseFormat, schema: short(responseFormat.schema) }
  }
  const request = {
    messages,
    tools: Object.fromEntries(tools.map((tool) => [tool.name, short(secrets.data(plain(tool)))])),
    settings,
  }
  const identity = { ...request, messages: messages.map(({ role, hash }) => [role, hash]) }
  return { hash: sha256(canonical(identity)).slice(0, 32), ...request }
}

export function lastUserMessage({ messages }: RecordedRequest): string | undefined {
  return messages.findLast(({ role }) => role === "user")?.hash
}

/** What a request has that another had not, in words; the first difference between their messages says most. */
export function difference(then: RecordedRequest, now: RecordedRequest): string {
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
    if (was !== is) found.push(`${name} was ${cut(was)} and is ${cut(is)}`)
  }
  return found.join("; ") || "nothing that can be told: the cassette may have been edited"
}

/** Starts shortly before the first character that differs. */
function printed(message: RecordedMessage | undefined, other?: RecordedMessage): string {
  if (message === undefined) return "nothing"
  let same = 0
  if (other !== undefined) {
    while (same < message.text.length && message.text[same] === other.text[same]) same++
  }
  const from = same > 40 && same < message.text.length ? same - 20 : 0
  return `${quoted(`${from > 0 ? "…" : ""}${message.text.slice(from)}`, 120)} (${message.role})`
}

function cut(text: string): string {
  return text.length > 120 ? `${text.slice(0, 120)}…` : text
}

function short(value: Json): string {
  return sha256(canonical(value)).slice(0, 12)
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex")
}

/** As JSON: bytes by their hash, so that a picture is known but not kept. */
function plain(value: unknown): Json {
  const text = JSON.stringify(value, function (this: Record<string, unknown>, key, item: unknown) {
    // A Buffer has become something else already.
    const bytes = this[key]
    return bytes instanceof Uint8Array ? { bytes: createHash("sha256").update(bytes).digest("hex") } : item
  })
  return text === undefined ? null : (JSON.parse(text) as Json)
}

/** The same text for the same data, whatever the order of its fields. */
function canonical(value: unknown): string {
  if (value === undefined) return "not set"
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${fields.map(([name, item]) => `${JSON.stringify(name)}:${canonical(item)}`).join()}}`
}
