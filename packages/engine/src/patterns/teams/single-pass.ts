/** Teams in which every member speaks once: one after another, or concurrently. */
import { type Agent, isAgent } from "../../agents/index.ts"
import { node } from "../../builder/index.ts"
import { type Settled, SuperstepError } from "../../core/index.ts"
import type { Context } from "../../runtime/index.ts"
import {
  checkMembers,
  MESSAGES,
  type Member,
  memberNode,
  messageBy,
  speak,
  type TeamMessage,
  type TeamNode,
} from "./member.ts"
import { beginNode, say, type Team, type TeamOptions, teamBuilder } from "./team.ts"

/** Each member sees all messages before its own. The last answer is the team's. */
export function sequential(agents: readonly Member[], options: TeamOptions = {}): Team<unknown> {
  checkMembers(options.name ?? "sequential", agents, false)
  const nodes = agents.map((member, i) => {
    const before = agents.slice(0, i).filter(({ name }) => name === member.name).length
    const id = before === 0 ? member.name : `${member.name}#${before + 1}`
    return memberNode(
      member,
      async (_, ctx) => {
        ctx.emit("team.turn", { speaker: member.name, round: i + 1 })
        const { answer } = await speak(member, { visible: ctx.state.get(MESSAGES) }, ctx)
        say(ctx, messageBy(member.name, answer), i + 1)
        return i === agents.length - 1 ? answer : {}
      },
      id,
      before === 0 ? undefined : `${member.name} (${before + 1})`,
    )
  })
  const builder = teamBuilder("sequential", options, [])
  return builder.chain(beginNode(agents), ...(nodes as [])).build() as unknown as Team<unknown>
}

export type Aggregate<Out> = (messages: readonly TeamMessage[], ctx: Context) => Out | Promise<Out>

export interface ConcurrentOptions<Out> extends TeamOptions {
  /**
   * Combines the answers into one: a function, or an agent that sees them all. Default: all answers, in the order of
   * the members.
   */
  readonly aggregate?: Aggregate<Out> | Agent<never, Out> | undefined
  /** If a member fails: `fail`, the default, fails the team; `continue` continues without it, unless all fail. */
  readonly onError?: "fail" | "continue" | undefined
}

/** Each member sees only the input; the aggregate combines their answers. */
export function concurrent<Out = readonly TeamMessage[]>(
  agents: readonly Member[],
  options: ConcurrentOptions<Out> = {},
): Team<Out> {
  const { aggregate, onError = "fail" } = options
  const name = options.name ?? "concurrent"
  checkMembers(name, agents)
  const nodes = agents.map((member): TeamNode => {
    const one = memberNode(member, async (_, ctx) => {
      ctx.emit("team.turn", { speaker: member.name, round: 1 })
      const message = messageBy(member.name, (await speak(member, { visible: [] }, ctx)).answer)
      say(ctx, message, 1)
      return message
    })
    return { ...one, definition: { ...one.definition, onError: onError === "fail" ? "fail" : "settle" } }
  })
  const together = async (messages: readonly TeamMessage[], ctx: Context): Promise<unknown> => {
    if (aggregate === undefined) return messages
    if (!isAgent(aggregate)) return await (aggregate as Aggregate<Out>)(messages, ctx)
    return (await speak(aggregate as Member, { visible: messages, note: "Make one answer of these." }, ctx))
      .answer
  }
  // A single member's answer is not wrapped in a list.
  const end = async (answers: Answer | readonly Answer[], ctx: Context) =>
    await together(answered(name, [answers].flat() as readonly Answer[]), ctx)
  const aggregator = isAgent(aggregate)
    ? memberNode(aggregate as Member, end as never, `${aggregate.name}#aggregate`, aggregate.name)
    : node("#aggregate", end)
  return wired(onError === "fail" ? agents : [], nodes, aggregator, options) as unknown as Team<Out>
}

type Answer = TeamMessage | Settled<TeamMessage>

function wired(
  agents: readonly Member[],
  nodes: readonly TeamNode[],
  aggregator: TeamNode,
  options: TeamOptions,
) {
  const builder = teamBuilder("concurrent", options, [])
  const begin = beginNode(agents)
  if (nodes.length === 1) return builder.chain(begin, nodes[0] as TeamNode, aggregator).build()
  return builder.start(begin).fanOut(begin, nodes).fanIn(nodes, aggregator).build()
}

function answered(team: string, answers: readonly Answer[]): readonly TeamMessage[] {
  const messages = answers.flatMap((one) => ("ok" in one ? (one.ok ? [one.value] : []) : [one]))
  if (messages.length > 0) return messages
  throw new SuperstepError("TEAM_FAILED", `Team "${team}": all its members failed.`, { retryable: false })
}
