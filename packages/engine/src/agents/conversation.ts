/** The messages of a conversation: a task's input, a model's replies, the results of its tool calls. */
import type { JSONValue } from "@ai-sdk/provider"
import { type Json, SuperstepError } from "../core/index.ts"
import { hasSameItems } from "../core/internal.ts"
import type { Message, ModelReply, ReplyPart } from "../models/index.ts"
import { freshId } from "../models/internal.ts"
import { contentParts, readPart, type ToolOutcome } from "../tools/internal.ts"

type Assistant = Extract<Message, { role: "assistant" }>
type ToolMessage = Extract<Message, { role: "tool" }>
type UserPart = Extract<Message, { role: "user" }>["content"][number]
type ProviderOptions = Message["providerOptions"]
type Call = Extract<Assistant["content"][number], { type: "tool-call" }>
type Result = Extract<ToolMessage["content"][number], { type: "tool-result" }>

type ContentPart = Extract<Result["output"], { type: "content" }>["value"][number]

export type ToolCall = Extract<ReplyPart, { type: "tool-call" }>

/** A string is the user's message; `{ messages }` is a conversation; anything else becomes JSON. */
export function inputMessages(input: unknown): Message[] {
  if (typeof input === "string") return [userText(input)]
  if (typeof input === "object" && input !== null && "messages" in input && Array.isArray(input.messages)) {
    return validHistory(input.messages.map(inputMessage))
  }
  return [userText(JSON.stringify(input, undefined, 2))]
}

export function userText(text: string): Message {
  return { role: "user", content: [{ type: "text", text }] }
}

/** Accepts `content` as a plain string too. Undefined if the value is not a message. */
export function readMessage(raw: unknown): Message | undefined {
  const { role, content } = Object(raw) as { role?: unknown; content?: unknown }
  if (role === "system" && typeof content === "string") return raw as Message
  if (role === "user" || role === "assistant") {
    if (typeof content === "string") {
      const parts = content === "" ? [] : [{ type: "text" as const, text: content }]
      return { ...(raw as Message), content: parts } as Message
    }
    if (Array.isArray(content)) return raw as Message
  }
  return role === "tool" && Array.isArray(content) ? (raw as Message) : undefined
}

function inputMessage(raw: unknown, at: number): Message {
  const message = readMessage(raw)
  if (message === undefined) {
    throw inputInvalid(
      `Message ${at} of the input is not { role: "system" | "user" | "assistant" | "tool", content }.`,
    )
  }
  if (message.role !== "user") return message
  const content = message.content.map((part: unknown, index) => {
    const read = readPart(part)
    if (typeof read !== "string") return read as UserPart
    throw inputInvalid(`Part ${index} of message ${at} of the input is invalid: ${read}.`)
  })
  return { ...message, content }
}

function inputInvalid(text: string): SuperstepError {
  return new SuperstepError("INPUT_INVALID", text, { retryable: false })
}

/** The input of a run, with bytes and URLs in its messages converted to plain data. */
export function plainInput<In>(input: In): In {
  const { messages } = Object(input) as { messages?: unknown }
  if (!Array.isArray(messages) || !messages.some((message) => hasBytes(Object(message).content))) return input
  return { ...input, messages: messages.map(plainMessage) }
}

/** An invalid message is kept as plain data: the check of the input reports it. */
function plainMessage(raw: unknown, at: number): unknown {
  try {
    return inputMessage(raw, at)
  } catch {
    return plainData(raw)
  }
}

function plainData(value: unknown, depth = 0): unknown {
  if (value instanceof URL) return value.href
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64")
  if (value instanceof ArrayBuffer) return Buffer.from(value).toString("base64")
  if (typeof value !== "object" || value === null || depth > 4) return value
  if (Array.isArray(value)) return value.map((one) => plainData(one, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plainData(one, depth + 1)]))
}

/** Whether a part contains bytes, at any depth. */
function hasBytes(value: unknown, depth = 0): boolean {
  if (value instanceof Uint8Array || value instanceof ArrayBuffer || value instanceof URL) return true
  if (typeof value !== "object" || value === null || depth > 3) return false
  return Object.values(value).some((one) => hasBytes(one, depth + 1))
}

const NO_ARGS: ReadonlyMap<string, unknown> = new Map()

/** The message of a reply; undefined if the reply is empty. `args` are the parsed arguments of its calls. */
export function replyMessage(
  reply: ModelReply,
  args: ReadonlyMap<string, unknown> = NO_ARGS,
): Message | undefined {
  const content: Assistant["content"] = []
  for (const part of reply.content) {
    switch (part.type) {
      case "text":
        if (part.text !== "") content.push({ type: "text", text: part.text, ...optionsOf(part) })
        break
      case "reasoning":
        content.push({ type: "reasoning", text: part.text, ...optionsOf(part) })
        break
      case "tool-call":
        content.push({
          type: "tool-call",
          toolCallId: part.id,
          toolName: part.name,
          input: args.get(part.id) ?? {},
          ...optionsOf(part),
        })
        break
      case "provider-call":
        content.push({
          type: "tool-call",
          toolCallId: part.id,
          toolName: part.name,
          input: readObject(part.args),
          providerExecuted: true,
          ...optionsOf(part),
        })
        break
      case "provider-result": {
        const type = part.isError === true ? "error-json" : "json"
        const output = { type, value: part.result as JSONValue } as const
        content.push({
          type: "tool-result",
          toolCallId: part.id,
          toolName: part.name,
          output,
          ...optionsOf(part),
        })
        break
      }
      case "file":
        content.push({ type: "file", mediaType: part.mediaType, data: part.data })
        break
    }
  }
  if (content.length === 0) return undefined
  // A provider accepts its metadata only from the model that wrote it.
  const isBound = reply.content.some(
    (part) => part.type !== "source" && ("providerMetadata" in part || part.type === "provider-call"),
  )
  const mark = { providerOptions: { superstep: { model: reply.model } } }
  return { role: "assistant", content, ...(isBound && mark) }
}

/** Providers expect their metadata of a part back, such as the signature of reasoning. */
function optionsOf(part: { readonly providerMetadata?: Json | undefined }): {
  providerOptions?: NonNullable<ProviderOptions>
} {
  if (part.providerMetadata === undefined) return {}
  return { providerOptions: part.providerMetadata as NonNullable<ProviderOptions> }
}

export function resultsMessage(calls: readonly ToolCall[], outcomes: readonly ToolOutcome[]): Message {
  const content: ToolMessage["content"] = calls.map(({ id, name }, i) => ({
    type: "tool-result",
    toolCallId: id,
    toolName: name,
    output: outputOf(outcomes[i] as ToolOutcome),
  }))
  return { role: "tool", content }
}

function outputOf(outcome: ToolOutcome): Result["output"] {
  if (!outcome.ok) return { type: "error-text", value: outcome.error.message }
  if (typeof outcome.value === "string") return { type: "text", value: outcome.value }
  const parts = contentParts(outcome.value)
  if (parts !== undefined) return { type: "content", value: parts.map(resultPart) }
  return { type: "json", value: outcome.value as JSONValue }
}

function resultPart(part: NonNullable<ReturnType<typeof contentParts>>[number]): ContentPart {
  if (part.type === "text") return part
  const { data, mediaType, filename } = part
  const isImage = mediaType.startsWith("image/")
  if (/^https?:/i.test(data)) return { type: isImage ? "image-url" : "file-url", url: data }
  if (isImage) return { type: "image-data", data, mediaType }
  return { type: "file-data", data, mediaType, ...(filename !== undefined && { filename }) }
}

export function toolCallsOf(reply: ModelReply): readonly ToolCall[] {
  return reply.content.filter((part) => part.type === "tool-call")
}

export function textOf(reply: ModelReply): string {
  let text = ""
  for (const part of reply.content) if (part.type === "text") text += part.text
  return text
}

/** Providers accept only objects. The result of the tool call reports the problem to the model. */
export function readObject(args: string): unknown {
  try {
    const parsed: unknown = args.trim() === "" ? {} : JSON.parse(args)
    return typeof parsed === "object" && parsed !== null && !Array.isArray(parsed) ? parsed : {}
  } catch {
    return {}
  }
}

/** The arguments that the model sees again: its own, or those that a person edited. */
export function visibleArgs(
  calls: readonly ToolCall[],
  edited: ReadonlyMap<string, unknown> = NO_ARGS,
): Map<string, unknown> {
  return new Map(calls.map(({ id, args }) => [id, edited.get(id) ?? readObject(args)]))
}

/** A turn whose tool calls are in progress, with the results so far. */
export interface PendingTurn {
  readonly reply: ModelReply
  readonly outcomes: readonly (ToolOutcome | undefined)[]
}

/** Its messages: calls without a result get a placeholder. */
export function pendingMessages(turn: PendingTurn | undefined): Message[] {
  if (turn === undefined) return []
  const calls = toolCallsOf(turn.reply)
  const said = replyMessage(turn.reply, visibleArgs(calls))
  const isDone = (_: unknown, i: number) => turn.outcomes[i] !== undefined
  const done = resultsMessage(calls.filter(isDone), turn.outcomes.filter(isDone) as ToolOutcome[])
  return said === undefined ? [] : validHistory([said, done])
}

/** The ids of the tool calls in a message. */
export function callsOf(message: Message): string[] {
  if (message.role !== "assistant") return []
  return message.content.flatMap((part) => (part.type === "tool-call" ? [part.toolCallId] : []))
}

const NO_RESULT = "This call has no result: it was not made, or its result was lost."

/**
 * Converts messages to a conversation that every provider accepts. Pure and idempotent:
 * H1 every tool call has exactly one result, right after the message that made it, in the order of the calls;
 * H2 no result without its call; H3 no two calls with one id; H4 no empty message; H5 the rest stays in its order.
 */
export function validHistory(messages: readonly Message[]): Message[] {
  const results = matchResults(messages)
  const ids = new Set<string>()
  const valid: Message[] = []
  for (const message of messages) {
    if (message.role === "tool" || message.content.length === 0) continue
    if (message.role !== "assistant") {
      valid.push(message)
      continue
    }
    const answered: Result[] = []
    const content: Assistant["content"] = []
    for (const part of message.content) {
      if (part.type !== "tool-call" || part.providerExecuted) {
        content.push(part)
        continue
      }
      // A call that is not in the map has the id of another call in its message.
      if (!results.has(part)) continue
      const toolCallId = freshId(part.toolCallId, ids)
      content.push(toolCallId === part.toolCallId ? part : { ...part, toolCallId })
      const result = results.get(part) ?? noResult(part)
      answered.push(result.toolCallId === toolCallId ? result : { ...result, toolCallId })
    }
    valid.push(hasSameItems(content, message.content) ? message : { ...message, content })
    if (answered.length > 0) valid.push({ role: "tool", content: answered })
  }
  return valid
}

/** Maps each call to the first later result with its id; undefined if there is none. */
function matchResults(messages: readonly Message[]): Map<Call, Result | undefined> {
  const found = new Map<Call, Result | undefined>()
  const open = new Map<string, Call>()
  for (const message of messages) {
    if (message.role === "assistant") {
      const own = new Set<string>()
      for (const part of message.content) {
        if (part.type !== "tool-call" || part.providerExecuted || own.has(part.toolCallId)) continue
        own.add(part.toolCallId)
        found.set(part, undefined)
        open.set(part.toolCallId, part)
      }
    }
    if (message.role !== "tool") continue
    for (const part of message.content) {
      if (part.type !== "tool-result") continue
      const call = open.get(part.toolCallId)
      if (call === undefined) continue
      open.delete(part.toolCallId)
      found.set(call, part)
    }
  }
  return found
}

function noResult({ toolCallId, toolName }: Call): Result {
  return { type: "tool-result", toolCallId, toolName, output: { type: "error-text", value: NO_RESULT } }
}
