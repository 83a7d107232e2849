/** Makes the report of what an agent did. */
import type { Message, ModelReply } from "../models/index.ts"
import type { AgentReport, AgentStep } from "../runtime/index.ts"
import type { ToolOutcome } from "../tools/internal.ts"
import { readObject, type ToolCall, textOf } from "./conversation.ts"

export function stepOf(
  agent: string,
  reply: ModelReply,
  calls: readonly ToolCall[],
  outcomes: readonly ToolOutcome[],
): AgentStep {
  const { model, finish: finishReason, usage, content } = reply
  return {
    agent,
    model,
    text: textOf(reply),
    reasoning: content.map((part) => (part.type === "reasoning" ? part.text : "")).join(""),
    finishReason,
    usage,
    sources: content.filter((part) => part.type === "source"),
    calls: calls.map(({ id, name, args }, i) => {
      const outcome = outcomes[i] as ToolOutcome
      const result = outcome.ok ? outcome.value : outcome.error.message
      return { id, name, args: readObject(args), result, ok: outcome.ok }
    }),
  }
}

export function reportOf(
  agent: string,
  lastAgent: string,
  steps: readonly AgentStep[],
  transcript: readonly Message[],
): AgentReport {
  const last = steps.at(-1)
  return {
    agent,
    lastAgent,
    steps: [...steps],
    transcript: [...transcript],
    finishReason: last?.finishReason,
    reasoning: last?.reasoning ?? "",
    sources: steps.flatMap(({ sources }) => sources),
  }
}
