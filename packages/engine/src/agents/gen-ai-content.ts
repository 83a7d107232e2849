/**
 * Prompts and replies for spans, where the user asks for content: JSON in the shape of OpenTelemetry's conventions for
 * generative AI, without keys and without the bytes of files.
 */
import type { Message, ModelReply, ReplyPart } from "../models/index.ts"
import { withoutSecrets } from "../models/internal.ts"
import type { ModelCallOutcome } from "../runtime/index.ts"
import { readObject } from "./conversation.ts"

type Part = Exclude<Message["content"], string>[number]
type GenAiPart = Readonly<Record<string, unknown>> & { readonly type: string }

/** Instructions are separate from the conversation. */
export function genAiPrompt(prompt: readonly Message[]): Pick<ModelCallOutcome, "instructions" | "input"> {
  const instructions: GenAiPart[] = []
  const input: { role: string; parts: GenAiPart[] }[] = []
  for (const message of prompt) {
    if (message.role === "system") instructions.push({ type: "text", content: message.content })
    else input.push({ role: message.role, parts: message.content.map(promptPart) })
  }
  return {
    ...(instructions.length === 0 ? {} : { instructions: genAiJson(instructions) }),
    input: genAiJson(input),
  }
}

function promptPart(part: Part): GenAiPart {
  switch (part.type) {
    case "text":
    case "reasoning":
      return { type: part.type, content: part.text }
    case "tool-call":
      return { type: "tool_call", id: part.toolCallId, name: part.toolName, arguments: part.input }
    case "tool-result": {
      const { output } = part
      const response = "value" in output ? output.value : `denied ${output.reason ?? ""}`.trim()
      return { type: "tool_call_response", id: part.toolCallId, response }
    }
    case "file":
      return { type: "attachment", mime_type: part.mediaType, name: part.filename }
    default:
      return { type: part.type }
  }
}

export function genAiReply({ content, finish }: ModelReply): string {
  return genAiJson([{ role: "assistant", parts: content.map(replyPart), finish_reason: FINISH[finish] }])
}

function replyPart(part: ReplyPart): GenAiPart {
  switch (part.type) {
    case "text":
    case "reasoning":
      return { type: part.type, content: part.text }
    case "tool-call":
      return { type: "tool_call", id: part.id, name: part.name, arguments: readObject(part.args) }
    case "provider-call":
      return { type: "tool_call", id: part.id, name: part.name, arguments: readObject(part.args) }
    case "provider-result":
      return { type: "tool_call_response", id: part.id, response: part.result }
    case "file":
      return { type: "attachment", mime_type: part.mediaType }
    case "source":
      return { type: "source", id: part.id, title: part.title, uri: part.url }
  }
}

const FINISH: Readonly<Record<ModelReply["finish"], string>> = {
  stop: "stop",
  length: "length",
  "content-filter": "content_filter",
  refusal: "refusal",
  empty: "stop",
  pause: "pause",
  "tool-calls": "tool_call",
  error: "error",
  other: "other",
}

/** Keys are searched in every string by itself, and then next to their names in the JSON. Files are named, not included. */
export function genAiJson(value: unknown): string {
  const json = JSON.stringify(value, function (this: { readonly mediaType?: unknown }, key, one) {
    if (key === "data" && typeof this.mediaType === "string" && !/^https?:/.test(String(one)))
      return undefined
    return typeof one === "string" ? withoutSecrets(one) : one
  })
  return withoutSecrets(json ?? "null")
}
