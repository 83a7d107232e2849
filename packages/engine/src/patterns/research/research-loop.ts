/**
 * The loop of a research: think, find the gap, choose searches, search, judge, until the evidence suffices or the budget is
 * spent; then write. What was found and said is in the state, written once; messages only say where to go.
 *
 * L1 the budget is looked at before every node but the writer, which always runs.
 * L2 an answer that cannot be read, and a search that fails, never end the run.
 */
import { type LimitNotice, type Node, node, type Workflow, workflow } from "../../builder/index.ts"
import type { Context, Schema } from "../../runtime/index.ts"
import { cutText } from "../../text/index.ts"
import { agentStage } from "../stage-node.ts"
import { rememberedEmbeddings } from "./remembered-embeddings.ts"
import { askText, type ResearchAgents, tryAsk } from "./research-agents.ts"
import type { GapAnswer, JudgeAnswer, ResearchTask, SelectorAnswer } from "./research-answers.ts"
import { type BudgetPart, breachOfRun, breachText, stopwatch, usedUp, withinTime } from "./research-budget.ts"
import type { ResearchOptions } from "./research-options.ts"
import { assignmentOf, judgePrompt, progressPrompt, selectPrompt, writePrompt } from "./research-prompts.ts"
import {
  ASSIGNMENT,
  type Assignment,
  BREACH,
  CONVERSATION,
  EVIDENCE,
  SPENT,
  VERDICTS,
  withEvidence,
} from "./research-state.ts"
import { WEB_SEARCH } from "./research-tools.ts"
import { runTasks } from "./run-tasks.ts"
import { shownEvidence } from "./shown-evidence.ts"

/** From node to node. `iteration` counts passes from 1; what else there is tells those who watch. */
export interface Way {
  readonly to: "think" | "gap" | "select" | "search" | "judge" | "budget" | "write"
  readonly iteration: number
  readonly parts?: readonly BudgetPart[] | undefined
  readonly gap?: string | undefined
  readonly tasks?: readonly ResearchTask[] | undefined
  /** Sources that were not known before, and searches that failed. */
  readonly found?: number | undefined
  readonly failed?: number | undefined
  /** Why they failed, each once. */
  readonly reasons?: readonly string[] | undefined
  readonly verdict?: JudgeAnswer | undefined
  readonly message?: string | undefined
}

export interface Loop<In, Out> {
  readonly name: string
  readonly description: string
  readonly input: Schema
  /** What is asked, from what the workflow was given. */
  assign(input: In): Assignment
  /** What comes out, from what the writer wrote. */
  finish(text: string, ctx: Context): Out | Promise<Out>
}

/** Searches in one pass. */
const MOST_TASKS = 10
const LONGEST_REASON = 500
// The budget counts passes.
const SUPERSTEPS = 1_000_000

export function researchLoop<In, Out>(
  loop: Loop<In, Out>,
  options: ResearchOptions,
  agents: ResearchAgents,
): Workflow<In, Out> {
  const question = node({
    id: "question",
    input: loop.input as Schema<In>,
    run: (input: In, ctx): Way => {
      const assignment = loop.assign(input)
      ctx.state.write(ASSIGNMENT, assignment)
      return onward({ to: "think", iteration: 0 }, ctx, assignment)
    },
  })
  const embeddings = options.embeddings && rememberedEmbeddings(options.embeddings)
  const { think, gap, select, search, judge } = passNodes({ ...options, embeddings }, agents)
  const budget = node("budget", (given: Way | LimitNotice, ctx): Way => {
    const message = "to" in given ? breachText(given.parts ?? []) : breachOfRun(given, ownBreach(ctx))
    ctx.state.write(BREACH, message)
    return { to: "write", iteration: "to" in given ? given.iteration : lastPass(ctx), message }
  })
  const write = agentStage("write", async (_: Way, ctx): Promise<Out> => {
    const evidence = await shownEvidence(ctx, assignmentOf(ctx).query, embeddings)
    return loop.finish(await askText(agents("writer"), writePrompt(ctx, evidence), ctx), ctx)
  })
  const to = (name: Way["to"]) => (way: Way) => way.to === name
  const spent = { when: to("budget"), to: budget as Node<Way, Way>, label: "budget" }
  const done = (label: string) => ({ when: to("write"), to: write, label })
  return workflow(loop.name, {
    description: loop.description,
    state: [ASSIGNMENT, EVIDENCE, CONVERSATION, VERDICTS, SPENT, BREACH],
    schedule: "flow",
    limits: { supersteps: SUPERSTEPS },
  })
    .start(question)
    .switch(question, [spent], think)
    .switch(think, [spent], gap)
    .switch(gap, [spent, done("complete")], select)
    .switch(select, [spent], search)
    .switch(search, [spent], judge)
    .switch(judge, [spent, done("sufficient")], think)
    .edge(budget as Node<Way, Way>, write)
    .onLimit(budget as Node<LimitNotice, Way>)
    .output(write)
    .build() as unknown as Workflow<In, Out>
}

function passNodes(options: ResearchOptions, agents: ResearchAgents) {
  const { tools, embeddings } = options
  const think = stage("think", async ({ iteration: before }, ctx) => {
    const iteration = before + 1
    const thoughts = (await tryAsk<string>(agents("thinker"), progressPrompt(ctx), ctx))?.trim() ?? ""
    ctx.state.write(CONVERSATION, { iteration, thoughts })
    return { to: "gap", iteration }
  })
  const gap = stage("gap", async ({ iteration }, ctx) => {
    const answer = await tryAsk<GapAnswer>(agents("gap"), progressPrompt(ctx), ctx)
    if (answer?.research_complete) return { to: "write", iteration }
    const first = answer?.outstanding_gaps.find((one) => one.trim() !== "")
    const named = first ?? `Continue research on: ${assignmentOf(ctx).query}`
    ctx.state.write(CONVERSATION, { iteration, gap: named })
    return { to: "select", iteration, gap: named }
  })
  const select = stage("select", async ({ iteration, gap: named = "" }, ctx) => {
    const answer = await tryAsk<SelectorAnswer>(agents("selector"), selectPrompt(ctx, named, tools), ctx)
    const chosen = withoutRepeats(answer?.tasks ?? []).slice(0, MOST_TASKS)
    const tasks = chosen.length > 0 ? chosen : [plainSearch(options, named)]
    return { to: "search", iteration, tasks }
  })
  const search = stage(
    "search",
    async ({ iteration, tasks = [] }, ctx) => {
      const results = await runTasks(tasks, tools, ctx)
      const evidence = results.flatMap((one) => one.evidence)
      const known = ctx.state.get(EVIDENCE)
      if (evidence.length > 0) ctx.state.write(EVIDENCE, evidence)
      ctx.state.write(CONVERSATION, {
        iteration,
        tool_calls: tasks.map(({ agent, query }) => ({ agent, query })),
        findings: results.map(({ output }) => output),
      })
      const found = withEvidence(known, evidence).length - known.length
      const lost = results.filter((one) => one.isFailed).map(({ output }) => cutText(output, LONGEST_REASON))
      const reasons = lost.length === 0 ? {} : { reasons: [...new Set(lost)] }
      return { to: "judge", iteration, found, failed: lost.length, ...reasons }
    },
    "tool",
  )
  const judge = stage("judge", async ({ iteration }, ctx) => {
    const evidence = await shownEvidence(ctx, assignmentOf(ctx).query, embeddings)
    const answer = await tryAsk<JudgeAnswer>(agents("judge"), judgePrompt(ctx, evidence), ctx)
    const verdict = answer ?? GO_ON
    ctx.state.write(VERDICTS, [verdict])
    return { to: verdict.sufficient ? "write" : "think", iteration, verdict }
  })
  return { think, gap, select, search, judge }
}

const GO_ON: JudgeAnswer = {
  sufficient: false,
  confidence: 0,
  recommendation: "continue",
  next_search_queries: [],
  reasoning: "The judge's answer could not be read.",
}

/** A node that is left when the time is up, and that says where to go (L1). */
function stage(
  id: Way["to"],
  run: (way: Way, ctx: Context) => Promise<Way>,
  kind: "agent" | "tool" = "agent",
): Node<Way, Way> {
  const within = async (way: Way, ctx: Context): Promise<Way> => {
    const assignment = assignmentOf(ctx)
    const elapsed = stopwatch(ctx)
    const done = await withinTime(ctx, assignment, (inside) => run(way, inside))
    const seconds = elapsed()
    ctx.state.write(SPENT, seconds)
    if (done === undefined) return { to: "budget", iteration: way.iteration, parts: ["time"] }
    return onward(done.value, ctx, assignment, seconds)
  }
  return kind === "agent" ? agentStage(id, within) : node(id, within)
}

/** On to where a node wants to go, unless that is not the writer and something is used up (L1). */
function onward(way: Way, ctx: Context, assignment: Assignment, seconds = 0): Way {
  if (way.to === "write") return way
  const passes = ctx.state.get(VERDICTS).length + (way.verdict === undefined ? 0 : 1)
  const parts = usedUp(ctx, assignment, passes, seconds)
  return parts.length === 0 ? way : { ...way, to: "budget", parts }
}

/** What is used up of the research's own budget. */
function ownBreach(ctx: Context): BudgetPart[] {
  const assignment = ctx.state.get(ASSIGNMENT)
  return assignment === undefined ? [] : usedUp(ctx, assignment, ctx.state.get(VERDICTS).length)
}

/** Searches with words, each once: most engines are paid by the search. */
function withoutRepeats(tasks: readonly ResearchTask[]): ResearchTask[] {
  const keyOf = ({ agent, query, entity_website: site = "" }: ResearchTask) =>
    JSON.stringify([agent, query.trim(), site])
  const keys = tasks.map(keyOf)
  return tasks.filter(({ query }, i) => query.trim() !== "" && keys.indexOf(keys[i] as string) === i)
}

function plainSearch({ tools }: ResearchOptions, query: string): ResearchTask {
  const tool = tools.find(({ name }) => name === WEB_SEARCH) ?? tools[0]
  return { agent: tool?.name ?? WEB_SEARCH, query }
}

function lastPass(ctx: Context): number {
  return ctx.state.get(CONVERSATION).at(-1)?.iteration ?? 0
}
