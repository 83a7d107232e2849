/**
 * The loop of a research: think, find the gap, choose searches, search, judge, until the evidence suffices or the budget
 * is exhausted; then write. Results are in the state, written once; messages only carry the route.
 *
 * L1 The budget is checked before every node except the writer, which always runs.
 * L2 An unreadable answer or a failed search never ends the run; both are reported.
 * L3 A search that an earlier pass made is not repeated.
 */
import { z } from "zod"
import { type LimitNotice, type Node, node, type Workflow, workflow } from "../../builder/index.ts"
import { loadModule } from "../../core/internal.ts"
import type { Context, Schema } from "../../runtime/index.ts"
import { cutText } from "../../text/index.ts"
import { scoresOf } from "../../text/internal.ts"
import { untilAborted } from "../../tools/index.ts"
import { incomplete } from "../failures.ts"
import { agentStage } from "../stage-node.ts"
import type { ResearchReport } from "./report/report.ts"
import {
  askOrReport,
  askText,
  assignmentOf,
  judgePrompt,
  progressPrompt,
  type ResearchAgents,
  researchAgents,
  selectPrompt,
  tagged,
  tryAsk,
  writePrompt,
} from "./research-agents.ts"
import {
  type BudgetPart,
  beginResearch,
  checkResearchOptions,
  exhaustedParts,
  limitsOf,
  type ResearchOptions,
  recordBreach,
  reportMissing,
  stopwatch,
  type TextEmbeddings,
  withinTime,
} from "./research-options.ts"
import {
  ASSIGNMENT,
  type Assignment,
  BREACH,
  CONVERSATION,
  EVIDENCE,
  type Evidence,
  type GapAnswer,
  type JudgeAnswer,
  REPORT,
  type ResearchTask,
  type SelectorAnswer,
  SPENT,
  VERDICTS,
  withEvidence,
} from "./research-state.ts"
import { WEB_SEARCH } from "./research-tools.ts"
import { type MakeSearch, recordedSearch, runTasks } from "./run-tasks.ts"
import { isQuery, oneLine, searchKey } from "./search-key.ts"

/** A message between nodes. `iteration` counts passes from 1; the optional fields are for observers. */
export interface Way {
  readonly to: "think" | "gap" | "select" | "search" | "judge" | "budget" | "write"
  readonly iteration: number
  readonly parts?: readonly BudgetPart[] | undefined
  readonly gap?: string | undefined
  readonly tasks?: readonly ResearchTask[] | undefined
  /** New sources, and failed searches. */
  readonly found?: number | undefined
  readonly failed?: number | undefined
  /** The distinct reasons of the failures. */
  readonly reasons?: readonly string[] | undefined
  /** Searches that an earlier pass made, and that are not repeated. */
  readonly repeated?: number | undefined
  readonly verdict?: JudgeAnswer | undefined
  readonly message?: string | undefined
}

export interface Loop<In, Out> {
  readonly name: string
  readonly description: string
  readonly input: Schema
  /** The assignment, from the workflow's input. */
  assign(input: In): Assignment
  /** Default: each search is a step of its pass. */
  search?(assignment: Assignment): MakeSearch
  /** Creates the output from the writer's text and the evidence that it received: positions in the list, from 0. */
  finish(text: string, shown: ReadonlySet<number>, ctx: Context): Out | Promise<Out>
}

/** Maximum searches in one pass. */
const MAX_TASKS = 10
const MAX_REASON_LENGTH = 500
// The budget limits the passes.
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
      const assignment = beginResearch(loop.assign(input), options, ctx)
      return onward({ to: "think", iteration: 0 }, ctx, assignment)
    },
  })
  const embeddings = options.embeddings && rememberedEmbeddings(options.embeddings)
  const { think, gap, select, search, judge } = passNodes(
    { ...options, embeddings, search: loop.search ?? (() => recordedSearch) },
    agents,
  )
  const budget = node("budget", (cause: Way | LimitNotice, ctx): Way => {
    const message = recordBreach(cause, ctx.state.get(VERDICTS).length, ctx)
    return { to: "write", iteration: "to" in cause ? cause.iteration : lastPass(ctx), message }
  })
  const write = agentStage("write", async (_: Way, ctx): Promise<Out> => {
    const { text, shown } = await shownEvidence(ctx, assignmentOf(ctx).query, embeddings)
    return loop.finish(await askText(agents("writer"), writePrompt(ctx, text), ctx), shown, ctx)
  })
  const to = (name: Way["to"]) => (way: Way) => way.to === name
  const spent = { when: to("budget"), to: budget as Node<Way, Way>, label: "budget" }
  const done = (label: string) => ({ when: to("write"), to: write, label })
  return workflow(loop.name, {
    description: loop.description,
    state: [ASSIGNMENT, EVIDENCE, CONVERSATION, VERDICTS, SPENT, BREACH, REPORT, incomplete],
    schedule: "flow",
    limits: { supersteps: SUPERSTEPS },
  })
    .start(question as Node<never, Way>)
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

interface PassOptions extends ResearchOptions {
  search(assignment: Assignment): MakeSearch
}

function passNodes(options: PassOptions, agents: ResearchAgents) {
  const { tools, embeddings } = options
  const think = stage("think", async ({ iteration: before }, ctx) => {
    const iteration = before + 1
    const thoughts = (await tryAsk<string>(agents("thinker"), progressPrompt(ctx), ctx))?.trim() ?? ""
    ctx.state.write(CONVERSATION, { iteration, thoughts })
    return { to: "gap", iteration }
  })
  const gap = stage("gap", async ({ iteration }, ctx) => {
    const answer = await askOrReport<GapAnswer>(agents("gap"), progressPrompt(ctx), ctx)
    if (answer?.research_complete) return { to: "write", iteration }
    const first = answer?.outstanding_gaps.find((one) => one.trim() !== "")
    const named = first ?? continued(assignmentOf(ctx).query)
    ctx.state.write(CONVERSATION, { iteration, gap: named })
    return { to: "select", iteration, gap: named }
  })
  const select = stage("select", async ({ iteration, gap: named = "" }, ctx) => {
    const answer = await askOrReport<SelectorAnswer>(agents("selector"), selectPrompt(ctx, named, tools), ctx)
    const chosen = withoutRepeats(answer?.tasks ?? []).slice(0, MAX_TASKS)
    const tasks = chosen.length > 0 ? chosen : [plainSearch(options, named, ctx)]
    return { to: "search", iteration, tasks }
  })
  const search = stage(
    "search",
    async ({ iteration, tasks = [] }, ctx) => {
      const made = ctx.state.get(CONVERSATION).filter((one) => one.iteration !== iteration)
      const search = options.search(assignmentOf(ctx))
      const results = await runTasks(tasks, { tools, made, search }, ctx)
      const evidence = results.flatMap((one) => one.evidence)
      const known = ctx.state.get(EVIDENCE)
      if (evidence.length > 0) ctx.state.write(EVIDENCE, evidence)
      ctx.state.write(CONVERSATION, {
        iteration,
        tool_calls: tasks.map(({ agent, query, entity_website }, i) => ({
          agent,
          query,
          ...(entity_website !== undefined && { entity_website }),
          ...(results[i]?.isFailed && { failed: true as const }),
        })),
        findings: results.map(({ output }) => output),
      })
      const lost = results.flatMap(({ isFailed, output }, i) => {
        if (!isFailed) return []
        const reason = cutText(output, MAX_REASON_LENGTH)
        reportMissing(ctx, sourceOf(tasks[i]), reason)
        return [reason]
      })
      // Every search of the same documents skips the same files, so they are reported once.
      const reported = new Set(ctx.state.get(incomplete).map(({ source }) => source))
      for (const { source, reason } of results.flatMap((one) => one.incomplete ?? [])) {
        if (reported.has(source)) continue
        reported.add(source)
        reportMissing(ctx, source, reason)
      }
      const found = withEvidence(known, evidence).length - known.length
      const repeated = results.filter(({ isRepeated }) => isRepeated).length
      return {
        to: "judge",
        iteration,
        found,
        failed: lost.length,
        ...(lost.length > 0 && { reasons: [...new Set(lost)] }),
        ...(repeated > 0 && { repeated }),
      }
    },
    "tool",
  )
  const judge = stage("judge", async ({ iteration }, ctx) => {
    const { text } = await shownEvidence(ctx, assignmentOf(ctx).query, embeddings)
    const answer = await askOrReport<JudgeAnswer>(agents("judge"), judgePrompt(ctx, text), ctx)
    const verdict = answer ?? GO_ON
    ctx.state.write(VERDICTS, [verdict])
    return { to: verdict.sufficient ? "write" : "think", iteration, verdict }
  })
  return { think, gap, select, search, judge }
}

/** The name of the search. */
function sourceOf(task: ResearchTask | undefined): string {
  return task === undefined ? "search" : `${task.agent} "${cutText(task.query, 200)}"`
}

const GO_ON: JudgeAnswer = {
  sufficient: false,
  confidence: 0,
  recommendation: "continue",
  next_search_queries: [],
  reasoning: "The judge's answer could not be read.",
}

/** A node that ends when the time is up, and returns the next route (L1). */
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

/** The route that a node requested; the writer instead if the budget is exhausted (L1). */
function onward(way: Way, ctx: Context, assignment: Assignment, seconds = 0): Way {
  if (way.to === "write") return way
  const passes = ctx.state.get(VERDICTS).length + (way.verdict === undefined ? 0 : 1)
  const parts = exhaustedParts(ctx, assignment, passes, seconds)
  return parts.length === 0 ? way : { ...way, to: "budget", parts }
}

/** Non-empty searches without duplicates: most search engines charge per search. */
function withoutRepeats(tasks: readonly ResearchTask[]): ResearchTask[] {
  const keys = tasks.map(searchKey)
  return tasks.filter(({ query }, i) => query.trim() !== "" && keys.indexOf(keys[i] as string) === i)
}

/** A search for the gap, or for the question if the gap is not a query. */
function plainSearch({ tools }: ResearchOptions, gap: string, ctx: Context): ResearchTask {
  const tool = tools.find(({ name }) => name === WEB_SEARCH) ?? tools[0]
  const { query } = assignmentOf(ctx)
  const isFit = isQuery(gap) && gap !== continued(query)
  return { agent: tool?.name ?? WEB_SEARCH, query: isFit ? gap : oneLine(query) }
}

/** The fallback if the gap is unreadable. */
function continued(query: string): string {
  return `Continue research on: ${query}`
}

function lastPass(ctx: Context): number {
  return ctx.state.get(CONVERSATION).at(-1)?.iteration ?? 0
}

/** A report in Markdown, and as data. */
export interface FinishedReport {
  readonly text: string
  readonly report: ResearchReport
}

/** Returns a report in Markdown; the state has it as data, as `report`. */
export function iterativeResearch(options: ResearchOptions): Workflow<string, string> {
  return iterativeReport(options, ({ text }) => text)
}

/** `finish` creates the output from the report. */
export function iterativeReport<Out>(
  options: ResearchOptions,
  finish: (report: FinishedReport) => Out,
): Workflow<string, Out> {
  checkResearchOptions(options)
  const { name = "iterative-research", budget } = options
  return researchLoop<string, Out>(
    {
      name,
      description:
        "Answers a question with a report: gaps are found and closed until the evidence is sufficient.",
      input: z.string().min(1),
      assign: (query) => ({ query, limits: limitsOf(budget) }),
      finish: async (text, shown, ctx) => {
        const { finishReport, reportMarkdown } = await loadModule(() => import("./report/finish-report.ts"))
        const report = finishReport({
          question: assignmentOf(ctx).query,
          text,
          evidence: ctx.state.get(EVIDENCE),
          isShown: (place) => shown.has(place),
          incomplete: ctx.state.get(incomplete),
        })
        ctx.state.write(REPORT, report)
        return finish({ text: reportMarkdown(report), report })
      },
    },
    options,
    researchAgents(options, "report"),
  )
}

// Evidence for agents: ranked by meaning or by words, limited, and numbered by its position.

/** About 10,000 tokens. */
const MAX_SHOWN = 40_000

interface ShownEvidence {
  readonly text: string
  /** Positions in the list, from 0. */
  readonly shown: ReadonlySet<number>
}

/**
 * If there is too much evidence, selects the best matches for the question. The choice is recorded, because embeddings
 * may vary between calls.
 */
async function shownEvidence(
  ctx: Context,
  query: string,
  embeddings: TextEmbeddings | undefined,
): Promise<ShownEvidence> {
  const evidence = ctx.state.get(EVIDENCE)
  if (evidence.length === 0) return { text: "", shown: new Set() }
  const size = evidence.reduce((sum, { text }) => sum + text.length, 0)
  const ranked =
    size <= MAX_SHOWN
      ? evidence.map((_, i) => i)
      : await ctx.step("rank", () => rank(ctx, evidence, query, embeddings))
  let room = MAX_SHOWN
  const shown = ranked.filter((i) => {
    const length = evidence[i]?.text.length ?? 0
    if (length > room) return false
    room -= length
    return true
  })
  const texts = shown.sort((a, b) => a - b).map((i) => evidenceText(evidence[i] as Evidence, i + 1))
  return { text: texts.join("\n\n"), shown: new Set(shown) }
}

async function rank(
  ctx: Context,
  evidence: readonly Evidence[],
  query: string,
  embeddings: TextEmbeddings | undefined,
): Promise<number[]> {
  try {
    return await searchEvidence(evidence, query, { embeddings, signal: ctx.signal })
  } catch (error) {
    if (ctx.signal.aborted) throw error
    const reason = error instanceof Error ? error.message : String(error)
    ctx.log("warn", "Evidence cannot be compared by meaning; it is compared by words.", { reason })
    return await searchEvidence(evidence, query)
  }
}

function evidenceText({ url, title, text, author, date }: Evidence, number: number): string {
  return tagged("document", text, {
    index: String(number),
    source: url,
    ...(title !== url && title !== "" && { title }),
    ...(author !== undefined && { author }),
    ...(date !== undefined && { date }),
  })
}

export interface EvidenceSearchOptions {
  readonly embeddings?: TextEmbeddings | undefined
  /** Default: all of it, ranked. */
  readonly limit?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** Positions in the list, the best first. Evidence is numbered by its position. */
export async function searchEvidence(
  evidence: readonly Evidence[],
  query: string,
  options: EvidenceSearchOptions = {},
): Promise<number[]> {
  const { embeddings, limit = evidence.length, signal } = options
  const texts = evidence.map(({ title, text }) => `${title}\n${text}`)
  const scores =
    embeddings === undefined ? scoresOf(query, texts) : await nearness(embeddings, query, texts, signal)
  return evidence
    .map((_, i) => i)
    .sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b)
    .slice(0, limit)
}

async function nearness(
  embeddings: TextEmbeddings,
  query: string,
  texts: readonly string[],
  signal: AbortSignal | undefined,
): Promise<number[]> {
  if (texts.length === 0) return []
  const [asked, ...vectors] = await embeddings.embed([query, ...texts], signal)
  return vectors.map((vector) => (asked === undefined ? 0 : cosine(asked, vector)))
}

function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let [dot, aa, bb] = [0, 0, 0]
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [a[i] ?? 0, b[i] ?? 0]
    dot += x * y
    aa += x * x
    bb += y * y
  }
  return aa === 0 || bb === 0 ? 0 : dot / Math.sqrt(aa * bb)
}

type Vector = ArrayLike<number>

/** With a thousand dimensions, these are a few megabytes. */
const MAX_REMEMBERED = 1_000

function rememberedEmbeddings(embeddings: TextEmbeddings): TextEmbeddings {
  const known = new Map<string, Vector>()
  return {
    async embed(texts, signal) {
      const missing = [...new Set(texts)].filter((text) => !known.has(text))
      const found = new Map(known)
      if (missing.length > 0) {
        signal?.throwIfAborted()
        // Embeddings that ignore the signal do not delay the abort.
        const vectors = await untilAborted(embeddings.embed(missing, signal), signal)
        for (const [i, text] of missing.entries()) {
          const vector = vectors[i]
          if (vector === undefined)
            throw new Error(`${vectors.length} vectors were returned for ${missing.length} texts`)
          found.set(text, vector)
          known.set(text, vector)
        }
      }
      for (const text of known.keys()) {
        if (known.size <= MAX_REMEMBERED) break
        known.delete(text)
      }
      return texts.map((text) => found.get(text) ?? [])
    },
  }
}
