/**
 * Deep research: an outline, one loop per section, all at the same time and each with its share of the budget, and one
 * report. A section that fails says so in its place.
 */
import { z } from "zod"
import { type LimitNotice, type Node, node, type Workflow, workflow } from "../../builder/index.ts"
import { loadModule } from "../../core/module-load.ts"
import type { Context } from "../../runtime/index.ts"
import { agentStage } from "../stage-node.ts"
import {
  PLAN,
  reportParts,
  SECTIONS,
  type SectionDone,
  type SectionWay,
  sectionNode,
} from "./deep-sections.ts"
import { askText, type ResearchAgents, researchAgents, tryAsk } from "./research-agents.ts"
import type { PlannerAnswer } from "./research-answers.ts"
import {
  type BudgetPart,
  breachOfRun,
  breachText,
  stopwatch,
  tokenShare,
  totalOf,
  usedUp,
  withinTime,
} from "./research-budget.ts"
import { checkResearchOptions, type DeepResearchOptions } from "./research-options.ts"
import { assignmentOf, tagged } from "./research-prompts.ts"
import { ASSIGNMENT, type Assignment, BREACH, SPENT } from "./research-state.ts"

interface PlanWay {
  readonly to: "plan" | "sections" | "budget" | "synthesize"
  readonly parts?: readonly string[] | undefined
  readonly message?: string | undefined
}

const MOST_SECTIONS = 10
const LONGEST_TITLE = 150
const SUPERSTEPS = 1_000

/** Gives a report in Markdown. */
export function deepResearch(options: DeepResearchOptions): Workflow<string, string> {
  checkResearchOptions(options)
  const { name = "deep-research", concurrency } = options
  const agents = researchAgents(options, "section")
  const question = node({
    id: "question",
    input: z.string().min(1),
    run: (query: string, ctx): PlanWay => {
      const assignment: Assignment = { query, limits: totalOf(options) }
      ctx.state.write(ASSIGNMENT, assignment)
      return onward("plan", ctx, assignment)
    },
  })
  const plan = agentStage("plan", planning(agents))
  const budget = node("budget", (given: PlanWay | LimitNotice, ctx): PlanWay => {
    const message = "to" in given ? breachText(given.parts ?? []) : breachOfRun(given, ownBreach(ctx))
    ctx.state.write(BREACH, message)
    return { to: "synthesize", message }
  })
  const sections = node("sections", (_: PlanWay, ctx): readonly SectionWay[] => {
    const outline = ctx.state.get(PLAN)?.report_outline ?? []
    const of = outline.length
    const tokens = tokenShare(assignmentOf(ctx), of, ctx)
    return outline.map((section, index) => ({ ...section, index, of, tokens }))
  })
  const section = sectionNode(options, agents)
  const synthesize = agentStage("synthesize", synthesizing(agents))
  const spent = {
    when: ({ to }: PlanWay) => to === "budget",
    to: budget as Node<PlanWay, PlanWay>,
    label: "budget",
  }
  return workflow(name, {
    description: "Answers a question with a report in sections, each researched by itself.",
    state: [ASSIGNMENT, PLAN, SECTIONS, SPENT, BREACH],
    schedule: "flow",
    limits: { supersteps: SUPERSTEPS },
  })
    .start(question)
    .switch(question, [spent], plan)
    .switch(plan, [spent], sections)
    .map(sections, section, synthesize as Node<readonly SectionDone[], string>, { concurrency })
    .edge(budget as Node<PlanWay, PlanWay>, synthesize)
    .onLimit(budget as Node<LimitNotice, PlanWay>)
    .output(synthesize)
    .build() as unknown as Workflow<string, string>
}

function planning(agents: ResearchAgents) {
  return async (_: PlanWay, ctx: Context): Promise<PlanWay> => {
    const assignment = assignmentOf(ctx)
    const { query } = assignment
    const elapsed = stopwatch(ctx)
    const asked = await withinTime(ctx, assignment, (inside) =>
      tryAsk<PlannerAnswer>(agents("planner"), `Question: ${query}`, inside),
    )
    const seconds = elapsed()
    ctx.state.write(SPENT, seconds)
    if (asked === undefined) return { to: "budget", parts: ["time"] }
    const { background_context, report_outline, report_title } = asked.value ?? wholeAsOne(query)
    ctx.state.write(PLAN, {
      background_context,
      report_outline: report_outline.slice(0, MOST_SECTIONS).map(({ title, key_question }) => ({
        title: onOneLine(title) || onOneLine(key_question),
        key_question,
      })),
      report_title: titleOf(report_title, query),
    })
    return onward("sections", ctx, assignment, seconds)
  }
}

/** The outline where there is none. */
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

function ownBreach(ctx: Context): BudgetPart[] {
  const assignment = ctx.state.get(ASSIGNMENT)
  return assignment === undefined ? [] : usedUp(ctx, assignment)
}

function synthesizing(agents: ResearchAgents) {
  return async (_: unknown, ctx: Context): Promise<string> => {
    const { query } = assignmentOf(ctx)
    const plan = ctx.state.get(PLAN)
    const { ownWords, withSources } = await loadModule(() => import("./report.ts"))
    const { texts, sources } = await reportParts(ctx)
    const prompt = [...texts.map((text) => tagged("context", text)), `Question: ${query}`]
    const opening = await askText(agents("synthesizer"), prompt.join("\n\n"), ctx)
    const text = [
      `# ${plan?.report_title ?? onOneLine(query)}`,
      ownWords(opening.replace(/^# [^\n]*\n+/, ""), sources).trim(),
      ...texts,
    ]
    return withSources(text.join("\n\n"), sources, 1)
  }
}

/** A title that is none, the question is. */
function titleOf(given: string, query: string): string {
  const title = onOneLine(given)
  return title === "" || title.length > LONGEST_TITLE ? onOneLine(query) : title
}

function onOneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim()
}
