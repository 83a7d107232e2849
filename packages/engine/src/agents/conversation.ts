/** What goes into a conversation: the input of a task, a model's replies, the results of its tool calls. */
import { type Json, SuperstepError } from "../core/index.ts"
import type { Message, ModelReply, ReplyPart } from "../models/index.ts"
import type { ToolOutcome } from "../tools/call-tool.ts"
import { validHistory } from "./valid-history.ts"

type Assistant = Extract<Message, { role: "assistant" }>
type ToolMessage = Extract<Message, { role: "tool" }>
type ProviderOptions = Message["providerOptions"]

export type ToolCall = Extract<ReplyPart, { type: "tool-call" }>

/** A text is what the user says; `{ messages }` is a conversation; anything else is told as JSON. */
export function inputMessages(input: unknown): Message[] {
  if (typeof input === "string") return [userText(input)]
  if (typeof input === "object" && input !== null && "messages" in input && Array.isArray(input.messages)) {
    return validHistory(input.messages.map(readMessage))
  }
  return [userText(JSON.stringify(input, undefined, 2))]
}

export function userText(text: string): Message {
  return { role: "user", content: [{ type: "text", text }] }
}

/** Also takes `content` as plain text, as people write it. */
function readMessage(given: unknown, at: number): Message {
  const { role, content } = (given ?? {}) as { role?: unknown; content?: unknown }
  if (role === "system" && typeof content === "string") return given as Message
  if (role === "user" || role === "assistant") {
    if (typeof content === "string") {
      const parts = content === "" ? [] : [{ type: "text" as const, text: content }]
      return { ...(given as Message), content: parts } as Message
    }
    if (Array.isArray(content)) return given as Message
  }
  if (role === "tool" && Array.isArray(content)) return given as Message
  const text = `Message ${at} of the input is not { role: "system" | "user" | "assistant" | "tool", content }.`
  throw new SuperstepError("INPUT_INVALID", text, { retryable: false })
}

/** A reply as the message it becomes, or undefined when it says nothing. `args` are the calls' arguments, read. */
export function replyMessage(reply: ModelReply, args: ReadonlyMap<string, unknown>): Message | undefined {
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
      case "file":
        content.push({ type: "file", mediaType: part.mediaType, data: part.data })
        break
    }
  }
  return content.length === 0 ? undefined : { role: "assistant", content }
}

/** Providers want back what they said about a part: a signature of the reasoning, for one. */
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

type Output = Extract<ToolMessage["content"][number], { type: "tool-result" }>["output"]
type JsonOutput = Extract<Output, { type: "json" }>["value"]

function outputOf(outcome: ToolOutcome): Output {
  if (!outcome.ok) return { type: "error-text", value: outcome.error.message }
  if (typeof outcome.value === "string") return { type: "text", value: outcome.value }
  return { type: "json", value: outcome.value as JsonOutput }
}

export function toolCallsOf(reply: ModelReply): readonly ToolCall[] {
  return reply.content.filter((part) => part.type === "tool-call")
}

export function textOf(reply: ModelReply): string {
  let text = ""
  for (const part of reply.content) if (part.type === "text") text += part.text
  return text
}

/** Providers take an object; what is none is told to the model in the result. */
export function readObject(args: string): unknown {
  try {
    const parsed: unknown = args.trim() === "" ? {} : JSON.parse(args)
    return typeof parsed === "object" && parsed !== null && !Array.isArray(parsed) ? parsed : {}
  } catch {
    return {}
  }
}

/** The ids of the tool calls in a message. */
export function callsOf(message: Message): string[] {
  if (message.role !== "assistant") return []
  return message.content.flatMap((part) => (part.type === "tool-call" ? [part.toolCallId] : []))
}
