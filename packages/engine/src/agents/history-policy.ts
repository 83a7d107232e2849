/**
 * How much of a long conversation a model sees. The conversation itself is kept whole; a policy chooses from it, and the
 * choice is made valid for providers. System messages, the last user message and the newest turn are always included, cut
 * where a policy counts tokens and they are too long. Only `summarise` uses summaries, and continues from the latest, also
 * in a later run; the other policies ignore them.
 */
import { SuperstepError } from "../core/index.ts"
import type { Message, ModelRef } from "../models/index.ts"
import { chosenBy } from "./chosen-history.ts"
import { userText, validHistory } from "./conversation.ts"
import { fitMessages, type HistoryBounds, newest, withinBounds } from "./fit-messages.ts"

export type HistoryPolicy = "all" | LastItems | TokenWindow | Summarise | ChooseMessages

export interface LastItems extends HistoryBounds {
  readonly kind: "last-items"
  readonly items: number
}

export interface TokenWindow extends HistoryBounds {
  readonly kind: "token-window"
  readonly tokens: number
}

export interface Summarise extends SummariseOptions {
  readonly kind: "summarise"
}

export interface SummariseOptions extends HistoryBounds {
  /** More messages than this, since the last summary, and the older ones become a new one. */
  readonly after?: number | undefined
  /** More tokens than this, by estimate, with the last summary, and the older messages become a new one. */
  readonly tokens?: number | undefined
  /** How many of the newest messages stay as they are, fewer than `after`. Default: half of it, or of `tokens`. */
  readonly keep?: number | undefined
  /** Who writes the summary. Default: the agent's own model. */
  readonly model?: ModelRef | readonly ModelRef[] | undefined
  /** What the summary is to hold on to, in words. */
  readonly instructions?: string | undefined
}

/**
 * A custom policy. It must be deterministic. Its result is made valid: results without their
 * calls go, and the conversation begins with the user. Something that is no conversation is refused (HISTORY_INVALID).
 */
export type ChooseMessages = (messages: readonly Message[]) => readonly Message[]

/** The newest `n` messages. */
export function lastItems(items: number, bounds: HistoryBounds = {}): LastItems {
  checkBounds("lastItems", bounds)
  return { kind: "last-items", items: atLeastOne("lastItems", items), ...bounds }
}

/**
 * The newest messages, as many as fit; of a newest turn that does not fit, the beginning and the end of its tool results and
 * texts. Tokens are estimated by length.
 */
export function tokenWindow(tokens: number, bounds: HistoryBounds = {}): TokenWindow {
  checkBounds("tokenWindow", bounds)
  return { kind: "token-window", tokens: atLeastOne("tokenWindow", tokens), ...bounds }
}

/** The older messages become a summary, which a model writes and the journal keeps. */
export function summarise(options: SummariseOptions): Summarise {
  const { keep = 0, after, tokens } = options
  if (after === undefined && tokens === undefined) {
    throw new SuperstepError("AGENT_INVALID", "summarise: set after, tokens, or both.")
  }
  for (const [name, value] of Object.entries({ after, tokens }))
    if (value !== undefined) atLeastOne(`summarise: ${name}`, value)
  checkBounds("summarise", options)
  if (!(Number.isSafeInteger(keep) && keep >= 0 && keep < (after ?? Number.POSITIVE_INFINITY))) {
    const most = after === undefined ? "" : ` to ${after - 1}, less than after`
    const text = `summarise: keep must be a whole number from 0${most}, not ${keep}.`
    throw new SuperstepError("AGENT_INVALID", text)
  }
  return { kind: "summarise", ...options }
}

function atLeastOne(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 1) return value
  throw new SuperstepError("AGENT_INVALID", `${name} must be a whole number of at least 1, not ${value}.`)
}

function checkBounds(policy: string, { toolResultTokens, keepToolResults }: HistoryBounds): void {
  if (toolResultTokens !== undefined) atLeastOne(`${policy}: toolResultTokens`, toolResultTokens)
  if (keepToolResults === undefined || (Number.isSafeInteger(keepToolResults) && keepToolResults >= 0)) return
  const text = `${policy}: keepToolResults must be a whole number of at least 0, not ${keepToolResults}.`
  throw new SuperstepError("AGENT_INVALID", text)
}

/** What the model sees of these messages. A summary is not made here: it costs, and is recorded. */
export function chooseMessages(policy: HistoryPolicy, messages: readonly Message[]): readonly Message[] {
  if (typeof policy === "object" && policy.kind === "summarise") return sinceSummary(policy, messages)
  const whole = withoutSummaries(messages)
  if (policy === "all") return whole
  if (typeof policy === "function") return chosenBy(policy, whole)
  if (policy.kind === "last-items") return withinBounds(newest(whole, whole.length - policy.items), policy)
  return fitMessages(withinBounds(whole, boundsOf(policy)), policy.tokens)
}

/** One tool result does not fill the window. */
export function boundsOf(policy: HistoryBounds & { readonly tokens?: number | undefined }): HistoryBounds {
  const { tokens, toolResultTokens = tokens && Math.ceil(tokens / 2), keepToolResults } = policy
  return { toolResultTokens, keepToolResults }
}

/** What is wrong with a policy, or undefined. */
export function historyProblem(policy: unknown): string | undefined {
  if (policy === undefined || policy === "all" || typeof policy === "function") return undefined
  const { kind } = Object(policy) as { kind?: unknown }
  if (kind === "last-items" || kind === "token-window" || kind === "summarise") return undefined
  return 'history must be "all", lastItems(n), tokenWindow(n), summarise({ after, tokens }) or a function of the messages.'
}

/**
 * A summary as a message of the conversation. Conversations only grow, so it follows what it stands for: all earlier
 * messages but the last `keep`. To the model it is a user message; the mark in `providerOptions` is removed before a
 * provider sees it.
 */
export function summaryMessage(text: string, keep: number): Message {
  const message = userText(`A summary of the conversation so far:\n\n${text}`)
  return { ...message, providerOptions: { superstep: { summary: { keep } } } }
}

export function isSummary(message: Message): boolean {
  return keptBefore(message) !== undefined
}

/** How many messages before a summary are still kept; undefined for other messages. */
function keptBefore({ role, providerOptions }: Message): number | undefined {
  if (role !== "user") return undefined
  const { keep } = Object(providerOptions?.superstep?.summary) as { keep?: unknown }
  return typeof keep === "number" && keep >= 0 ? keep : undefined
}

function withoutSummaries(messages: readonly Message[]): readonly Message[] {
  return messages.some(isSummary) ? messages.filter((message) => !isSummary(message)) : messages
}

interface Standing {
  readonly system: readonly Message[]
  readonly summary: Message | undefined
  /** What came after what the summary stands for; before it, what the user said last if that is older. */
  readonly rest: readonly Message[]
}

/** The latest summary, and what it does not stand for. */
export function standing(messages: readonly Message[]): Standing {
  const system = messages.filter(({ role }) => role === "system")
  const at = messages.findLastIndex(isSummary)
  const after = messages.slice(at + 1).filter(({ role }) => role !== "system")
  const summary = messages[at]
  if (summary === undefined) return { system, summary, rest: after }
  const { providerOptions: _, ...plain } = summary
  const before = withoutSummaries(messages.slice(0, at)).filter(({ role }) => role !== "system")
  const keep = Math.min(keptBefore(summary) ?? 0, before.length)
  const rest = [...before.slice(before.length - keep), ...after]
  const asked = before.findLast(({ role }) => role === "user")
  const isMissing = asked !== undefined && !rest.some(({ role }) => role === "user")
  return { system, summary: plain as Message, rest: isMissing ? [asked, ...rest] : rest }
}

/** As the model sees it. */
function sinceSummary(policy: Summarise, messages: readonly Message[]): readonly Message[] {
  const { system, summary, rest } = standing(messages)
  const whole = summary === undefined ? messages : validHistory([...system, summary, ...rest])
  const bounded = withinBounds(whole, boundsOf(policy))
  return policy.tokens === undefined ? bounded : fitMessages(bounded, policy.tokens)
}
