/** A long conversation with its older part told in a few sentences, which a model writes once and the journal keeps. */
import type { Usage } from "../core/index.ts"
import { callModel, type Message } from "../models/index.ts"
import { messageText } from "../models/prompt-text.ts"
import { type AgentCore, modelList } from "./agent-core.ts"
import type { Guard } from "./agent-limits.ts"
import type { Place } from "./agent-loop.ts"
import { textOf, userText } from "./conversation.ts"
import type { Summarise } from "./history-policy.ts"
import { validHistory } from "./valid-history.ts"

interface Summary {
  readonly text: string
  readonly model: string
  readonly usage: Usage
}

const TASK =
  "Summarise the conversation for somebody who goes on with it: what was asked, what was found and done, what is decided, what is still open. Keep names, numbers and sources. Answer with the summary alone."

/** The messages, shortened when there are too many of them. */
export async function summarised(
  policy: Summarise,
  messages: Message[],
  core: AgentCore,
  guards: Iterable<Guard>,
  place: Place,
  signal: AbortSignal,
): Promise<Message[]> {
  if (messages.length <= policy.after) return messages
  const start = turnStart(messages, messages.length - (policy.keep ?? Math.floor(policy.after / 2)))
  const asked = messages.findLastIndex(({ role }) => role === "user")
  const old = messages.filter(({ role }, at) => at < start && at !== asked && role !== "system")
  if (old.length < 2) return messages
  const summary = await write(policy, old, core, guards, place, signal)
  return validHistory([
    ...messages.filter(({ role }, at) => at < start && role === "system"),
    userText(`A summary of the conversation so far:\n\n${summary}`),
    ...messages.filter((_, at) => at >= start || at === asked),
  ])
}

/** Calls and their results are not parted. */
function turnStart(messages: readonly Message[], wanted: number): number {
  let start = Math.min(wanted, messages.length - 1)
  while (start > 0 && messages[start]?.role === "tool") start--
  return start
}

async function write(
  policy: Summarise,
  old: readonly Message[],
  core: AgentCore,
  guards: Iterable<Guard>,
  { ctx }: Place,
  signal: AbortSignal,
): Promise<string> {
  const { name: agent } = core
  const ask = async (): Promise<Summary> => {
    ctx.checkBudget()
    for (const guard of guards) guard.checkModelCall(ctx)
    const models = await (policy.model === undefined ? core.models() : modelList(policy.model)())
    const task = policy.instructions === undefined ? TASK : `${TASK} ${policy.instructions}`
    const call = {
      prompt: [{ role: "system" as const, content: task }, userText(old.map(told).join("\n\n"))],
      caller: { agent, ordinal: ctx.usedBy(agent).modelCalls ?? 0 },
    }
    const reply = await callModel(models, call, { ...core.options.calling, signal, clock: ctx.clock })
    return { text: textOf(reply), model: reply.model, usage: reply.usage }
  }
  const { text } = await ctx.step("summary", ask, {
    usage: ({ usage }) => usage,
    source: ({ model }) => ({ agent, model }),
  })
  return text
}

function told(message: Message): string {
  return `${message.role}: ${messageText(message)}`
}
