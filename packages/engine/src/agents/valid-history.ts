/**
 * A conversation as every provider takes it. Pure, and the same again when applied to its own result:
 * H1 every tool call has exactly one result, right after the message that made it, in the order of the calls;
 * H2 no result without its call; H3 no two calls with one id; H4 no empty message; H5 the rest stays in its order.
 */
import { freshId } from "../models/fresh-id.ts"
import type { Message } from "../models/index.ts"

type Assistant = Extract<Message, { role: "assistant" }>
type ToolMessage = Extract<Message, { role: "tool" }>
type Call = Extract<Assistant["content"][number], { type: "tool-call" }>
type Result = Extract<ToolMessage["content"][number], { type: "tool-result" }>

const NO_RESULT = "There is no result of this call: it was not made, or its result is lost."

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
      // A call that the first pass does not know repeats another one of its message.
      if (!results.has(part)) continue
      const toolCallId = freshId(part.toolCallId, ids)
      content.push(toolCallId === part.toolCallId ? part : { ...part, toolCallId })
      const result = results.get(part) ?? noResult(part)
      answered.push(result.toolCallId === toolCallId ? result : { ...result, toolCallId })
    }
    valid.push(
      content.length === message.content.length && isSame(content, message)
        ? message
        : { ...message, content },
    )
    if (answered.length > 0) valid.push({ role: "tool", content: answered })
  }
  return valid
}

/** Each call with the first result that comes after it under its id; undefined where there is none. */
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

function isSame(content: Assistant["content"], message: Assistant): boolean {
  return content.every((part, i) => part === message.content[i])
}
