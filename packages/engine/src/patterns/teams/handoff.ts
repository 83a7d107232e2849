/**
 * Agents that hand the conversation over to each other, with a tool `handoff_to_<name>` for each. An agent that answers
 * without a hand-off continues by itself for its autonomous turns; then the user is asked.
 */

import type { Agent } from "../../agents/index.ts"
import { handoffTools } from "../../agents/internal.ts"
import type { Turn } from "../../core/index.ts"
import type { Context } from "../../runtime/index.ts"
import {
  answerText,
  checkMembers,
  lastMessageText,
  MESSAGES,
  type Member,
  teamInvalid,
  USER,
} from "./member.ts"
import {
  beginNode,
  checkCount,
  finish,
  give,
  isTerminated,
  memberOf,
  say,
  seat,
  TEAM,
  type Team,
  type TeamOptions,
  type TeamState,
  type Terminate,
  tableNode,
  teamBuilder,
} from "./team.ts"

export interface HandoffOptions extends TeamOptions {
  readonly agents: readonly Member[]
  /** The first speaker. Default: the first agent. */
  readonly start?: Member | string | undefined
  /** The hand-off targets of each agent, by name. Default: all others. */
  readonly routes?: Readonly<Record<string, readonly string[]>> | undefined
  readonly terminate?: Terminate | undefined
  /** Turns for which an agent continues by itself before the user is asked. Default: the user is asked immediately. */
  readonly autonomous?:
    | { readonly turns?: number | undefined; readonly prompt?: string | undefined }
    | undefined
  /** Maximum turns of all agents together. Default 100. */
  readonly maxRounds?: number | undefined
  /** The recipient of the questions to the user, as named in your inbox. */
  readonly to?: string | undefined
}

const TURNS = 50
const ROUNDS = 100
const MAX_DRAWN = 3
const ON = "There is no answer. Continue by yourself: do what is left, hand over, or say that you are done."

interface HandoffState extends TeamState {
  /** Turns since another speaker's message. */
  readonly alone?: number | undefined
}

export function handoff(options: HandoffOptions): Team {
  const { agents, terminate, autonomous, maxRounds = ROUNDS, to } = options
  const name = options.name ?? "handoff"
  checkMembers(name, agents)
  const turns = autonomous === undefined ? 0 : (autonomous.turns ?? TURNS)
  checkCount(name, "autonomous.turns", turns, 0)
  checkCount(name, "maxRounds", maxRounds)
  const { start = agents[0] as Member } = options
  const first = memberOf(name, agents, typeof start === "string" ? start : start.name).name
  const routes = routesOf(name, options)

  // Without routes everybody can hand over to everybody: with many agents, the arrows would say nothing.
  const isDrawn = options.routes !== undefined || agents.length <= MAX_DRAWN
  const drawn = isDrawn ? turnsOf(first, routes, turns === 0) : undefined
  const desk = tableNode("#desk", { turns: drawn }, async ({ from, to: next }, ctx) => {
    const state: HandoffState = ctx.state.get(TEAM)
    if (from === undefined) return give(ctx, { ...state, alone: 0 }, first)
    const end = (why: "terminated" | "user" | "rounds") =>
      finish(ctx, name, state, why, lastMessageText(ctx.state.get(MESSAGES))) as undefined
    if (await isTerminated(ctx, terminate, state.round)) return end("terminated")
    if (state.round >= maxRounds) return end("rounds")
    if (next !== undefined) return give(ctx, { ...state, alone: 0 }, next)
    const alone = (state.alone ?? 0) + 1
    if (alone <= turns) return give(ctx, { ...state, alone }, from, autonomous?.prompt ?? ON)
    const answer = await askUser(ctx, from, to)
    if (answer.trim() === "") return end("user")
    const reply = { speaker: USER, text: answer }
    say(ctx, reply, state.round)
    if (await isTerminated(ctx, terminate, state.round, [reply])) return end("terminated")
    return give(ctx, { ...state, alone: 0 }, from)
  })
  const builder = teamBuilder("handoff", options, [TEAM])
  const begin = beginNode()
  builder.start(begin).edge(begin, desk)
  return seat({
    name,
    builder,
    members: agents,
    table: desk,
    handsTo: (one) => routes.get(one.name) ?? [],
  })
}

/** Hand-offs, the user's answers, and the end. */
function turnsOf(
  first: string,
  routes: ReadonlyMap<string, readonly Member[]>,
  asksAtOnce: boolean,
): readonly Turn[] {
  const alone = asksAtOnce ? "asks the user" : "continues, then asks the user"
  return [
    { to: first },
    ...[...routes].flatMap(([from, others]) => [
      ...others.map(({ name: to }) => ({ from, to, label: "hand-off" })),
      { from, to: from, label: alone },
      { from, label: "END" },
    ]),
  ]
}

/** The agent's last message is the question. An empty answer ends the conversation. */
async function askUser(ctx: Context, speaker: string, to: string | undefined): Promise<string> {
  const prompt = lastMessageText(ctx.state.get(MESSAGES)) ?? `${speaker} waits for an answer.`
  return answerText(await ctx.ask<unknown>({ prompt, data: { speaker }, to }))
}

function routesOf(team: string, { agents, routes }: HandoffOptions): ReadonlyMap<string, readonly Member[]> {
  for (const from of Object.keys(routes ?? {})) memberOf(team, agents, from)
  return new Map(
    agents.map((one) => {
      const named = routes === undefined ? undefined : (routes[one.name] ?? [])
      const others =
        named?.map((name) => memberOf(team, agents, name)) ?? agents.filter((other) => other !== one)
      checkToolNames(team, others)
      return [one.name, others]
    }),
  )
}

/** Tool names are shortened to what providers accept, so two may collide. */
function checkToolNames(team: string, others: readonly Member[]): void {
  const taken = new Map<string, string>()
  for (const [i, { name: tool }] of handoffTools(others as readonly Agent[]).entries()) {
    const { name } = others[i] as Member
    const before = taken.get(tool)
    if (before !== undefined) {
      const reason = `"${before}" and "${name}" would share the hand-off tool ${tool}; rename one of them.`
      throw teamInvalid(team, reason)
    }
    taken.set(tool, name)
  }
}
