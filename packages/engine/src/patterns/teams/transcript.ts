/**
 * What was said in a team, kept once in the run's state, and shown to each member from its own point of view: what it said
 * itself is its own, what others said comes under their names.
 */
import { inputMessages, userText } from "../../agents/conversation.ts"
import type { Json } from "../../core/index.ts"
import type { Message } from "../../models/index.ts"
import { messageText } from "../../models/prompt-text.ts"
import { append, type Context, channel, replace } from "../../runtime/index.ts"

/** A text, or a conversation that is there already. */
export type TeamInput = string | { readonly messages: readonly unknown[] }

export interface Said {
  /** The member's name; `user` for the person whom the team works for. */
  readonly speaker: string
  readonly text: string
  /** Where the answer is data: the text is its JSON. */
  readonly data?: Json | undefined
}

export const USER = "user"

export const INPUT = channel("input", replace<readonly Message[]>([]))
export const SAID = channel("said", append<Said>())

export function keepInput(input: unknown, ctx: Context): void {
  ctx.state.write(INPUT, inputMessages(input))
}

export function saidBy(speaker: string, answer: unknown): Said {
  if (typeof answer === "string") return { speaker, text: answer }
  const data = (answer ?? null) as Json
  return { speaker, text: JSON.stringify(data), data }
}

/** What a person answered. */
export function answerText(answer: unknown): string {
  if (typeof answer === "string") return answer
  return answer === null || answer === undefined ? "" : JSON.stringify(answer)
}

/** From the input on. */
export function transcript(ctx: Context): readonly Said[] {
  return [...inputSaid(ctx), ...ctx.state.get(SAID)]
}

export function inputSaid(ctx: Context): readonly Said[] {
  return ctx.state.get(INPUT).flatMap((message) => {
    const { role } = message
    if (role !== "user" && role !== "assistant") return []
    return { speaker: role === "user" ? USER : role, text: messageText(message) }
  })
}

/**
 * The conversation as a member's model sees it, with what only this member is told at its end. The last word is never its
 * own: a model would go on with its sentence.
 */
export function viewOf(
  member: string,
  input: readonly Message[],
  said: readonly Said[],
  note?: string,
): Message[] {
  const messages = [...input, ...said.map((one) => asMessage(one, member))]
  const last = messages.at(-1)
  const ending = note ?? (last === undefined || last.role === "assistant" ? "Go on." : undefined)
  return ending === undefined ? messages : [...messages, userText(ending)]
}

function asMessage({ speaker, text }: Said, member: string): Message {
  if (speaker === member) return { role: "assistant", content: [{ type: "text", text }] }
  return userText(speaker === USER ? text : `${speaker}: ${text}`)
}

/** The same for those who take one text. */
export function asText(said: readonly Said[]): string {
  const [only] = said
  if (said.length === 1 && only !== undefined) return only.text
  return said.map(({ speaker, text }) => `${speaker}: ${text}`).join("\n\n")
}

/** What a member of the team said last. */
export function lastWord(said: readonly Said[]): string | undefined {
  return said.findLast(({ speaker }) => speaker !== USER)?.text
}
