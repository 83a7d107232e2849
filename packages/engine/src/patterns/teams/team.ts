/**
 * The common part of teams. In most of them a central node, the table, gives each turn to one member. Each turn is a
 * separate task, so it is a checkpoint, and one place chooses the next speaker.
 */
import { type Agent, isAgent } from "../../agents/index.ts"
import { checkFiles, coreOf } from "../../agents/internal.ts"
import { type LimitNotice, node, type Workflow, type WorkflowBuilder, workflow } from "../../builder/index.ts"
import { type Budget, SuperstepError, type Turn } from "../../core/index.ts"
import { omitUndefined } from "../../core/internal.ts"
import { type Channel, type Context, channel, replace } from "../../runtime/index.ts"
import {
  INPUT,
  keepInput,
  lastMessageText,
  MESSAGES,
  type Member,
  memberNode,
  messageBy,
  speak,
  type TeamInput,
  type TeamMessage,
  type TeamNode,
  teamInvalid,
  transcript,
  UNFINISHED,
} from "./member.ts"

export interface TeamOptions {
  /** The workflow's name. Default: the kind of team. */
  readonly name?: string | undefined
  readonly description?: string | undefined
  /** The run's budget, and its time limit in milliseconds, which includes waits for people. A run can set its own. */
  readonly budget?: Budget | undefined
  readonly timeout?: number | undefined
}

/** Ends the conversation when it returns true; called after every turn. */
export type Terminate = (messages: readonly TeamMessage[], round: number) => boolean | Promise<boolean>

/** The team's progress, in the run's state under `team`. */
export interface TeamState {
  /** Turns so far. */
  readonly round: number
  /** The current or last speaker. */
  readonly speaker?: string | undefined
  /** Why the conversation ended. */
  readonly ended?: Ended | undefined
}

export type Ended = "answered" | "terminated" | "user" | "rounds" | "resets" | "limit"

export const TEAM: Channel<TeamState, TeamState> = channel("team", replace<TeamState>({ round: 0 }))

/** A message from the table to a member. */
export interface Word {
  readonly to: string
  readonly note?: string | undefined
}

/** A message back to the table. The fields are undefined at the start. */
export interface Back {
  readonly from?: string | undefined
  /** The member it handed over to. */
  readonly to?: string | undefined
}

// Teams count their rounds themselves, and people may answer many times.
const SUPERSTEPS = 1_000_000

export function teamBuilder(
  kind: string,
  options: TeamOptions,
  state: readonly Channel<unknown, never>[],
): WorkflowBuilder {
  const { name = kind, description, budget, timeout } = options
  const limits = { supersteps: SUPERSTEPS }
  return workflow(name, {
    description,
    budget,
    timeout,
    limits,
    state: [INPUT, MESSAGES, UNFINISHED, ...state],
  })
}

/** Records the input. `all`: the members, if each of them receives it. */
export function beginNode(all: readonly Member[] = []): TeamNode {
  const agents = all.filter((one) => isAgent(one))
  const begin = node("#begin", (input: TeamInput, ctx): Back => {
    keepInput(input, ctx)
    return {}
  })
  const check = async (input: never) => {
    for (const one of agents) await checkFiles(coreOf(one as unknown as Agent), input)
  }
  const handlers = begin.definition.handlers.map((handler) => ({ ...handler, check }))
  return agents.length === 0 ? begin : { ...begin, definition: { ...begin.definition, handlers } }
}

/**
 * The central node, which people do not see: diagrams draw its turns, or the choice of the next speaker. If an agent decides, it has
 * the agent's name.
 */
export function tableNode(
  id: string,
  shown: { readonly name?: string | undefined; readonly turns?: readonly Turn[] | undefined },
  run: (back: Back, ctx: Context) => Promise<Word | undefined>,
): TeamNode {
  const made = node(id, run)
  return Object.freeze({ id, definition: Object.freeze({ ...made.definition, ...omitUndefined(shown) }) })
}

export interface Table {
  /** The team's name. */
  readonly name: string
  readonly builder: WorkflowBuilder
  readonly members: readonly Member[]
  /** The central node. */
  readonly table: TeamNode
  /** Other nodes that the table can route to. */
  readonly others?: readonly TeamNode[] | undefined
  /** The messages that a member sees in its turn. Default: all. */
  readonly visible?: ((ctx: Context) => readonly TeamMessage[]) | undefined
  /** The members that a member can hand over to. */
  readonly handsTo?: ((member: Member) => readonly Member[]) | undefined
}

/** Wires the table with its members. The caller adds the start. */
export function seat({ name, builder, members, table, others = [], visible, handsTo }: Table): Team {
  const seats = members.map((member) =>
    memberNode(member, async ({ note }: Word, ctx: Context): Promise<Back> => {
      const { round } = ctx.state.get(TEAM)
      ctx.emit("team.turn", { speaker: member.name, round })
      const seen = visible === undefined ? ctx.state.get(MESSAGES) : visible(ctx)
      const { answer, to } = await speak(member, { visible: seen, note, others: handsTo?.(member) }, ctx)
      say(ctx, messageBy(member.name, answer), round)
      if (to !== undefined) ctx.emit("team.handoff", { speaker: member.name, to, round })
      return to === undefined ? { from: member.name } : { from: member.name, to }
    }),
  )
  const targets = [...seats, ...others]
  const [only] = targets
  // Diagrams draw a choice without words: the name of a member says who speaks next.
  if (targets.length === 1 && only !== undefined) builder.edge(table, only, { when: isWord, label: "" })
  else builder.fanOut(table, targets, { select: ({ to }: Word) => [to], label: "" })
  for (const one of seats) builder.edge(one, table)
  const names = new Set(members.map((one) => one.name))
  const limit = node("#limit", ({ code, message }: LimitNotice, ctx) => {
    // A manager's instruction to a member is not an answer.
    const answer = lastMessageText(ctx.state.get(MESSAGES).filter(({ speaker }) => names.has(speaker)))
    if (answer === undefined) throw new SuperstepError(code, message, { limit: true, retryable: false })
    finish(ctx, name, ctx.state.get(TEAM), "limit", answer)
  })
  return builder.onLimit(limit).build() as unknown as Team
}

function isWord(message: unknown): boolean {
  return typeof message === "object" && message !== null && "to" in message
}

/** Records a message, unless it is empty: a member may hand over without one. */
export function say(ctx: Context, message: TeamMessage, round: number): void {
  if (message.text === "") return
  ctx.state.write(MESSAGES, [message])
  ctx.emit("team.message", { speaker: message.speaker, round, text: message.text })
}

/**
 * Ends the team; its answer is the output. A team without an answer fails, so that it is not mistaken for one that
 * succeeded.
 */
export function finish(
  ctx: Context,
  team: string,
  state: TeamState,
  ended: Exclude<Ended, "resets">,
  answer: string | undefined,
): void {
  ctx.state.write(TEAM, { ...state, ended })
  ctx.emit("team.ended", { reason: ended, round: state.round })
  if (answer === undefined) {
    const turns = state.round === 1 ? "1 turn" : `${state.round} turns`
    const text = `Team "${team}" ended after ${turns} without an answer: ${WHY[ended]}, and no member wrote anything.`
    throw new SuperstepError("TEAM_NO_ANSWER", text, { retryable: false })
  }
  ctx.output(answer)
}

const WHY: Readonly<Record<Exclude<Ended, "resets">, string>> = {
  answered: "nobody was chosen to speak next",
  terminated: "terminate returned true",
  user: "the user ended the conversation",
  rounds: "it ran out of rounds",
  limit: "a limit was reached",
}

/** Gives the next turn to a member. */
export function give<S extends TeamState>(ctx: Context, state: S, to: string, note?: string): Word {
  ctx.state.write(TEAM, { ...state, round: state.round + 1, speaker: to })
  return note === undefined ? { to } : { to, note }
}

export async function isTerminated(
  ctx: Context,
  terminate: Terminate | undefined,
  round: number,
  more: readonly TeamMessage[] = [],
): Promise<boolean> {
  return terminate !== undefined && (await terminate([...transcript(ctx), ...more], round))
}

/** Requires a whole number of at least `min`. */
export function checkCount(team: string, option: string, value: number | undefined, min = 1): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= min)) return
  throw teamInvalid(team, `${option} must be a whole number of at least ${min}, not ${String(value)}.`)
}

export function memberOf(team: string, members: readonly Member[], name: string): Member {
  const found = members.find((one) => one.name === name)
  if (found !== undefined) return found
  const names = members.map((one) => `"${one.name}"`).join(", ")
  throw new SuperstepError("TEAM_INVALID", `Team "${team}" has no member "${name}"; it has ${names}.`)
}

export type Team<Out = string> = Workflow<TeamInput, Out>
