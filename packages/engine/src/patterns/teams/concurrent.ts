/** All members at the same time, each with the input alone; what becomes of their answers is the aggregate's to say. */
import { type Agent, isAgent } from "../../agents/index.ts"
import { node } from "../../builder/index.ts"
import { type Settled, SuperstepError } from "../../core/index.ts"
import type { Context } from "../../runtime/index.ts"
import { checkMembers, type Member, memberNode, speak, type TeamNode } from "./member.ts"
import { beginNode, say, type Team, type TeamOptions, teamBuilder } from "./team.ts"
import { type Said, saidBy } from "./transcript.ts"

export type Aggregate<Out> = (said: readonly Said[], ctx: Context) => Out | Promise<Out>

export interface ConcurrentOptions<Out> extends TeamOptions {
  /**
   * Makes one answer of several: a function, or an agent that sees them all. Default: what each one said, in the order of
   * the members.
   */
  readonly aggregate?: Aggregate<Out> | Agent<never, Out> | undefined
  /** A member that fails: `fail`, the default, fails the team; `continue` goes on without it, unless all fail. */
  readonly onError?: "fail" | "continue" | undefined
}

export function concurrent<Out = readonly Said[]>(
  agents: readonly Member[],
  options: ConcurrentOptions<Out> = {},
): Team<Out> {
  const { aggregate, onError = "fail" } = options
  const name = options.name ?? "concurrent"
  checkMembers(name, agents)
  const nodes = agents.map((member): TeamNode => {
    const one = memberNode(member, async (_, ctx) => {
      ctx.emit("team.turn", { speaker: member.name, round: 1 })
      const said = saidBy(member.name, (await speak(member, { said: [] }, ctx)).answer)
      say(ctx, said, 1)
      return said
    })
    return { ...one, definition: { ...one.definition, onError: onError === "fail" ? "fail" : "settle" } }
  })
  const together = async (said: readonly Said[], ctx: Context): Promise<unknown> => {
    if (aggregate === undefined) return said
    if (!isAgent(aggregate)) return await (aggregate as Aggregate<Out>)(said, ctx)
    return (await speak(aggregate as Member, { said, note: "Make one answer of these." }, ctx)).answer
  }
  // A single member's answer comes by itself.
  const end = async (answers: Answer | readonly Answer[], ctx: Context) =>
    await together(answered(name, [answers].flat() as readonly Answer[]), ctx)
  const aggregator = isAgent(aggregate)
    ? memberNode(aggregate as Member, end as never, `${aggregate.name}#aggregate`)
    : node("#aggregate", end)
  return wired(nodes, aggregator, options) as unknown as Team<Out>
}

type Answer = Said | Settled<Said>

function wired(nodes: readonly TeamNode[], aggregator: TeamNode, options: TeamOptions) {
  const builder = teamBuilder("concurrent", options, [])
  const begin = beginNode()
  if (nodes.length === 1) return builder.chain(begin, nodes[0] as TeamNode, aggregator).build()
  return builder.start(begin).fanOut(begin, nodes).fanIn(nodes, aggregator).build()
}

function answered(team: string, answers: readonly Answer[]): readonly Said[] {
  const said = answers.flatMap((one) => ("ok" in one ? (one.ok ? [one.value] : []) : [one]))
  if (said.length > 0) return said
  throw new SuperstepError("TEAM_FAILED", `Team "${team}": all its members failed.`, { retryable: false })
}
