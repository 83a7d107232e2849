/** What an agent's model sees: the system prompt, and its part of the conversation. */
import { SuperstepError, type Usage } from "../core/index.ts"
import type { Message } from "../models/index.ts"
import { mediaProblem, messageText } from "../models/internal.ts"
import type { Context } from "../runtime/index.ts"
import { andThen, type MaybePromise } from "../runtime/internal.ts"
import { type ActiveAgent, type AgentCore, coreOf, type HandedOver } from "./agent-core.ts"
import { inputMessages, textOf, userText } from "./conversation.ts"
import { cutMiddle, fitMessages, lastTurn, tokensOf, windowStart, withinBounds } from "./fit-messages.ts"
import {
  boundsOf,
  chooseMessages,
  type Summarise,
  summarisedHistory,
  summaryMessage,
} from "./history-policy.ts"
import { modelStep } from "./model-step.ts"
import type { ToolTable } from "./step-plan.ts"

/** The agent's instructions, those of its toolsets, and `more`, as one system message; empty if there are none. */
export function systemPrompt(
  { name, options: { instructions } }: AgentCore,
  tools: ToolTable,
  input: unknown,
  ctx: Context,
  more = "",
  handoff?: HandedOver,
): MaybePromise<readonly Message[]> {
  // The result of a function may differ in the next process; the request must not.
  const own =
    typeof instructions === "function"
      ? ctx.step(`instructions:${name}`, async () =>
          checked(name, await instructions(input as never, ctx, handoff)),
        )
      : instructions
  return andThen<string | undefined, readonly Message[]>(own, (text) => {
    const parts = [text ?? "", ...tools.instructions, more].filter((part) => part !== "")
    return parts.length === 0 ? [] : [{ role: "system", content: parts.join("\n\n") }]
  })
}

function checked(agent: string, text: unknown): string {
  if (typeof text === "string") return text
  const message = `Agent "${agent}": its instructions function returned ${text === null ? "null" : typeof text}, not a string.`
  throw new SuperstepError("AGENT_INVALID", message, { retryable: false })
}

/** The messages that the agent's history policy selects. `tokens` is the maximum that the model accepts. */
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
 * Turns tool calls and results into text: some providers refuse them if the agent has no tools. Reasoning belongs to the
 * original call, so it is removed with it.
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

// The agent that spoke last in a conversation that was handed over. A stored conversation marks it on a message, so the
// thread needs no other state; the mark is removed before a provider sees the message.

/** The messages of a task; the last one is marked with the name of the agent that answered. */
export function withSpeaker(messages: readonly Message[], agent: string): readonly Message[] {
  const last = messages.at(-1)
  if (last === undefined) return messages
  const superstep = { ...last.providerOptions?.superstep, speaker: agent }
  return [...messages.slice(0, -1), { ...last, providerOptions: { ...last.providerOptions, superstep } }]
}

/** The name of the agent that spoke last; undefined if no agent took over. */
export function lastSpeaker(messages: readonly Message[]): string | undefined {
  return messages.map(speakerOf).findLast((name) => name !== undefined)
}

function speakerOf({ providerOptions }: Message): string | undefined {
  const speaker = providerOptions?.superstep?.speaker
  return typeof speaker === "string" ? speaker : undefined
}

function withoutSpeakers(messages: readonly Message[]): readonly Message[] {
  if (!messages.some((message) => speakerOf(message) !== undefined)) return messages
  return messages.map((message): Message => {
    if (speakerOf(message) === undefined) return message
    const { providerOptions: { superstep: { speaker: _, ...marks } = {}, ...providers } = {}, ...plain } =
      message
    const own = Object.keys(marks).length === 0 ? {} : { superstep: marks }
    const options = { ...providers, ...own }
    return (Object.keys(options).length === 0 ? plain : { ...plain, providerOptions: options }) as Message
  })
}

/** The agent with this name, if hand-offs can reach it. */
export function reachableAgent(from: AgentCore, name: string): AgentCore | undefined {
  const seen = new Set<string>()
  const queue = [from]
  for (let core = queue.shift(); core !== undefined; core = queue.shift()) {
    if (core.name === name) return core
    if (seen.has(core.name)) continue
    seen.add(core.name)
    queue.push(...core.handoffs().map(coreOf))
  }
  return undefined
}

// Files in the input that none of the agent's models accepts: reported before the run starts, or before the agent's first
// request.

/**
 * Rejects with INPUT_INVALID or MODEL_MEDIA_UNSUPPORTED. Returns undefined if there is nothing to check: the input has no
 * files, or hooks may choose another model or other messages.
 */
export function checkFiles(core: AgentCore, input: unknown): Promise<void> | undefined {
  if (typeof input !== "object" || input === null || !("messages" in input)) return undefined
  const messages = inputMessages(input)
  const files = firstVisible(core, messages).filter(hasFile)
  if (files.length === 0 || hooksMayChoose(core)) return undefined
  return checkModels(core, files)
}

async function checkModels(core: AgentCore, messages: readonly Message[]): Promise<void> {
  let problem: SuperstepError | undefined
  for (const model of await core.models()) {
    const found = mediaProblem(model, messages)
    if (found === undefined) return
    problem ??= found
  }
  if (problem === undefined) return
  const text = `Agent "${core.name}" cannot work on this input: ${problem.message}`
  throw new SuperstepError(problem.code, text, { retryable: false })
}

/** A history policy may leave out all but the newest message. */
function firstVisible({ options: { history } }: AgentCore, messages: readonly Message[]): readonly Message[] {
  if (history === undefined || history === "all") return messages
  return typeof history === "function" ? [] : messages.slice(-1)
}

function hasFile({ role, content }: Message): boolean {
  return role === "user" && content.some(({ type }) => type === "file")
}

function hooksMayChoose({ options }: AgentCore): boolean {
  const { prepareStep, beforeModel, middleware = [], continueWith } = options
  const hooks = [{ prepareStep, beforeModel }, ...middleware]
  return (
    continueWith === "last" ||
    hooks.some((one) => one.prepareStep !== undefined || one.beforeModel !== undefined)
  )
}

// Replaces the older part of a long conversation with a summary, which a model writes once and the journal keeps.

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
