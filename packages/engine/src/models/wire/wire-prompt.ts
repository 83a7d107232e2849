/**
 * The messages of a call in the form that its provider takes. A conversation is plain data that any model may continue;
 * what only one provider understands is adapted here, right before the request.
 *
 * W1 reasoning goes back to the model that wrote it alone, unchanged, and never without what it led to.
 * W2 a call that the provider made itself goes back to that provider alone.
 * W3 files have the form that the interface takes; where it takes none, the call fails before a request is made.
 * W4 ids of tool calls have characters and a length that every provider accepts.
 */
import { createHash } from "node:crypto"
import type { LanguageModelV3CallOptions } from "@ai-sdk/provider"
import { omitUndefined } from "../../core/internal.ts"
import { type Message, type Model, modelName, settingsOf } from "../model.ts"
import { interfaceOf, type ModelInterface } from "./model-interface.ts"
import { fileFor, resultFor } from "./wire-files.ts"

type Assistant = Extract<Message, { role: "assistant" }>
type Part = Assistant["content"][number]

export function wirePrompt(model: Model, prompt: readonly Message[]): Message[] {
  const name = modelName(model)
  const via = interfaceOf(model)
  const messages = prompt.flatMap((message): Message[] => {
    const { own, writer } = withoutMark(message)
    switch (own.role) {
      case "system":
        return [own]
      case "user": {
        const content = own.content.map((part) => (part.type === "file" ? fileFor(model, via, part) : part))
        return [{ ...own, content: via === "messages" ? withoutBlanks(content) : content }]
      }
      case "assistant": {
        const content = assistantParts(own.content, via, writer === undefined || writer === name)
        return content.length === 0 ? [] : [{ ...own, content }]
      }
      case "tool":
        return resultMessages(own, via)
    }
  })
  return via === "messages" ? userFirst(messages) : messages
}

/** Anthropic takes instructions at the start alone, and a conversation that begins with the user. */
function userFirst(messages: readonly Message[]): Message[] {
  const system = messages.filter(({ role }) => role === "system")
  const rest = messages.filter(({ role }) => role !== "system")
  const start: Message = { role: "user", content: [{ type: "text", text: "(The conversation begins.)" }] }
  return [...system, ...(rest[0]?.role === "assistant" ? [start] : []), ...rest]
}

type UserContent = Extract<Message, { role: "user" }>["content"]

/** Anthropic refuses text without a character. */
function withoutBlanks(content: UserContent): UserContent {
  const written = content.filter((part) => part.type !== "text" || part.text.trim() !== "")
  return written.length === 0 ? [{ type: "text", text: "(empty)" }] : written
}

/** The engine's own mark, which says who wrote a message, stays here. */
function withoutMark(message: Message): { readonly own: Message; readonly writer: unknown } {
  const { providerOptions } = message
  if (providerOptions?.superstep === undefined) return { own: message, writer: undefined }
  const { superstep, ...rest } = providerOptions
  const options = Object.keys(rest).length === 0 ? undefined : rest
  return { own: omitUndefined({ ...message, providerOptions: options }) as Message, writer: superstep.model }
}

function assistantParts(content: readonly Part[], via: ModelInterface, isOwn: boolean): Part[] {
  const parts = content.flatMap((part): Part[] => {
    if (part.type === "reasoning") return isOwn ? [part] : []
    if (isProviders(part)) return isOwn && via !== "chat" ? [part] : []
    if (part.type === "text" && part.text.trim() === "" && via === "messages") return []
    const kept = isOwn ? part : withoutOptions(part)
    return [kept.type === "tool-call" ? { ...kept, toolCallId: portableId(kept.toolCallId, via) } : kept]
  })
  // Reasoning that led to nothing: the reply was cut off.
  while (parts.at(-1)?.type === "reasoning") parts.pop()
  return parts
}

/** Part of a call that the provider executed. */
function isProviders(part: Part): boolean {
  return part.type === "tool-result" || (part.type === "tool-call" && part.providerExecuted === true)
}

/** Ids of items at the provider that wrote the part. */
function withoutOptions(part: Part): Part {
  const { providerOptions: _, ...rest } = part
  return rest as Part
}

function resultMessages(message: Extract<Message, { role: "tool" }>, via: ModelInterface): Message[] {
  const files: UserContent = []
  const content = message.content.map((part) => {
    if (part.type !== "tool-result") return part
    const { output, aside } = resultFor(via, part.output)
    files.push(...aside)
    return { ...part, toolCallId: portableId(part.toolCallId, via), output }
  })
  const results: Message = { ...message, content }
  return files.length === 0 ? [results] : [results, { role: "user", content: files }]
}

const MAX_ID = 40
const PORTABLE = /^[A-Za-z0-9_-]{1,40}$/

/** Ids come from whichever model made the call; not every provider accepts those of another. */
function portableId(id: string, via: ModelInterface): string {
  if (via === "other" || PORTABLE.test(id)) return id
  const mark = createHash("sha256").update(id).digest("hex").slice(0, 8)
  return `${id.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, MAX_ID - mark.length - 1)}_${mark}`
}

type ProviderOptions = LanguageModelV3CallOptions["providerOptions"]

/**
 * Anthropic refuses to think on in a turn whose thinking is missing, be it that another model began the turn or that the
 * thinking held a secret: such a turn ends without thinking.
 */
export function wireThinking(
  model: Model,
  prompt: readonly Message[],
  options: ProviderOptions,
): { readonly prompt: readonly Message[]; readonly providerOptions: ProviderOptions } {
  const isOn = thinkingOf(options) ?? thinkingOf(settingsOf(model).providerOptions)
  if (interfaceOf(model) !== "messages" || isOn !== "enabled" || prompt.at(-1)?.role !== "tool") {
    return { prompt, providerOptions: options }
  }
  const asked = prompt.findLastIndex(({ role }) => role === "user")
  const first = prompt.find(({ role }, at) => at > asked && role === "assistant") as Assistant | undefined
  const [start] = first?.content ?? []
  if (start?.type === "reasoning" && start.providerOptions?.anthropic !== undefined) {
    return { prompt, providerOptions: options }
  }
  const rest = prompt.map((message, at): Message => {
    if (at <= asked || message.role !== "assistant") return message
    return { ...message, content: message.content.filter(({ type }) => type !== "reasoning") }
  })
  const anthropic = { ...options?.anthropic, thinking: { type: "disabled" } }
  return { prompt: rest, providerOptions: { ...options, anthropic } }
}

function thinkingOf(options: ProviderOptions): unknown {
  const { thinking } = options?.anthropic ?? {}
  return typeof thinking === "object" && thinking !== null && "type" in thinking ? thinking.type : undefined
}
