/** The manager's tasks: facts, plan, a person's review of it, progress, answer. */
import { z } from "zod"
import type { AgentCore } from "../../agents/agent-core.ts"
import { runAgent } from "../../agents/agent-loop.ts"
import { node } from "../../builder/index.ts"
import { isSuperstepError } from "../../core/index.ts"
import type { Context } from "../../runtime/index.ts"
import {
  answerPrompt,
  factsPrompt,
  ledgerText,
  type ProgressLedger,
  planPrompt,
  progressPrompt,
  progressSchema,
} from "./ledger.ts"
import { LEDGER, MAGENTIC, type MagenticState, talkSince } from "./magentic-state.ts"
import { answering, memberNode, type SomeAgent, type TeamNode } from "./member.ts"
import { say, type Word } from "./team.ts"
import { INPUT, SAID, type Said, viewOf } from "./transcript.ts"

export interface Managing {
  readonly manager: SomeAgent
  readonly members: readonly string[]
  /** Who is who. */
  readonly team: string
  readonly maxStalls: number
  readonly maxRounds: number
  readonly maxResets: number
  /** Whom plans are shown to; undefined: nobody. */
  readonly reviewer: { readonly to?: string | undefined } | undefined
}

export interface ManagerNodes {
  readonly facts: TeamNode
  readonly plan: TeamNode
  readonly review: TeamNode | undefined
  readonly progress: TeamNode
  readonly answer: TeamNode
}

type Why = "answered" | "rounds" | "resets"
interface Feedback {
  readonly feedback?: string | undefined
}

export function managerNodes(managing: Managing): ManagerNodes {
  const { manager, team, reviewer } = managing
  const writer = answering(manager, undefined)
  const write = async (ctx: Context, said: readonly Said[], prompt: string) =>
    (await ask(writer, ctx, said, prompt)) as string

  const facts = memberNode(
    manager,
    async (_, ctx) => {
      const before = ctx.state.get(LEDGER)
      const text = await write(ctx, talk(ctx, team), factsPrompt(before.facts))
      ctx.state.write(LEDGER, { ...before, facts: text })
      return {}
    },
    "#facts",
  )
  const plan = memberNode(
    manager,
    async ({ feedback }: Feedback, ctx: Context) => {
      const { facts: known = "", plan: before } = ctx.state.get(LEDGER)
      const said = feedback === undefined ? talk(ctx, team) : []
      const text = await write(ctx, said, planPrompt({ team, facts: known, before, feedback }))
      ctx.state.write(LEDGER, { facts: known, plan: text })
      ctx.state.write(MAGENTIC, { ...ctx.state.get(MAGENTIC), since: ctx.state.get(SAID).length })
      ctx.emit("team.plan", {
        speaker: manager.name,
        round: ctx.state.get(MAGENTIC).round,
        facts: known,
        plan: text,
      })
      return {}
    },
    "#plan",
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
  )
  const review = reviewer === undefined ? undefined : reviewNode(manager.name, reviewer.to)
  return { facts, plan, review, progress: progressNode(managing), answer }
}

const planAnswer = z.object({
  approve: z.boolean().describe("Whether the team may follow the plan."),
  plan: z.string().optional().describe("Another plan to follow instead."),
  feedback: z.string().optional().describe("What is wrong with it: the manager plans again."),
})

/** What a person answers who is shown a plan. */
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
  const said = feedback === undefined ? wanted : [feedback, ...wanted]
  return said.length === 0 ? "It is not what is wanted." : said.join("\n\n")
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
  return memberNode(manager, run, "#progress")
}

function end(why: Why): Word {
  return { to: "#answer", note: why }
}

/** Up on no progress, on a loop, and on a ledger that cannot be read (G2); down otherwise. */
function stallsAfter(stalls: number, ledger: ProgressLedger | undefined): number {
  const isStalled = ledger === undefined || ledger.is_in_loop.answer || !ledger.is_progress_being_made.answer
  return isStalled ? stalls + 1 : Math.max(0, stalls - 1)
}

async function judged(
  judge: AgentCore,
  ctx: Context,
  said: readonly Said[],
  prompt: string,
): Promise<ProgressLedger | undefined> {
  try {
    return (await ask(judge, ctx, said, prompt)) as ProgressLedger
  } catch (error) {
    if (!isSuperstepError(error) || error.code !== "OUTPUT_INVALID") throw error
    ctx.log("warn", `"${judge.name}" did not say where the work stands; that counts as a stall.`, {
      reason: error.message,
    })
    return undefined
  }
}

async function ask(core: AgentCore, ctx: Context, said: readonly Said[], prompt: string): Promise<unknown> {
  const messages = viewOf(core.name, ctx.state.get(INPUT), said, prompt)
  return await runAgent(core, { messages }, ctx)
}

/** What the manager goes by: its ledger, and what was said since. */
function talk(ctx: Context, team: string): readonly Said[] {
  const { facts, plan } = ctx.state.get(LEDGER)
  if (facts === undefined || plan === undefined) return []
  return [{ speaker: "ledger", text: ledgerText(team, facts, plan) }, ...talkSince(ctx)]
}
