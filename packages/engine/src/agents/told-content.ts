/**
 * What was said, for spans of users who asked for it: JSON in the shape that OpenTelemetry's conventions for generative AI
 * have for messages, without keys and without the bytes of files.
 */
import type { Message, ModelReply, ReplyPart } from "../models/index.ts"
import { withoutSecrets } from "../models/redact.ts"
import type { ModelCallOutcome } from "../runtime/index.ts"
import { readObject } from "./conversation.ts"

type Part = Exclude<Message["content"], string>[number]
type ToldPart = Readonly<Record<string, unknown>> & { readonly type: string }

/** Instructions are told apart from the conversation. */
export function toldPrompt(prompt: readonly Message[]): Pick<ModelCallOutcome, "instructions" | "input"> {
  const instructions: ToldPart[] = []
  const input: { role: string; parts: ToldPart[] }[] = []
  for (const message of prompt) {
    if (message.role === "system") instructions.push({ type: "text", content: message.content })
    else input.push({ role: message.role, parts: message.content.map(toldPart) })
  }
  return {
    ...(instructions.length === 0 ? {} : { instructions: toldJson(instructions) }),
    input: toldJson(input),
  }
}

function toldPart(part: Part): ToldPart {
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

export function toldReply({ content, finish }: ModelReply): string {
  return toldJson([{ role: "assistant", parts: content.map(toldReplyPart), finish_reason: FINISH[finish] }])
}

function toldReplyPart(part: ReplyPart): ToldPart {
  switch (part.type) {
    case "text":
    case "reasoning":
      return { type: part.type, content: part.text }
    case "tool-call":
      return { type: "tool_call", id: part.id, name: part.name, arguments: readObject(part.args) }
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
  "tool-calls": "tool_call",
  error: "error",
  other: "other",
}

/** Keys are looked for in every text by itself, and then beside the names that they have in the JSON. */
export function toldJson(value: unknown): string {
  const json = JSON.stringify(value, (_, one) => (typeof one === "string" ? withoutSecrets(one) : one))
  return withoutSecrets(json ?? "null")
}
