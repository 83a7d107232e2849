/**
 * A manager and a team. The manager writes facts and a plan, then assesses the progress in each round and chooses the
 * next speaker. A round without progress, or in a loop, is a stall; one with progress removes a stall. After too many
 * stalls the manager starts over with what was learned and another plan.
 *
 * G1 Facts, plan, progress and answer are separate tasks, so each is a checkpoint.
 * G2 A progress ledger that stays unreadable after the manager's repairs is a stall.
 * G3 There is always an answer, even if rounds or resets are used up.
 */
import { z } from "zod"
import { type AgentCore, runAgent } from "../../agents/internal.ts"
import { node } from "../../builder/index.ts"
import { isSuperstepError } from "../../core/index.ts"
import { type Channel, type Context, channel, replace, type Schema } from "../../runtime/index.ts"
import {
  answering,
  checkManager,
  checkMembers,
  INPUT,
  MESSAGES,
  type Member,
  memberNode,
  roster,
  type SomeAgent,
  type TeamMessage,
  type TeamNode,
  viewOf,
} from "./member.ts"
import {
  beginNode,
  checkCount,
  say,
  seat,
  type Team,
  type TeamOptions,
  type TeamState,
  teamBuilder,
  type Word,
} from "./team.ts"

export interface MagenticOptions extends TeamOptions {
  /** Plans, tracks progress, and answers. */
  readonly manager: SomeAgent
  readonly agents: readonly Member[]
  /** Maximum stalls. After one more, the manager starts over. Default 3. */
  readonly maxStalls?: number | undefined
  /** Maximum rounds, over all plans. Default 50. */
  readonly maxRounds?: number | undefined
  /** How often the manager may start over. Default 5. */
  readonly maxResets?: number | undefined
  /** A person reviews each plan before it is followed: approves it, changes it, or rejects it with a reason. */
  readonly planReview?: boolean | { readonly to?: string | undefined } | undefined
}

export function magentic(options: MagenticOptions): Team {
  const { manager, agents, maxStalls = 3, maxRounds = 50, maxResets = 5, planReview = false } = options
  const name = options.name ?? "magentic"
  checkMembers(name, agents)
  checkManager(name, manager, agents)
  checkCount(name, "maxStalls", maxStalls, 0)
  checkCount(name, "maxRounds", maxRounds)
  checkCount(name, "maxResets", maxResets, 0)
  const { facts, plan, review, progress, answer } = managerNodes({
    manager,
    members: agents.map((one) => one.name),
    team: roster(agents),
    maxStalls,
    maxRounds,
    maxResets,
    reviewer: planReview === true ? {} : planReview === false ? undefined : planReview,
  })
  const builder = teamBuilder("magentic", options, [MAGENTIC, LEDGER])
  const begin = beginNode()
  builder.start(begin).edge(begin, facts).edge(facts, plan)
  if (review === undefined) builder.edge(plan, progress)
  else {
    const isRefused = ({ feedback }: { feedback?: string }) => feedback !== undefined
    builder
      .edge(plan, review)
      .switch(review, [{ when: isRefused, to: plan, label: "not accepted" }], progress)
  }
  const others = [facts, answer, progress]
  return seat({
    name,
    builder,
    members: agents,
    table: progress,
    others,
    visible: talkSince,
  })
}

interface Managing {
  readonly manager: SomeAgent
  readonly members: readonly string[]
  /** The members and their descriptions. */
  readonly team: string
  readonly maxStalls: number
  readonly maxRounds: number
  readonly maxResets: number
  /** The reviewer of plans. Undefined if plans are not reviewed. */
  readonly reviewer: { readonly to?: string | undefined } | undefined
}

type Why = "answered" | "rounds" | "resets"
interface Feedback {
  readonly feedback?: string | undefined
}

function managerNodes(managing: Managing) {
  const { manager, team, reviewer } = managing
  const writer = answering(manager, undefined)
  const write = async (ctx: Context, visible: readonly TeamMessage[], prompt: string) =>
    (await ask(writer, ctx, visible, prompt)) as string

  const facts = memberNode(
    manager,
    async (_, ctx) => {
      const before = ctx.state.get(LEDGER)
      const text = await write(ctx, talk(ctx, team), factsPrompt(before.facts))
      ctx.state.write(LEDGER, { ...before, facts: text })
      return {}
    },
    "#facts",
    `${manager.name}: facts`,
  )
  const plan = memberNode(
    manager,
    async ({ feedback }: Feedback, ctx: Context) => {
      const { facts: known = "", plan: before } = ctx.state.get(LEDGER)
      const visible = feedback === undefined ? talk(ctx, team) : []
      const text = await write(ctx, visible, planPrompt({ team, facts: known, before, feedback }))
      ctx.state.write(LEDGER, { facts: known, plan: text })
      ctx.state.write(MAGENTIC, { ...ctx.state.get(MAGENTIC), since: ctx.state.get(MESSAGES).length })
      ctx.emit("team.plan", {
        speaker: manager.name,
        round: ctx.state.get(MAGENTIC).round,
        facts: known,
        plan: text,
      })
      return {}
    },
    "#plan",
    `${manager.name}: plan`,
  )
  const answer = memberNode(
    manager,
    async ({ note }: Word, ctx: Context) => {
      const why = note as Why
      const text = await write(ctx, talk(ctx, team), answerPrompt(why))
      const state = ctx.state.get(MAGENTIC)
      say(ctx, { speaker: manager.name, text }, state.round)
      ctx.state.write(MAGENTIC, { ...state, ended: why })
      ctx.emit("team.ended", { reason: why, round: state.round })
      return text
    },
    "#answer",
    `${manager.name}: answer`,
  )
  const review = reviewer === undefined ? undefined : reviewNode(manager.name, reviewer.to)
  return { facts, plan, review, progress: progressNode(managing), answer }
}

/** Strict, because a misspelled field would approve a plan unread. */
const planAnswer = z.strictObject({
  approve: z.boolean().describe("Whether the team may follow the plan."),
  plan: z.string().optional().describe("Another plan to follow instead."),
  feedback: z.string().optional().describe("What is wrong with it: the manager plans again."),
})

/** A person's answer to a plan. */
export type PlanAnswer = z.infer<typeof planAnswer>

function reviewNode(speaker: string, to: string | undefined): TeamNode {
  return node("#review", async (_, ctx): Promise<Feedback> => {
    const { facts = "", plan = "" } = ctx.state.get(LEDGER)
    const data = { speaker, facts, plan }
    const answer = await ctx.ask({ prompt: `Follow this plan?\n\n${plan}`, data, schema: planAnswer, to })
    if (!answer.approve) return { feedback: feedbackOf(answer) }
    if (answer.plan !== undefined) ctx.state.write(LEDGER, { facts, plan: answer.plan })
    return {}
  })
}

function feedbackOf({ feedback, plan }: PlanAnswer): string {
  const wanted = plan === undefined ? [] : [`A plan that is nearer to what is wanted:\n${plan}`]
  const reasons = feedback === undefined ? wanted : [feedback, ...wanted]
  return reasons.length === 0 ? "It is not what is wanted." : reasons.join("\n\n")
}

function progressNode(managing: Managing): TeamNode {
  const { manager, members, team, maxStalls, maxRounds, maxResets } = managing
  const judge = answering(manager, progressSchema(members))
  const run = async (_: unknown, ctx: Context): Promise<Word> => {
    const before = ctx.state.get(MAGENTIC)
    if (before.round >= maxRounds) return end("rounds")
    const round = before.round + 1
    const ledger = await judged(judge, ctx, talk(ctx, team), progressPrompt(team))
    if (ledger !== undefined) ctx.emit("team.progress", { speaker: manager.name, round, ...ledger })
    const stalls = stallsAfter(before.stalls, ledger)
    const state: MagenticState = { ...before, round, stalls, ...(ledger && { progress: ledger }) }
    const keep = (changed: Partial<MagenticState> = {}) => ctx.state.write(MAGENTIC, { ...state, ...changed })
    if (ledger?.is_request_satisfied.answer) {
      keep({ stalls: before.stalls })
      return end("answered")
    }
    if (stalls > maxStalls) {
      if (before.resets >= maxResets) {
        keep()
        return end("resets")
      }
      keep({ stalls: 0, resets: before.resets + 1 })
      ctx.emit("team.reset", { speaker: manager.name, round, resets: before.resets + 1 })
      return { to: "#facts" }
    }
    if (ledger === undefined) {
      keep()
      return { to: "#progress" }
    }
    const next = ledger.next_speaker.answer
    keep({ speaker: next })
    say(ctx, { speaker: manager.name, text: ledger.instruction_or_question.answer }, round)
    return { to: next }
  }
  return memberNode(manager, run, "#progress", `${manager.name}: progress`)
}

function end(why: Why): Word {
  return { to: "#answer", note: why }
}

/** Increases on no progress, on a loop, and on an unreadable ledger (G2); decreases otherwise. */
function stallsAfter(stalls: number, ledger: ProgressLedger | undefined): number {
  const isStalled = ledger === undefined || ledger.is_in_loop.answer || !ledger.is_progress_being_made.answer
  return isStalled ? stalls + 1 : Math.max(0, stalls - 1)
}

async function judged(
  judge: AgentCore,
  ctx: Context,
  visible: readonly TeamMessage[],
  prompt: string,
): Promise<ProgressLedger | undefined> {
  try {
    return (await ask(judge, ctx, visible, prompt)) as ProgressLedger
  } catch (error) {
    if (!isSuperstepError(error) || error.code !== "OUTPUT_INVALID") throw error
    ctx.log("warn", `"${judge.name}" returned no readable progress ledger; that counts as a stall.`, {
      reason: error.message,
    })
    return undefined
  }
}

async function ask(
  core: AgentCore,
  ctx: Context,
  visible: readonly TeamMessage[],
  prompt: string,
): Promise<unknown> {
  const messages = viewOf(core.name, ctx.state.get(INPUT), visible, prompt)
  return await runAgent(core, { messages }, ctx)
}

/** The manager's view when it decides: its ledger, and the messages since the plan. */
function talk(ctx: Context, team: string): readonly TeamMessage[] {
  const { facts, plan } = ctx.state.get(LEDGER)
  if (facts === undefined || plan === undefined) return []
  return [{ speaker: "ledger", text: ledgerText(team, facts, plan) }, ...talkSince(ctx)]
}

// The notes of a magentic manager: facts and a plan for the task, and, in every round, the state of the work.

/** The state of the work, in the manager's view. */
export interface ProgressLedger {
  readonly is_request_satisfied: Finding<boolean>
  readonly is_in_loop: Finding<boolean>
  readonly is_progress_being_made: Finding<boolean>
  readonly next_speaker: Finding<string>
  readonly instruction_or_question: Finding<string>
}

export interface Finding<T> {
  readonly reason: string
  readonly answer: T
}

const FIELDS = [
  "is_request_satisfied",
  "is_in_loop",
  "is_progress_being_made",
  "next_speaker",
  "instruction_or_question",
] as const

/** Findings with their reasons. A missing reason is accepted, and a satisfied request needs no next speaker. */
function progressSchema(members: readonly string[]): Schema<ProgressLedger> {
  const found = <T extends z.ZodType>(answer: T) => z.object({ reason: z.string(), answer })
  const shape = z.object({
    is_request_satisfied: found(z.boolean()),
    is_in_loop: found(z.boolean()),
    is_progress_being_made: found(z.boolean()),
    next_speaker: found(z.enum(members as [string, ...string[]])),
    instruction_or_question: found(z.string()),
  })
  const optional = found(z.string()).catch({ reason: "", answer: "" })
  const satisfied = shape.extend({ next_speaker: optional, instruction_or_question: optional })
  const validate = (value: unknown) => {
    const ledger = withReasons(value)
    const { answer } = (ledger.is_request_satisfied ?? {}) as { answer?: unknown }
    return (answer === true ? satisfied : shape)["~standard"].validate(ledger)
  }
  return { "~standard": { ...shape["~standard"], validate } } as Schema<ProgressLedger>
}

function withReasons(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return {}
  const fields = value as Readonly<Record<string, unknown>>
  const entries = FIELDS.filter((field) => field in fields).map((field) => {
    const found = fields[field]
    const isBare = typeof found === "boolean" || typeof found === "string"
    if (isBare) return [field, { reason: "", answer: found }]
    // A missing reason does not warrant asking again.
    return [field, typeof found === "object" && found !== null ? { reason: "", ...found } : found]
  })
  return Object.fromEntries(entries)
}

function factsPrompt(before: string | undefined): string {
  if (before === undefined) {
    return "Before the work starts: write down what is known about this request. Four short lists: facts that it states; facts to look up, and where; facts to work out; guesses. No plan yet."
  }
  return `The work has got stuck and starts over. Bring the list of facts up to date with what has been learned since: correct it, add to it, turn guesses into facts where they were confirmed.\n\nThe list so far:\n${before}`
}

interface PlanPrompt {
  readonly team: string
  readonly facts: string
  /** The plan that did not work, or that a person did not accept. */
  readonly before: string | undefined
  readonly feedback: string | undefined
}

function planPrompt({ team, facts, before, feedback }: PlanPrompt): string {
  const parts = [`The team:\n${team}`, `What is known:\n${facts}`]
  if (before !== undefined) parts.push(`The plan before:\n${before}`)
  if (feedback !== undefined) parts.push(`A person did not accept it: ${feedback}`)
  else if (before !== undefined) parts.push("It got stuck. Say in a sentence what went wrong, and avoid it.")
  parts.push("Write a short plan, as a list: who of the team does what. Use only those who are needed.")
  return parts.join("\n\n")
}

function ledgerText(team: string, facts: string, plan: string): string {
  return `The team:\n${team}\n\nWhat is known:\n${facts}\n\nThe plan:\n${plan}`
}

function progressPrompt(team: string): string {
  return `The team:\n${team}\n\nWhere does the work stand? Answer with JSON alone, an object with these fields, each { "reason": why, "answer": … }:
- is_request_satisfied: true when the request is answered in full.
- is_in_loop: true when the team repeats the same statements or attempts.
- is_progress_being_made: true when the last turns brought the answer nearer.
- next_speaker: the name of the member who speaks next.
- instruction_or_question: the instruction or question for that member, with everything it needs to know.`
}

function answerPrompt(reason: "answered" | "rounds" | "resets"): string {
  const why =
    reason === "answered"
      ? ""
      : `The work ends here, as it has used up its ${reason}. Say what is missing where something is.\n\n`
  return `${why}Answer the user's request now, from what was found. Speak to the user: nothing about the team or how it worked.`
}

interface MagenticState extends TeamState {
  readonly stalls: number
  readonly resets: number
  /** The number of messages when the plan was made. The team works with later ones. */
  readonly since: number
  /** The last progress ledger that could be read. */
  readonly progress?: ProgressLedger | undefined
}

/** Uses the same state key as every team. */
const MAGENTIC: Channel<MagenticState, MagenticState> = channel(
  "team",
  replace<MagenticState>({ round: 0, stalls: 0, resets: 0, since: 0 }),
)

interface TaskLedger {
  readonly facts?: string | undefined
  readonly plan?: string | undefined
}

const LEDGER: Channel<TaskLedger, TaskLedger> = channel("ledger", replace<TaskLedger>({}))

/** Messages since the plan was made. */
function talkSince(ctx: Context): readonly TeamMessage[] {
  return ctx.state.get(MESSAGES).slice(ctx.state.get(MAGENTIC).since)
}
