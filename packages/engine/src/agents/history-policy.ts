/**
 * How much of a long conversation a model gets to see. The conversation itself is kept whole; a policy chooses, and what
 * it chooses is made valid for providers. System messages, and what the user said last, are always part of it. Summaries
 * are for `summarise`, which goes on from the latest, also in a later run; every other policy chooses from what was said.
 */
import { SuperstepError } from "../core/index.ts"
import { estimateInput, type Message, type ModelRef } from "../models/index.ts"
import { sinceSummary, withoutSummaries } from "./summary-message.ts"
import { validHistory } from "./valid-history.ts"

export type HistoryPolicy = "all" | LastItems | TokenWindow | Summarise | ChooseMessages

export interface LastItems {
  readonly kind: "last-items"
  readonly items: number
}

export interface TokenWindow {
  readonly kind: "token-window"
  readonly tokens: number
}

export interface Summarise extends SummariseOptions {
  readonly kind: "summarise"
}

export interface SummariseOptions {
  /** More messages than this, since the last summary, and the older ones become a new one. */
  readonly after: number
  /** How many of the newest stay as they are, fewer than `after`. Default: half of it. */
  readonly keep?: number | undefined
  /** Who writes the summary. Default: the agent's own model. */
  readonly model?: ModelRef | readonly ModelRef[] | undefined
  /** What the summary is to hold on to, in words. */
  readonly instructions?: string | undefined
}

/** A choice of your own. It must give the same for the same messages, and what it gives is made valid. */
export type ChooseMessages = (messages: readonly Message[]) => readonly Message[]

/** The newest messages, so many. */
export function lastItems(items: number): LastItems {
  return { kind: "last-items", items: atLeastOne("lastItems", items) }
}

/** The newest messages, as many as fit. Tokens are estimated by length. */
export function tokenWindow(tokens: number): TokenWindow {
  return { kind: "token-window", tokens: atLeastOne("tokenWindow", tokens) }
}

/** The older messages become a summary, which a model writes and the journal keeps. */
export function summarise(options: SummariseOptions): Summarise {
  const { keep = 0 } = options
  const after = atLeastOne("summarise: after", options.after)
  if (!(Number.isSafeInteger(keep) && keep >= 0 && keep < after)) {
    const text = `summarise: keep takes a whole number from 0 to ${after - 1}, less than after, not ${keep}.`
    throw new SuperstepError("AGENT_INVALID", text)
  }
  return { kind: "summarise", ...options }
}

function atLeastOne(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 1) return value
  throw new SuperstepError("AGENT_INVALID", `${name} takes a whole number of at least 1, not ${value}.`)
}

/** What the model sees of these messages. A summary is not made here: it costs, and is recorded. */
export function chooseMessages(policy: HistoryPolicy, messages: readonly Message[]): readonly Message[] {
  if (typeof policy === "object" && policy.kind === "summarise") return sinceSummary(messages)
  const said = withoutSummaries(messages)
  if (policy === "all") return said
  if (typeof policy === "function") return validHistory(policy(said))
  if (policy.kind === "last-items") return newest(said, said.length - policy.items)
  return newest(said, windowStart(said, policy.tokens))
}

/** What is wrong with a policy, or undefined. */
export function historyProblem(policy: unknown): string | undefined {
  if (policy === undefined || policy === "all" || typeof policy === "function") return undefined
  const { kind } = Object(policy) as { kind?: unknown }
  if (kind === "last-items" || kind === "token-window" || kind === "summarise") return undefined
  return 'history is "all", lastItems(n), tokenWindow(n), summarise({ after }) or a function of the messages.'
}

/** The messages from `start` on, without a turn cut in two, and with what must not be missing. */
function newest(messages: readonly Message[], start: number): readonly Message[] {
  if (start <= 0) return messages
  const kept = Math.max(Math.min(start, lastTurn(messages)), 0)
  const asked = messages.findLastIndex(({ role }) => role === "user")
  // Some providers refuse a conversation that does not begin with the user.
  const first = asked < kept ? kept : messages.findIndex(({ role }, at) => at >= kept && role === "user")
  return validHistory(
    messages.filter(({ role }, at) => (at >= kept && at >= first) || at === asked || role === "system"),
  )
}

/** Where the newest turn begins: a model that does not see the results it waits for would call again, for ever. */
function lastTurn(messages: readonly Message[]): number {
  const last = messages.length - 1
  if (messages[last]?.role !== "tool") return last
  return messages.findLastIndex(({ role }) => role === "assistant")
}

function windowStart(messages: readonly Message[], tokens: number): number {
  let left = tokens
  for (let at = messages.length - 1; at >= 0; at--) {
    left -= tokensOf(messages[at] as Message)
    if (left < 0) return at + 1
  }
  return 0
}

const counted = new WeakMap<Message, number>()

/** Messages do not change, so each is measured once. */
function tokensOf(message: Message): number {
  const known = counted.get(message)
  if (known !== undefined) return known
  const tokens = estimateInput({ prompt: [message] })
  counted.set(message, tokens)
  return tokens
}
