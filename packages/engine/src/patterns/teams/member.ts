/** Who works in a team: agents, and workflows that are used as agents, those that live elsewhere among them. */
import { type AgentCore, coreOf, makeCore } from "../../agents/agent-core.ts"
import { runPart } from "../../agents/agent-loop.ts"
import { toolTable } from "../../agents/agent-tools.ts"
import { handoffTools } from "../../agents/hand-off.ts"
import { type Agent, isAgent } from "../../agents/index.ts"
import type { Node, Workflow } from "../../builder/index.ts"
import { SuperstepError } from "../../core/index.ts"
import type { Callable, Context, Schema } from "../../runtime/index.ts"
import { asText, INPUT, inputSaid, type Said, USER, viewOf } from "./transcript.ts"

// biome-ignore lint/suspicious/noExplicitAny: a team hands over text and takes any answer, whatever the types say.
export type SomeAgent = Agent<any, any>

/** An agent; or a workflow that takes a text, which gets the conversation as one. Its last output is its answer. */
// biome-ignore lint/suspicious/noExplicitAny: as above.
export type Member = SomeAgent | Workflow<any, any>

/** Any: a team's wiring is its own, and made here. */
// biome-ignore lint/suspicious/noExplicitAny: as said above.
export type TeamNode = Node<any, any>

export interface Turn {
  /** What the member sees of what was said, the input aside. */
  readonly said: readonly Said[]
  /** Told at the end, to this member alone. */
  readonly note?: string | undefined
  /** Whom it can hand the conversation to. */
  readonly others?: readonly Member[] | undefined
}

export interface Spoken {
  readonly answer: unknown
  /** The name of the member it handed over to. */
  readonly to?: string | undefined
}

/** The member's turn: one agent's part, or one run of its workflow. */
export async function speak(member: Member, turn: Turn, ctx: Context): Promise<Spoken> {
  const { said, note, others = [] } = turn
  if (!isAgent(member)) {
    const told = note === undefined ? [] : [{ speaker: USER, text: note }]
    const text = asText([...inputSaid(ctx), ...said, ...told])
    const outputs = await ctx.call(member as Callable<string, unknown>, text)
    return { answer: outputs.at(-1) ?? "" }
  }
  const messages = viewOf(member.name, ctx.state.get(INPUT), said, note)
  const agents = others as readonly Agent[]
  const core = withHandoffs(withoutThread(coreOf(member as unknown as Agent)), agents)
  const { answer, to } = await runPart(core, { messages }, ctx, new Set(agents))
  return { answer, to: to?.name }
}

/** The team keeps the conversation: the agent's own, where it has one, is left alone. */
function withoutThread(core: AgentCore): AgentCore {
  if (core.options.messages === undefined) return core
  return { ...core, options: { ...core.options, messages: undefined } }
}

/** Those it has already are not given twice. */
function withHandoffs(core: AgentCore, others: readonly Agent[]): AgentCore {
  if (others.length === 0) return core
  const more = handoffTools(others)
  return {
    ...core,
    async tools(ctx) {
      const { byName, instructions } = await core.tools(ctx)
      const added = more.filter(({ name }) => !byName.has(name))
      return toolTable(core.name, [...byName.values(), ...added], instructions)
    },
  }
}

/** The same agent, for another kind of answer. */
export function answering(agent: SomeAgent, output: Schema | undefined): AgentCore {
  const { options } = coreOf(agent as unknown as Agent)
  return makeCore({ ...options, messages: undefined }, output)
}

/** A node of the team, with the policies that the agent brings along. */
export function memberNode(
  member: Member,
  run: (message: never, ctx: Context) => unknown,
  id = member.name,
): TeamNode {
  const { description } = member
  const handlers = [{ run: run as never }]
  const definition = isAgent(member)
    ? { ...member.definition, kind: "agent", handlers, output: undefined, onError: undefined }
    : { kind: "workflow", handlers, nested: member as Callable, description }
  return Object.freeze({ id, definition: Object.freeze(definition) })
}

export function teamInvalid(team: string, reason: string): SuperstepError {
  return new SuperstepError("TEAM_INVALID", `Team "${team}": ${reason}`)
}

/** At least one, each under a name of its own, and none that the team needs itself. */
export function checkMembers(team: string, members: readonly Member[], isOnce = true): void {
  if (!Array.isArray(members) || members.length === 0) throw teamInvalid(team, "give it at least one agent.")
  const names = new Set<string>()
  for (const one of members) {
    if (typeof one?.name !== "string") {
      throw teamInvalid(team, "its members are agents, or workflows that are used as agents.")
    }
    const { name } = one
    if (isTeamsOwn(name)) {
      const text = `"${name}" cannot be the name of a member: "user" and names with # are the team's own.`
      throw teamInvalid(team, text)
    }
    if (isOnce && names.has(name)) {
      throw teamInvalid(team, `two members are called "${name}"; give one another name.`)
    }
    names.add(name)
  }
}

/** A name that means something else in a team. */
export function isTeamsOwn(name: string): boolean {
  return name === USER || name.startsWith("#")
}

/** An agent that is no member. */
export function checkManager(team: string, manager: SomeAgent, members: readonly Member[]): void {
  if (!isAgent(manager)) throw teamInvalid(team, "its manager is an agent.")
  checkMembers(team, [manager])
  if (!members.some(({ name }) => name === manager.name)) return
  const text = `its manager "${manager.name}" is also one of its agents; leave it out there, or give it another name.`
  throw teamInvalid(team, text)
}

/** Who is who, for those who choose. */
export function roster(members: readonly Member[]): string {
  return members
    .map(({ name, description }) => `- ${name}${description === undefined ? "" : `: ${description}`}`)
    .join("\n")
}
