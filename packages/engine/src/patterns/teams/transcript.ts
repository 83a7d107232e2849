/**
 * The messages of a team, kept once in the run's state. Each member sees its own messages as its own, and those of others
 * under their names.
 */
import { inputMessages, type Unfinished, userText } from "../../agents/internal.ts"
import type { Json } from "../../core/index.ts"
import type { Message } from "../../models/index.ts"
import { messageText } from "../../models/internal.ts"
import { append, type Context, channel, replace } from "../../runtime/index.ts"

/** A string, or an existing conversation. */
export type TeamInput = string | { readonly messages: readonly unknown[] }

export interface TeamMessage {
  /** The member's name; `user` for the person whom the team works for. */
  readonly speaker: string
  readonly text: string
  /** Where the answer is data: the text is its JSON. */
  readonly data?: Json | undefined
}

export const USER = "user"

// The model's types allow binary data in a message; here it is base64 text, and anything else is refused when written.
export const INPUT = channel<readonly Message[], readonly Message[]>("input", replace([]) as never)
export const MESSAGES = channel("said", append<TeamMessage>())
/** What members did in turns that a limit ended. */
export const UNFINISHED = channel<readonly Unfinished[], readonly Unfinished[]>(
  "unfinished",
  append<Unfinished>() as never,
)

export function keepInput(input: unknown, ctx: Context): void {
  ctx.state.write(INPUT, inputMessages(input))
}

export function messageBy(speaker: string, answer: unknown): TeamMessage {
  if (typeof answer === "string") return { speaker, text: answer }
  const data = (answer ?? null) as Json
  return { speaker, text: JSON.stringify(data), data }
}

/** A person's answer as text. */
export function answerText(answer: unknown): string {
  if (typeof answer === "string") return answer
  return answer === null || answer === undefined ? "" : JSON.stringify(answer)
}

/** The whole conversation, including the input. */
export function transcript(ctx: Context): readonly TeamMessage[] {
  return [...inputTranscript(ctx), ...ctx.state.get(MESSAGES)]
}

export function inputTranscript(ctx: Context): readonly TeamMessage[] {
  return ctx.state.get(INPUT).flatMap((message) => {
    const { role } = message
    if (role !== "user" && role !== "assistant") return []
    return { speaker: role === "user" ? USER : role, text: messageText(message) }
  })
}

/**
 * The conversation as a member's model sees it, with a note for this member alone at its end. The last message is never its
 * own: a model would continue its sentence.
 */
export function viewOf(
  member: string,
  input: readonly Message[],
  visible: readonly TeamMessage[],
  note?: string,
): Message[] {
  const messages = [...input, ...visible.map((one) => asMessage(one, member))]
  const last = messages.at(-1)
  const ending = note ?? (last === undefined || last.role === "assistant" ? "Continue." : undefined)
  return ending === undefined ? messages : [...messages, userText(ending)]
}

function asMessage({ speaker, text }: TeamMessage, member: string): Message {
  if (speaker === member) return { role: "assistant", content: [{ type: "text", text }] }
  return userText(speaker === USER ? text : `${speaker}: ${text}`)
}

/** The conversation as one string, for members that take a string. */
export function asText(messages: readonly TeamMessage[]): string {
  const [only] = messages
  if (messages.length === 1 && only !== undefined) return only.text
  return messages.map(({ speaker, text }) => `${speaker}: ${text}`).join("\n\n")
}

/** The last message of a member. */
export function lastWord(messages: readonly TeamMessage[]): string | undefined {
  return messages.findLast(({ speaker }) => speaker !== USER)?.text
}
