/** Replaces the older part of a long conversation with a summary, which a model writes once and the journal keeps. */
import type { Usage } from "../core/index.ts"
import type { Message } from "../models/index.ts"
import { messageText } from "../models/internal.ts"
import type { ActiveAgent } from "./agent-core.ts"
import { textOf, userText } from "./conversation.ts"
import { cutMiddle, lastTurn, tokensOf, windowStart, withinBounds } from "./fit-messages.ts"
import { boundsOf, type Summarise, summarisedHistory, summaryMessage } from "./history-policy.ts"
import { modelStep } from "./model-step.ts"

interface Summary {
  readonly text: string
  readonly model: string
  readonly usage: Usage
}

const TASK =
  "Summarise the conversation for somebody who continues it: what was asked, what was found and done, what is decided, what is still open. Keep names, numbers and sources. Answer with the summary alone."

/** The maximum number of tokens to summarise, if the policy does not count tokens. */
const TRANSCRIPT = 100_000

/** A summary of the older messages, or undefined if the conversation is not too long. `isForced` skips that check. */
export async function summaryOf(
  policy: Summarise,
  messages: readonly Message[],
  { core, scope, guards }: ActiveAgent,
  isForced = false,
): Promise<Message | undefined> {
  const { summary, rest } = summarisedHistory(messages)
  const before = summary === undefined ? [] : [summary]
  if (!isForced && !isTooLong(policy, before, rest)) return undefined
  const start = turnStart(rest, isForced ? lastTurn(rest) : keptFrom(policy, rest))
  if (start < 2) return undefined
  const { tokens = TRANSCRIPT } = policy
  const old = withinBounds([...before, ...rest.slice(0, start)], boundsOf({ ...policy, tokens }))
  const content = policy.instructions === undefined ? TASK : `${TASK} ${policy.instructions}`
  const written = old.map((message) => `${message.role}: ${messageText(message)}`).join("\n\n")
  const transcript = cutMiddle(written, tokens)
  const { text } = await modelStep<Summary>({
    name: "summary",
    core,
    scope,
    guards,
    models: core.summariser,
    asked: { prompt: [{ role: "system", content }, userText(transcript)] },
    keep: (reply) => ({ text: textOf(reply), model: reply.model, usage: reply.usage }),
  })
  // An empty summary must not replace anything.
  return text.trim() === "" ? undefined : summaryMessage(text, rest.length - start)
}

function isTooLong(
  { after, tokens }: Summarise,
  before: readonly Message[],
  rest: readonly Message[],
): boolean {
  if (after !== undefined && rest.length > after) return true
  if (tokens === undefined) return false
  // A single long message is cut instead of summarised.
  const most = Math.ceil(tokens / 2)
  return [...before, ...rest].reduce((sum, message) => sum + Math.min(tokensOf(message), most), 0) > tokens
}

/** The index of the first message that is not summarised. */
function keptFrom({ after, tokens, keep }: Summarise, rest: readonly Message[]): number {
  if (keep !== undefined) return rest.length - keep
  if (tokens !== undefined) return windowStart(rest, Math.floor(tokens / 2))
  return rest.length - Math.floor((after ?? 0) / 2)
}

/** Calls and their results stay together. */
function turnStart(messages: readonly Message[], wanted: number): number {
  let start = Math.min(wanted, messages.length - 1)
  while (start > 0 && messages[start]?.role === "tool") start--
  return start
}
