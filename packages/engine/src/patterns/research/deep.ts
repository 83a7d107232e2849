/**
 * Deep research: an outline, one loop per section, and one report. The sections run concurrently, each with its share of the
 * budget. The report shows the reason in place of a section that fails.
 */
import { z } from "zod"
import { type LimitNotice, type Node, node, type Workflow, workflow } from "../../builder/index.ts"
import { loadModule } from "../../core/internal.ts"
import type { Context } from "../../runtime/index.ts"
import { clipped } from "../../text/index.ts"
import { incomplete } from "../failures.ts"
import { agentStage } from "../stage-node.ts"
import {
  draftedSections,
  PLAN,
  SECTIONS,
  type SectionDone,
  type SectionWay,
  sectionNode,
} from "./deep-sections.ts"
import { askOrReport, askText, type ResearchAgents, researchAgents } from "./research-agents.ts"
import type { PlannerAnswer } from "./research-answers.ts"
import {
  beginResearch,
  recordBreach,
  reportMissing,
  stopwatch,
  tokenShare,
  totalOf,
  usedUp,
  withinTime,
} from "./research-budget.ts"
import type { FinishedReport } from "./research-loop.ts"
import { checkResearchOptions, type DeepResearchOptions } from "./research-options.ts"
import { assignmentOf, tagged } from "./research-prompts.ts"
import { ASSIGNMENT, type Assignment, BREACH, REPORT, SPENT } from "./research-state.ts"
import { oneLine } from "./search-key.ts"
import { SEARCHES } from "./shared-searches.ts"

interface PlanWay {
  readonly to: "plan" | "sections" | "budget" | "synthesize"
  readonly parts?: readonly string[] | undefined
  readonly message?: string | undefined
}

const MAX_SECTIONS = 10
const MAX_TITLE_LENGTH = 150
const SUPERSTEPS = 1_000

/** Returns a report in Markdown; the state has it as data, as `report`. */
export function deepResearch(options: DeepResearchOptions): Workflow<string, string> {
  return deepReport(options, ({ text }) => text)
}

/** `finish` makes the output of the report. */
export function deepReport<Out>(
  options: DeepResearchOptions,
  finish: (report: FinishedReport) => Out,
): Workflow<string, Out> {
  checkResearchOptions(options)
  const { name = "deep-research", concurrency } = options
  const agents = researchAgents(options, "section")
  const question = node({
    id: "question",
    input: z.string().min(1),
    run: (query: string, ctx): PlanWay => {
      const assignment = beginResearch({ query, limits: totalOf(options) }, options, ctx)
      return onward("plan", ctx, assignment)
    },
  })
  const plan = agentStage("plan", planning(agents))
  const budget = node("budget", (cause: PlanWay | LimitNotice, ctx): PlanWay => {
    return { to: "synthesize", message: recordBreach(cause, 0, ctx) }
  })
  const sections = node("sections", (_: PlanWay, ctx): readonly SectionWay[] => {
    const outline = ctx.state.get(PLAN)?.report_outline ?? []
    const of = outline.length
    const tokens = tokenShare(assignmentOf(ctx), of, ctx)
    const room = ctx.idempotencyKey
    return outline.map((section, index) => ({ ...section, index, of, tokens, room }))
  })
  const section = sectionNode(options, agents)
  const synthesize = agentStage("synthesize", async (_: unknown, ctx) =>
    finish(await synthesized(agents, ctx)),
  )
  const spent = {
    when: ({ to }: PlanWay) => to === "budget",
    to: budget as Node<PlanWay, PlanWay>,
    label: "budget",
  }
  return workflow(name, {
    description: "Answers a question with a report in sections, each researched by itself.",
    state: [ASSIGNMENT, PLAN, SECTIONS, SEARCHES, SPENT, BREACH, REPORT, incomplete],
    schedule: "flow",
    limits: { supersteps: SUPERSTEPS },
  })
    .start(question)
    .switch(question, [spent], plan)
    .switch(plan, [spent], sections)
    .map(sections, section, synthesize as Node<readonly SectionDone[], Out>, { concurrency })
    .edge(budget as Node<PlanWay, PlanWay>, synthesize)
    .onLimit(budget as Node<LimitNotice, PlanWay>)
    .output(synthesize)
    .build() as unknown as Workflow<string, Out>
}

function planning(agents: ResearchAgents) {
  return async (_: PlanWay, ctx: Context): Promise<PlanWay> => {
    const assignment = assignmentOf(ctx)
    const { query } = assignment
    const elapsed = stopwatch(ctx)
    const asked = await withinTime(ctx, assignment, (inside) =>
      askOrReport<PlannerAnswer>(agents("planner"), `Question: ${query}`, inside),
    )
    const seconds = elapsed()
    ctx.state.write(SPENT, seconds)
    if (asked === undefined) return { to: "budget", parts: ["time"] }
    const { background_context, report_outline, report_title } = asked.value ?? wholeAsOne(query)
    ctx.state.write(PLAN, {
      background_context,
      report_outline: report_outline.slice(0, MAX_SECTIONS).map(({ title, key_question }) => ({
        title: clipped(oneLine(title) || oneLine(key_question), MAX_TITLE_LENGTH),
        key_question,
      })),
      report_title: titleOf(report_title, query),
    })
    return onward("sections", ctx, assignment, seconds)
  }
}

/** The outline to use when the planner returns none. */
function wholeAsOne(query: string): PlannerAnswer {
  return {
    background_context: "",
    report_outline: [{ title: query, key_question: query }],
    report_title: query,
  }
}

function onward(to: PlanWay["to"], ctx: Context, assignment: Assignment, seconds = 0): PlanWay {
  const parts = usedUp(ctx, assignment, 0, seconds)
  return parts.length === 0 ? { to } : { to: "budget", parts }
}

async function synthesized(agents: ResearchAgents, ctx: Context): Promise<FinishedReport> {
  const { query } = assignmentOf(ctx)
  const { finishDeepReport, joinSections, reportMarkdown } = await loadModule(
    () => import("./report/finish-report.ts"),
  )
  const { sections, problems } = draftedSections(ctx)
  const joined = joinSections(sections)
  const prompt = [...joined.texts.map((text) => tagged("context", text)), `Question: ${query}`]
  const opening = await askText(agents("synthesizer"), prompt.join("\n\n"), ctx)
  for (const { source, reason } of problems) reportMissing(ctx, source, reason)
  const report = finishDeepReport({
    question: query,
    title: ctx.state.get(PLAN)?.report_title ?? titleOf("", query),
    opening,
    joined,
    incomplete: [...ctx.state.get(incomplete), ...problems],
  })
  ctx.state.write(REPORT, report)
  return { text: reportMarkdown(report), report }
}

/** Falls back to the question if the title is empty or too long. */
function titleOf(proposed: string, query: string): string {
  const title = oneLine(proposed)
  const isFit = title !== "" && title.length <= MAX_TITLE_LENGTH
  return isFit ? title : clipped(oneLine(query), MAX_TITLE_LENGTH)
}
