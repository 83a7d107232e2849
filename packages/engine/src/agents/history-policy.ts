/**
 * How much of a long conversation a model sees. The conversation itself stays complete; a policy selects from it, and the
 * selection is made valid for providers. System messages, the last user message and the newest turn are always included,
 * cut where a policy counts tokens and they are too long. Only `summarise` uses summaries, and continues from the latest,
 * even in a later run; the other policies ignore them.
 */
import { SuperstepError } from "../core/index.ts"
import type { Message, ModelRef } from "../models/index.ts"
import { readMessage, userText, validHistory } from "./conversation.ts"
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
  /** Summarises the older messages when there are more than this many since the last summary. */
  readonly after?: number | undefined
  /** Summarises the older messages when the last summary and the messages since then exceed this many estimated tokens. */
  readonly tokens?: number | undefined
  /** How many of the newest messages are not summarised, fewer than `after`. Default: half of it, or of `tokens`. */
  readonly keep?: number | undefined
  /** The model that writes the summary. Default: the agent's own model. */
  readonly model?: ModelRef | readonly ModelRef[] | undefined
  /** Instructions for the summary: what it must retain. */
  readonly instructions?: string | undefined
}

/**
 * A custom policy. It must be deterministic. Its result is made valid: tool results without their calls are removed, and
 * the conversation begins with the user. A result that is not a conversation fails with HISTORY_INVALID.
 */
export type ChooseMessages = (messages: readonly Message[]) => readonly Message[]

/** The newest `n` messages. */
export function lastItems(items: number, bounds: HistoryBounds = {}): LastItems {
  checkBounds("lastItems", bounds)
  return { kind: "last-items", items: atLeastOne("lastItems", items), ...bounds }
}

/**
 * The newest messages that fit. If the newest turn alone does not fit, its tool results and texts are cut in the middle.
 * Tokens are estimated by length.
 */
export function tokenWindow(tokens: number, bounds: HistoryBounds = {}): TokenWindow {
  checkBounds("tokenWindow", bounds)
  return { kind: "token-window", tokens: atLeastOne("tokenWindow", tokens), ...bounds }
}

/** Replaces the older messages with a summary, which a model writes and the journal records. */
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

/** The messages that the model sees. Summaries are not written here: they cost money and are recorded. */
export function chooseMessages(policy: HistoryPolicy, messages: readonly Message[]): readonly Message[] {
  if (typeof policy === "object" && policy.kind === "summarise") return sinceSummary(policy, messages)
  const whole = withoutSummaries(messages)
  if (policy === "all") return whole
  if (typeof policy === "function") return chosenMessages(policy, whole)
  if (policy.kind === "last-items") return withinBounds(newest(whole, whole.length - policy.items), policy)
  return fitMessages(withinBounds(whole, boundsOf(policy)), policy.tokens)
}

/** Keeps a single tool result from filling the window. */
export function boundsOf(policy: HistoryBounds & { readonly tokens?: number | undefined }): HistoryBounds {
  const { tokens, toolResultTokens = tokens && Math.ceil(tokens / 2), keepToolResults } = policy
  return { toolResultTokens, keepToolResults }
}

/** The problem with a policy, or undefined. */
export function historyProblem(policy: unknown): string | undefined {
  if (policy === undefined || policy === "all" || typeof policy === "function") return undefined
  const { kind } = Object(policy) as { kind?: unknown }
  if (kind === "last-items" || kind === "token-window" || kind === "summarise") return undefined
  return 'history must be "all", lastItems(n), tokenWindow(n), summarise({ after, tokens }) or a function of the messages.'
}

/**
 * A summary as a message of the conversation. Conversations only grow, so it follows the messages that it replaces: all
 * earlier ones except the last `keep`. To the model it is a user message; the mark in `providerOptions` is removed before
 * a provider sees it.
 */
export function summaryMessage(text: string, keep: number): Message {
  const message = userText(`A summary of the conversation so far:\n\n${text}`)
  return { ...message, providerOptions: { superstep: { summary: { keep } } } }
}

export function isSummary(message: Message): boolean {
  return keptBefore(message) !== undefined
}

/** How many messages before a summary it does not replace; undefined for other messages. */
function keptBefore({ role, providerOptions }: Message): number | undefined {
  if (role !== "user") return undefined
  const { keep } = Object(providerOptions?.superstep?.summary) as { keep?: unknown }
  return typeof keep === "number" && keep >= 0 ? keep : undefined
}

function withoutSummaries(messages: readonly Message[]): readonly Message[] {
  return messages.some(isSummary) ? messages.filter((message) => !isSummary(message)) : messages
}

interface SummarisedHistory {
  readonly system: readonly Message[]
  readonly summary: Message | undefined
  /** The messages that the summary does not replace, preceded by the last user message if that is older. */
  readonly rest: readonly Message[]
}

/** The latest summary, and the messages that it does not replace. */
export function summarisedHistory(messages: readonly Message[]): SummarisedHistory {
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

/** The conversation as the model sees it. */
function sinceSummary(policy: Summarise, messages: readonly Message[]): readonly Message[] {
  const { system, summary, rest } = summarisedHistory(messages)
  const whole = summary === undefined ? messages : validHistory([...system, summary, ...rest])
  const bounded = withinBounds(whole, boundsOf(policy))
  return policy.tokens === undefined ? bounded : fitMessages(bounded, policy.tokens)
}

// Policies that are functions: their result is turned into a conversation that every provider accepts.

function chosenMessages(
  choose: (messages: readonly Message[]) => unknown,
  messages: readonly Message[],
): readonly Message[] {
  const chosen = choose(messages)
  if (!Array.isArray(chosen)) throw refused(`returned ${describe(chosen)} instead of a list of messages`)
  const read = chosen.map((one, at) => {
    const message = readMessage(one)
    if (message === undefined) throw refused(`returned something that is not a message, at ${at}`)
    return message
  })
  const valid = validHistory(read)
  const first = valid.findIndex(({ role }) => role === "user")
  if (first >= 0) return valid.filter(({ role }, at) => at >= first || role === "system")
  // A conversation begins with the user, and must include the last question: the model has to answer it.
  const asked = messages.findLast(({ role }) => role === "user")
  const system = valid.filter(({ role }) => role === "system")
  const rest = valid.filter(({ role }) => role !== "system")
  if (asked === undefined) return rest.length === 0 ? messages : valid
  return [...system, asked, ...rest]
}

function describe(value: unknown): string {
  if (value instanceof Promise) return "a promise"
  return value === null || value === undefined ? "nothing" : `a ${typeof value}`
}

function refused(what: string): SuperstepError {
  const text = `The history function ${what}. Return a subset of the messages it receives, in order.`
  return new SuperstepError("HISTORY_INVALID", text, { retryable: false })
}
