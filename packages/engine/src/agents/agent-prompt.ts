/** What an agent's model gets to see: the system prompt, and its part of the conversation. */
import { SuperstepError } from "../core/index.ts"
import type { Message } from "../models/index.ts"
import { messageText } from "../models/internal.ts"
import type { Context } from "../runtime/index.ts"
import type { AgentCore, HandedOver } from "./agent-core.ts"
import { fitMessages } from "./fit-messages.ts"
import { chooseMessages } from "./history-policy.ts"
import { withoutSpeakers } from "./last-speaker.ts"
import type { ToolTable } from "./tool-table.ts"

/** The agent's instructions, those of its toolsets, and `more`, as one system message; empty where there are none. */
export async function systemPrompt(
  { name, options: { instructions } }: AgentCore,
  tools: ToolTable,
  input: unknown,
  ctx: Context,
  more = "",
  handoff?: HandedOver,
): Promise<readonly Message[]> {
  // What a function says may change from one process to the next; the request must not.
  const own =
    typeof instructions === "function"
      ? await ctx.step(`instructions:${name}`, async () =>
          checked(name, await instructions(input as never, ctx, handoff)),
        )
      : instructions
  const parts = [own ?? "", ...tools.instructions, more].filter((part) => part !== "")
  return parts.length === 0 ? [] : [{ role: "system", content: parts.join("\n\n") }]
}

function checked(agent: string, text: unknown): string {
  if (typeof text === "string") return text
  const message = `Agent "${agent}": its instructions function returned ${text === null ? "null" : typeof text}, not a string.`
  throw new SuperstepError("AGENT_INVALID", message, { retryable: false })
}

/** The messages that the agent's history policy chooses; `tokens`: the maximum that the model accepts. */
export function visibleMessages(
  { options: { history = "all" } }: AgentCore,
  tools: ToolTable,
  messages: readonly Message[],
  tokens?: number,
): readonly Message[] {
  const all = withoutSpeakers(chooseMessages(history, messages))
  const chosen = tokens === undefined ? all : fitMessages(all, tokens)
  return tools.offered === undefined ? toolCallsAsText(chosen) : chosen
}

/**
 * Some providers refuse tool calls and results in a conversation with an agent that has no tools. The reasoning that led
 * to such a call belongs to the call as it was made, and goes with it.
 */
function toolCallsAsText(messages: readonly Message[]): readonly Message[] {
  if (!messages.some(({ role }) => role === "tool")) return messages
  return messages.map((message): Message => {
    if (message.role === "tool") {
      const names = message.content.map((part) => (part.type === "tool-result" ? part.toolName : part.type))
      const text = `[${names.join(", ")} gave] ${messageText(message)}`
      return { role: "user", content: [{ type: "text", text }] }
    }
    if (message.role !== "assistant" || !message.content.some(isOwnCall)) return message
    const content = message.content.flatMap((part) => {
      if (part.type === "text") return [{ type: "text" as const, text: part.text }]
      if (!isOwnCall(part)) return []
      const text = `[called ${part.toolName}(${JSON.stringify(part.input)})]`
      return [{ type: "text" as const, text }]
    })
    return { role: "assistant", content }
  })
}

type Part = Extract<Message, { role: "assistant" }>["content"][number]

function isOwnCall(part: Part): part is Extract<Part, { type: "tool-call" }> {
  return part.type === "tool-call" && part.providerExecuted !== true
}
