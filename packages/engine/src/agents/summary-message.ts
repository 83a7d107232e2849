/**
 * A summary as a message of the conversation. Conversations are only added to, so it comes after what it stands for: all
 * that was said before it but the last `keep` messages. It is what the user says to the model; that it is a summary is
 * noted where no provider looks, and left out of what providers get.
 */
import type { Message } from "../models/index.ts"
import { userText } from "./conversation.ts"
import { validHistory } from "./valid-history.ts"

export function summaryMessage(text: string, keep: number): Message {
  const said = userText(`A summary of the conversation so far:\n\n${text}`)
  return { ...said, providerOptions: { superstep: { summary: { keep } } } }
}

export function isSummary(message: Message): boolean {
  return keptBefore(message) !== undefined
}

/** How many messages before a summary still stand; undefined where it is none. */
function keptBefore({ role, providerOptions }: Message): number | undefined {
  if (role !== "user") return undefined
  const { keep } = Object(providerOptions?.superstep?.summary) as { keep?: unknown }
  return typeof keep === "number" && keep >= 0 ? keep : undefined
}

/** What was really said, all of it. */
export function withoutSummaries(messages: readonly Message[]): readonly Message[] {
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
export function sinceSummary(messages: readonly Message[]): readonly Message[] {
  const { system, summary, rest } = standing(messages)
  return summary === undefined ? messages : validHistory([...system, summary, ...rest])
}
