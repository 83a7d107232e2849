/**
 * Deep research: an outline, one loop per section, and one report. The sections run concurrently, each with its share of
 * the budget. If a section fails, the report shows the reason in its place.
 */
import { z } from "zod"
import { agent } from "../../agents/index.ts"
import { type LimitNotice, type Node, node, type Workflow, workflow } from "../../builder/index.ts"
import { loadModule } from "../../core/internal.ts"
import {
  type Callable,
  type Channel,
  type Context,
  channel,
  merge,
  type RunOptions,
  replace,
} from "../../runtime/index.ts"
import { clipped } from "../../text/index.ts"
import { type Incomplete, incomplete, isNoFailure, messageOf } from "../failures.ts"
import { agentStage, called, workflowStage } from "../stage-node.ts"
import type { DraftedSection, SectionDraft } from "./report/finish-report.ts"
import {
  askOrReport,
  askText,
  assignmentOf,
  INSTRUCTIONS,
  type ResearchAgents,
  researchAgents,
  tagged,
  tryAsk,
} from "./research-agents.ts"
import { type FinishedReport, iterativeReport, researchLoop } from "./research-loop.ts"
import {
  beginResearch,
  breachText,
  checkResearchOptions,
  concurrentSections,
  type DeepResearchOptions,
  exhaustedParts,
  type Models,
  recordBreach,
  reportMissing,
  shareOf,
  stopwatch,
  tokenShare,
  totalOf,
  withinTime,
} from "./research-options.ts"
import {
  ASSIGNMENT,
  type Assignment,
  BREACH,
  EVIDENCE,
  type Limits,
  modeSchema,
  type PlannerAnswer,
  REPORT,
  type SectionPlan,
  SPENT,
} from "./research-state.ts"
import { oneLine } from "./search-key.ts"
import { SEARCHES, SharedSearches } from "./shared-searches.ts"

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

/** `finish` creates the output from the report. */
function deepReport<Out>(
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
  const sections = node("sections", (_: PlanWay, ctx): readonly SectionRoute[] => {
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
  const parts = exhaustedParts(ctx, assignment, 0, seconds)
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

/** The sections of a deep research. Each runs its own loop, with its share of the budget, and returns a draft. */

/** The input of a section's loop. */
interface SectionInput extends SectionPlan {
  readonly background: string
  readonly limits: Limits
  /** See `Assignment`. */
  readonly section: string
}

interface FinishedDraft extends SectionDraft {
  readonly incomplete: readonly Incomplete[]
}

/** A draft, or the reason for its absence. */
type SectionResult = { readonly draft: FinishedDraft } | { readonly reason: string }

interface SectionRoute extends SectionPlan {
  readonly index: number
  readonly of: number
  /** Its share of the tokens. */
  readonly tokens: number
  /** The same for all sections, which share their searches. */
  readonly room?: string | undefined
}

interface SectionDone {
  readonly index: number
  readonly title: string
  readonly reason?: string | undefined
}

const PLAN: Channel<PlannerAnswer | undefined, PlannerAnswer> = channel("plan", replace<PlannerAnswer>())
/** By their index in the outline. */
const SECTIONS: Channel<Readonly<Record<string, SectionResult>>, Record<string, SectionResult>> = channel(
  "sections",
  merge<Record<string, SectionResult>>({}),
)

function sectionLoop(
  options: DeepResearchOptions,
  agents: ResearchAgents,
  shared: SharedSearches,
): Workflow<SectionInput, FinishedDraft> {
  return researchLoop<SectionInput, FinishedDraft>(
    {
      name: "section-research",
      description: "Researches one section of a report.",
      input: z.looseObject({ title: z.string(), key_question: z.string() }),
      assign: ({ title, key_question, background, limits, section }) => ({
        query: key_question,
        title,
        background,
        limits,
        section,
      }),
      search: ({ section }) => shared.searchOf(section),
      finish: (text, shown, ctx) => {
        const sources = ctx.state.get(EVIDENCE).map(({ text: _, tool: __, ...source }) => source)
        const others = sources.filter((_, i) => !shown.has(i))
        return {
          text,
          sources: sources.map((source, i) => (shown.has(i) ? source : null)),
          ...(others.length > 0 && { others }),
          incomplete: ctx.state.get(incomplete),
        }
      },
    },
    options,
    agents,
  )
}

/** Runs a section's loop in its own workflow, so that its state is isolated. */
function sectionNode(options: DeepResearchOptions, agents: ResearchAgents): Node<SectionRoute, SectionDone> {
  // Problems that are known from the start belong to the whole report.
  const shared = new SharedSearches()
  const loop = sectionLoop({ ...options, incomplete: undefined }, agents, shared)
  const run = async (way: SectionRoute, ctx: Context): Promise<SectionDone> => {
    const { index, of, title, key_question } = way
    const searches = shared.join(way.room ?? ctx.runId, ctx)
    const elapsed = stopwatch(ctx)
    const keep = async (result: SectionResult) => {
      ctx.state.write(SEARCHES, await searches.leave())
      ctx.state.write(SECTIONS, { [index]: result })
      ctx.state.write(SPENT, elapsed() / concurrentSections(options, of))
    }
    const lost = async (reason: string): Promise<SectionDone> => {
      await keep({ reason })
      return { index, title, reason }
    }
    try {
      // Recorded: after a restart the section continues with the same share.
      const { limits, parts } = await ctx.step("share", () => shareNow(options, way, ctx))
      if (parts.length > 0) return await lost(breachText(parts))
      const background = ctx.state.get(PLAN)?.background_context ?? ""
      const [draft] = await called(
        loop,
        { title, key_question, background, limits, section: searches.id },
        ctx,
      )
      if (draft === undefined || draft.text === "") return await lost("it returned no text")
      await keep({ draft })
      return { index, title }
    } catch (error) {
      if (isNoFailure(error, ctx)) throw error
      return await lost(messageOf(error))
    } finally {
      await searches.leave()
    }
  }
  const definition: Node["definition"] = {
    kind: "workflow",
    handlers: [{ schema: undefined, run: run as never }],
    nested: loop as unknown as Callable<never, unknown>,
  }
  return Object.freeze({ id: "section", definition: Object.freeze(definition) })
}

/** A section that starts late, because others had to end first, may have nothing left. */
function shareNow(options: DeepResearchOptions, way: SectionRoute, ctx: Context) {
  const total = assignmentOf(ctx)
  return { limits: shareOf(options, total, way, ctx), parts: exhaustedParts(ctx, total) }
}

/** The result of each section of the outline, and the problems. */
function draftedSections(ctx: Context): {
  readonly sections: readonly DraftedSection[]
  readonly problems: readonly Incomplete[]
} {
  const results = ctx.state.get(SECTIONS)
  const outline = ctx.state.get(PLAN)?.report_outline ?? []
  const problems: Incomplete[] = []
  const sections = outline.map(({ title }, index): DraftedSection => {
    const result = results[index] ?? { reason: ctx.state.get(BREACH) ?? "it was not reached" }
    if ("reason" in result) {
      problems.push({ source: `section "${title}"`, reason: result.reason })
      return { title, reason: result.reason }
    }
    for (const { source, reason } of result.draft.incomplete) {
      problems.push({ source: source === "research" ? `section "${title}"` : source, reason })
    }
    return { title, draft: result.draft }
  })
  return { sections, problems }
}

// Research that chooses its depth by the question: one search loop, or a report in sections.

interface Chosen {
  readonly mode: ResearchMode
  readonly query: string
}

/** Returns a report in Markdown. The budget applies to the research; choosing the mode is not part of it. */
export function autoResearch(options: DeepResearchOptions): Workflow<string, string> {
  const { name = "research", ...rest } = options
  const agents = researchAgents(options, "report")
  const question = z.string().min(1)
  const mode = agentStage<string, Chosen>(
    "mode",
    async (query, ctx) => ({ mode: await modeOf(query, agents, ctx), query }),
    { input: question },
  )
  const part = (id: ResearchMode, inner: Workflow<string, FinishedReport>) =>
    workflowStage<Chosen, string, FinishedReport, string>(id, inner, {
      input: ({ query }) => query,
      output: passOn,
    })
  const whole = (report: FinishedReport) => report
  const deep = part("deep", deepReport(rest, whole))
  const description = "Answers a question with a report, as deep as the question requires."
  return workflow(name, { description, state: [REPORT, incomplete] })
    .start(mode)
    .switch(
      mode,
      [{ when: (chosen) => chosen.mode === "deep", to: deep, label: "deep" }],
      part("iterative", iterativeReport(rest, whole)),
    )
    .build()
}

/** Returns the text, and writes the report as data to the run's state. */
function passOn([finished]: readonly FinishedReport[], ctx: Context): string {
  if (finished === undefined) return ""
  const { text, report } = finished
  ctx.state.write(REPORT, report)
  if (report.incomplete.length > 0) ctx.state.write(incomplete, report.incomplete)
  return text
}

/** Like `detectResearchMode`, as a recorded step. */
async function modeOf(query: string, agents: ResearchAgents, ctx: Context): Promise<ResearchMode> {
  try {
    const answer = await tryAsk<{ mode: ResearchMode }>(agents("mode"), `Question: ${query}`, ctx)
    return answer?.mode ?? modeByWords(query)
  } catch (error) {
    if (isNoFailure(error, ctx)) throw error
    ctx.log("warn", "The mode of the research was not answered; the question's words decide.", {
      reason: messageOf(error),
    })
    return modeByWords(query)
  }
}

export type ResearchMode = "iterative" | "deep"

/** Asks the model. If that fails, or its answer is unreadable, the words of the question decide. */
export async function detectResearchMode(
  query: string,
  model: Models,
  options: RunOptions = {},
): Promise<ResearchMode> {
  const parser = agent({
    name: "mode",
    model,
    instructions: INSTRUCTIONS.mode,
    output: modeSchema,
    repairs: 0,
  })
  try {
    const { outputs } = await parser.run(`Question: ${query}`, options)
    return outputs[0]?.mode ?? modeByWords(query)
  } catch (error) {
    if (options.signal?.aborted) throw error
    return modeByWords(query)
  }
}

const DEEP =
  /\b(?:reports?|sections?|chapters?|comprehensive|in[- ]depth|deep dive|detailed (?:analysis|study|review)|(?:literature|systematic) review|overview of|survey of|state of the art|landscape|market (?:analysis|research|study)|compare and contrast|pros and cons|history and)\b/i

function modeByWords(query: string): ResearchMode {
  return DEEP.test(query) ? "deep" : "iterative"
}
