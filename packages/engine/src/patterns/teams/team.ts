/**
 * What teams have in common. Most of them go round a table: a node in the middle gives the word to one member, which has
 * its turn in a task of its own and gives the word back. So every turn is a checkpoint, and who comes next is decided in
 * one place.
 */
import { type LimitNotice, node, type Workflow, type WorkflowBuilder, workflow } from "../../builder/index.ts"
import { type Budget, SuperstepError } from "../../core/index.ts"
import { type Channel, type Context, channel, replace } from "../../runtime/index.ts"
import { type Member, memberNode, speak, type TeamNode, teamInvalid } from "./member.ts"
import {
  INPUT,
  keepInput,
  lastWord,
  SAID,
  type Said,
  saidBy,
  type TeamInput,
  transcript,
} from "./transcript.ts"

export interface TeamOptions {
  /** The workflow's name. Default: what kind of team it is. */
  readonly name?: string | undefined
  readonly description?: string | undefined
  /** The most that a run may use, and milliseconds it may take, people's time included, unless it is given its own. */
  readonly budget?: Budget | undefined
  readonly timeout?: number | undefined
}

/** Ends the conversation when it holds; asked after every turn. */
export type Terminate = (said: readonly Said[], round: number) => boolean | Promise<boolean>

/** Where the team is: in the run's state under `team`. */
export interface TeamState {
  /** Turns so far. */
  readonly round: number
  /** Who has the word, or had it last. */
  readonly speaker?: string | undefined
  /** Why it is over. */
  readonly ended?: Ended | undefined
}

export type Ended = "answered" | "terminated" | "user" | "rounds" | "resets" | "limit"

export const TEAM: Channel<TeamState, TeamState> = channel("team", replace<TeamState>({ round: 0 }))

/** From the table to a member. */
export interface Word {
  readonly to: string
  readonly note?: string | undefined
}

/** Back to the table; undefined fields where the team begins. */
export interface Back {
  readonly from?: string | undefined
  /** The member it handed over to. */
  readonly to?: string | undefined
}

// Teams count their rounds themselves, and a person may have much to say.
const SUPERSTEPS = 1_000_000

export function teamBuilder(
  kind: string,
  options: TeamOptions,
  state: readonly Channel<unknown, never>[],
): WorkflowBuilder {
  const { name = kind, description, budget, timeout } = options
  const limits = { supersteps: SUPERSTEPS }
  return workflow(name, { description, budget, timeout, limits, state: [INPUT, SAID, ...state] })
}

/** Takes the input down. */
export function beginNode(): TeamNode {
  return node("#begin", (input: TeamInput, ctx): Back => {
    keepInput(input, ctx)
    return {}
  })
}

export interface Table {
  readonly builder: WorkflowBuilder
  readonly members: readonly Member[]
  /** The node in the middle. */
  readonly table: TeamNode
  /** Other nodes that it can go to. */
  readonly others?: readonly TeamNode[] | undefined
  /** What a member sees when it has the word. Default: all that was said. */
  readonly said?: ((ctx: Context) => readonly Said[]) | undefined
  /** Whom a member can hand over to. */
  readonly handsTo?: ((member: Member) => readonly Member[]) | undefined
}

/** Wires the table with its members. The start is the caller's. */
export function seat<Out>({ builder, members, table, others = [], said, handsTo }: Table) {
  const seats = members.map((member) =>
    memberNode(member, async ({ note }: Word, ctx: Context): Promise<Back> => {
      const { round } = ctx.state.get(TEAM)
      ctx.emit("team.turn", { speaker: member.name, round })
      const seen = said === undefined ? ctx.state.get(SAID) : said(ctx)
      const { answer, to } = await speak(member, { said: seen, note, others: handsTo?.(member) }, ctx)
      say(ctx, saidBy(member.name, answer), round)
      if (to !== undefined) ctx.emit("team.handoff", { speaker: member.name, to, round })
      return to === undefined ? { from: member.name } : { from: member.name, to }
    }),
  )
  const targets = [...seats, ...others]
  const [only] = targets
  if (targets.length === 1 && only !== undefined) builder.edge(table, only, { when: isWord })
  else builder.fanOut(table, targets, { select: ({ to }: Word) => [to] })
  for (const one of seats) builder.edge(one, table)
  const names = new Set(members.map((one) => one.name))
  const limit = node("#limit", ({ code, message }: LimitNotice, ctx) => {
    // What a manager tells a member is no answer.
    const answer = lastWord(ctx.state.get(SAID).filter(({ speaker }) => names.has(speaker)))
    if (answer === undefined) throw new SuperstepError(code, message, { limit: true, retryable: false })
    finish(ctx, ctx.state.get(TEAM), "limit", answer)
  })
  return builder.onLimit(limit) as unknown as WorkflowBuilder<TeamInput, Out, never>
}

function isWord(message: unknown): boolean {
  return typeof message === "object" && message !== null && "to" in message
}

/** Takes down what was said. One who hands over without a word has said nothing. */
export function say(ctx: Context, said: Said, round: number): void {
  if (said.text === "") return
  ctx.state.write(SAID, [said])
  ctx.emit("team.message", { speaker: said.speaker, round, text: said.text })
}

/** The team is done; its answer is the output. */
export function finish(ctx: Context, state: TeamState, ended: Ended, answer: string | undefined): void {
  ctx.state.write(TEAM, { ...state, ended })
  ctx.emit("team.ended", { reason: ended, round: state.round })
  if (answer !== undefined) ctx.output(answer)
}

/** Gives the word to a member. */
export function give<S extends TeamState>(ctx: Context, state: S, to: string, note?: string): Word {
  ctx.state.write(TEAM, { ...state, round: state.round + 1, speaker: to })
  return note === undefined ? { to } : { to, note }
}

export async function isTerminated(
  ctx: Context,
  terminate: Terminate | undefined,
  round: number,
  more: readonly Said[] = [],
): Promise<boolean> {
  return terminate !== undefined && (await terminate([...transcript(ctx), ...more], round))
}

/** A whole number from 1 on, or from 0. */
export function checkCount(team: string, option: string, value: number | undefined, least = 1): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= least)) return
  throw teamInvalid(team, `${option} is a whole number of at least ${least}, not ${String(value)}.`)
}

export function memberOf(team: string, members: readonly Member[], name: string): Member {
  const found = members.find((one) => one.name === name)
  if (found !== undefined) return found
  const names = members.map((one) => `"${one.name}"`).join(", ")
  throw new SuperstepError("TEAM_INVALID", `Team "${team}" has no member "${name}"; it has ${names}.`)
}

export type Team<Out = string> = Workflow<TeamInput, Out>
