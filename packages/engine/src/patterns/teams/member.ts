/** The members of a team: agents, and workflows used as agents, remote agents included. */
import { type Agent, isAgent } from "../../agents/index.ts"
import {
  type AgentCore,
  coreOf,
  handoffTools,
  inputMessages,
  makeCore,
  runPart,
  toolTable,
  type Unfinished,
  userText,
} from "../../agents/internal.ts"
import { type Node, node, type Workflow, workflow } from "../../builder/index.ts"
import { type Json, SuperstepError } from "../../core/index.ts"
import type { Message } from "../../models/index.ts"
import { messageText } from "../../models/internal.ts"
import { append, type Callable, type Context, channel, replace, type Schema } from "../../runtime/index.ts"

// biome-ignore lint/suspicious/noExplicitAny: a team hands over text and takes any answer, whatever the types say.
export type SomeAgent = Agent<any, any>

/** An agent, or a workflow that takes the conversation as one string. Its last output is its answer. */
// biome-ignore lint/suspicious/noExplicitAny: as above.
export type Member = SomeAgent | Workflow<any, any>

/** Untyped: the team's wiring is internal. */
// biome-ignore lint/suspicious/noExplicitAny: as above.
export type TeamNode = Node<any, any>

export interface Turn {
  /** The messages that the member sees, besides the input. */
  readonly visible: readonly TeamMessage[]
  /** A final message that only this member sees. */
  readonly note?: string | undefined
  /** The members it can hand the conversation to. */
  readonly others?: readonly Member[] | undefined
}

export interface Spoken {
  readonly answer: unknown
  /** The name of the member it handed over to. */
  readonly to?: string | undefined
}

/** The turn of a member: one agent's part, or one run of its workflow. */
export async function speak(member: Member, turn: Turn, ctx: Context): Promise<Spoken> {
  const { visible, note, others = [] } = turn
  if (!isAgent(member)) {
    const notes = note === undefined ? [] : [{ speaker: USER, text: note }]
    const text = asText([...inputTranscript(ctx), ...visible, ...notes])
    const outputs = await ctx.call(member as Callable<string, unknown>, text)
    return { answer: outputs.at(-1) ?? "" }
  }
  const messages = viewOf(member.name, ctx.state.get(INPUT), visible, note)
  const agents = others as readonly Agent[]
  const core = withHandoffs(withoutThread(coreOf(member as unknown as Agent)), agents)
  const { answer, to } = await runPart(core, { messages }, ctx, new Set(agents), UNFINISHED)
  return { answer, to: to?.name }
}

/** The team keeps the conversation, so the agent's own thread is not used. */
function withoutThread(core: AgentCore): AgentCore {
  if (core.options.messages === undefined) return core
  return { ...core, options: { ...core.options, messages: undefined } }
}

/** Adds hand-off tools that the agent does not have. */
function withHandoffs(core: AgentCore, others: readonly Agent[]): AgentCore {
  if (others.length === 0) return core
  const more = handoffTools(others)
  return {
    ...core,
    async tools(ctx, input) {
      const { byName, instructions } = await core.tools(ctx, input)
      const added = more.filter(({ name }) => !byName.has(name))
      return toolTable(core.name, [...byName.values(), ...added], instructions)
    },
  }
}

/** The same agent with another output schema. */
export function answering(agent: SomeAgent, output: Schema | undefined): AgentCore {
  const { options } = coreOf(agent as unknown as Agent)
  return makeCore({ ...options, messages: undefined }, output)
}

/** A node of the team, with the agent's policies. */
export function memberNode(
  member: Member,
  run: (message: never, ctx: Context) => unknown,
  id = member.name,
  /** What people see. Default: the id. */
  shown?: string,
): TeamNode {
  const { description } = member
  const handlers = [{ run: run as never }]
  const name = shown === undefined ? {} : { name: shown }
  const definition = isAgent(member)
    ? { ...name, ...member.definition, kind: "agent", handlers, output: undefined, onError: undefined }
    : { ...name, kind: "workflow", handlers, nested: member as Callable, description }
  return Object.freeze({ id, definition: Object.freeze(definition) })
}

export function teamInvalid(team: string, reason: string): SuperstepError {
  return new SuperstepError("TEAM_INVALID", `Team "${team}": ${reason}`)
}

/** Requires at least one member, each with a unique name that is not reserved. */
export function checkMembers(team: string, members: readonly Member[], isOnce = true): void {
  if (!Array.isArray(members) || members.length === 0) throw teamInvalid(team, "it needs at least one agent.")
  const names = new Set<string>()
  for (const one of members) {
    if (typeof one?.name !== "string") {
      throw teamInvalid(team, "its members must be agents, or workflows used as agents.")
    }
    const { name } = one
    if (isReservedName(name)) {
      const text = `"${name}" cannot be the name of a member: "user" and names with # are reserved.`
      throw teamInvalid(team, text)
    }
    if (isOnce && names.has(name)) {
      throw teamInvalid(team, `two members are named "${name}"; rename one of them.`)
    }
    names.add(name)
  }
}

/** Whether the name is reserved. */
export function isReservedName(name: string): boolean {
  return name === USER || name.startsWith("#")
}

/** Requires an agent that is not a member. */
export function checkManager(team: string, manager: SomeAgent, members: readonly Member[]): void {
  if (!isAgent(manager)) throw teamInvalid(team, "its manager must be an agent.")
  checkMembers(team, [manager])
  if (!members.some(({ name }) => name === manager.name)) return
  const text = `its manager "${manager.name}" is also one of its agents; remove it there, or rename it.`
  throw teamInvalid(team, text)
}

/** The members and their descriptions, for a prompt. */
export function roster(members: readonly Member[]): string {
  return members
    .map(({ name, description }) => `- ${name}${description === undefined ? "" : `: ${description}`}`)
    .join("\n")
}

export interface PersonOptions {
  readonly name: string
  /** Other members use it to decide whether to ask this person. */
  readonly description?: string | undefined
  /** Who receives the question, as named in your inbox. Default: the name. */
  readonly to?: string | undefined
}

/** A person as a member: asked when it is their turn. Their answer becomes their message. */
export function person({ name, description, to = name }: PersonOptions): Workflow<TeamInput, string> {
  const ask = node("ask", async (input: TeamInput, ctx) => {
    const prompt = typeof input === "string" ? input : JSON.stringify(input.messages)
    return answerText(await ctx.ask<unknown>({ prompt, to }))
  })
  return workflow(name, { description }).start(ask).build()
}

/**
 * The messages of a team, stored once in the run's state. A member sees its own messages as its own, and those of others
 * under their names.
 */

/** A string, or an existing conversation. */
export type TeamInput = string | { readonly messages: readonly unknown[] }

export interface TeamMessage {
  /** The member's name, or `user`. */
  readonly speaker: string
  readonly text: string
  /** Set if the answer is data. The text is its JSON. */
  readonly data?: Json | undefined
}

export const USER = "user"

// The model's types allow binary data in a message; here it is base64 text, and anything else is refused when written.
export const INPUT = channel<readonly Message[], readonly Message[]>("input", replace([]) as never)
export const MESSAGES = channel("said", append<TeamMessage>())
/** The work of members in turns that a limit ended. */
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

function inputTranscript(ctx: Context): readonly TeamMessage[] {
  return ctx.state.get(INPUT).flatMap((message) => {
    const { role } = message
    if (role !== "user" && role !== "assistant") return []
    return { speaker: role === "user" ? USER : role, text: messageText(message) }
  })
}

/**
 * The conversation as a member's model sees it, with a note for this member at the end. The last message is never the
 * member's own, because a model would continue its sentence.
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
function asText(messages: readonly TeamMessage[]): string {
  const [only] = messages
  if (messages.length === 1 && only !== undefined) return only.text
  return messages.map(({ speaker, text }) => `${speaker}: ${text}`).join("\n\n")
}

/** The last message of a member. */
export function lastMessageText(messages: readonly TeamMessage[]): string | undefined {
  return messages.findLast(({ speaker }) => speaker !== USER)?.text
}
