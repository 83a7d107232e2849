/** What a user's function chose of a conversation, as a conversation that every provider accepts. */
import { SuperstepError } from "../core/index.ts"
import type { Message } from "../models/index.ts"
import { readMessage, validHistory } from "./conversation.ts"

export function chosenBy(
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
  // A conversation begins with the user. What was asked last is what has to be answered.
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
