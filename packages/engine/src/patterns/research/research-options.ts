/** The options of a research. */
import type { AgentOptions } from "../../agents/index.ts"
import type { LimitNotice } from "../../builder/index.ts"
import { SuperstepError } from "../../core/index.ts"
import type { ModelRef } from "../../models/index.ts"
import { Deadline } from "../../models/internal.ts"
import type { Context } from "../../runtime/index.ts"
import { nearest } from "../../text/index.ts"
import { type Incomplete, reportIncomplete } from "../failures.ts"
import { ASSIGNMENT, type Assignment, BREACH, type Limits, SPENT } from "./research-state.ts"
import type { ResearchTool } from "./research-tools.ts"

export const RESEARCH_ROLES = [
  "mode",
  "planner",
  "thinker",
  "gap",
  "selector",
  "judge",
  "writer",
  "synthesizer",
] as const

/** The agents of a research, by their names in usage and in scripts. */
export type ResearchRole = (typeof RESEARCH_ROLES)[number]

export interface ResearchOptions {
  /** The workflow's name. Default: `research`, `iterative-research` or `deep-research`. */
  readonly name?: string | undefined
  /** The model of every agent that `models` does not name. */
  readonly model: Models
  readonly models?: { readonly [R in ResearchRole]?: Models | undefined } | undefined
  /** Options of model calls: retries, timeouts, prices. */
  readonly calling?: AgentOptions["calling"]
  /** The tools that search, `web_search` first if there is one. The selector chooses by their descriptions. */
  readonly tools: readonly ResearchTool[]
  readonly budget?: ResearchBudget | undefined
  /** Problems of the sources that are known before the research begins, such as unreadable documents. */
  readonly incomplete?: readonly Incomplete[] | undefined
  /** Selects evidence by meaning if there is more than a model receives. Without embeddings, it is selected by words. */
  readonly embeddings?: TextEmbeddings | undefined
}

export interface DeepResearchOptions extends ResearchOptions {
  /** The maximum for one section. Default: an equal share of the total, and 10 iterations. */
  readonly sectionBudget?: ResearchBudget | undefined
  /** Concurrent sections. Default: all. */
  readonly concurrency?: number | undefined
}

export type Models = ModelRef | readonly ModelRef[]

/** Limits of the search. The writer runs in any case. */
export interface ResearchBudget {
  /** Input and output together. Default 100,000. */
  readonly tokens?: number | undefined
  /** Default 600. */
  readonly seconds?: number | undefined
  /** Passes of the loop. Default 10. */
  readonly iterations?: number | undefined
}

/** Embeddings: vectors of texts, in which similar meaning is a small distance. */
export interface TextEmbeddings {
  /** Returns one vector per text, in the same order. */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<readonly ArrayLike<number>[]>
}

const TOKENS = 100_000
const SECONDS = 600
const ITERATIONS = 10

/** Rejects invalid options before anything runs. */
export function checkResearchOptions(options: DeepResearchOptions): void {
  const { model, tools, concurrency } = options
  if (model === undefined) throw invalid('set a model, such as "openai/gpt-5" or "offline".')
  if (!Array.isArray(tools) || tools.length === 0) {
    throw invalid("add search tools: webSearchTool(…), pageTool(…), documentsTool(…).")
  }
  const names = tools.map(({ name }) => name)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) throw invalid(`two of its tools are named "${twice}".`)
  for (const name of ["budget", "sectionBudget"] as const) {
    for (const [part, value] of Object.entries(options[name] ?? {})) checkPart(`${name}.${part}`, value)
  }
  if (concurrency !== undefined && !(Number.isSafeInteger(concurrency) && concurrency >= 1)) {
    throw invalid(`concurrency must be a whole number of at least 1, not ${String(concurrency)}.`)
  }
}

const PARTS: readonly string[] = ["tokens", "seconds", "iterations"]

function checkPart(name: string, value: unknown): void {
  const [option = "", part = ""] = name.split(".")
  if (!PARTS.includes(part)) {
    const meant = nearest(part, PARTS)
    const hint = meant === undefined ? "" : `; did you mean "${option}.${meant}"?`
    throw invalid(`there is no ${name}; a budget has tokens, seconds and iterations${hint || "."}`)
  }
  if (value === undefined || (Number.isFinite(value) && (value as number) >= 0)) return
  throw invalid(`${name} must be a number of at least 0, not ${String(value)}.`)
}

function invalid(reason: string): SuperstepError {
  return new SuperstepError("RESEARCH_INVALID", `Research: ${reason}`)
}

// The budget of a research. It is checked before every node except the last one, so that the writer always runs. The
// check is at the end of the previous node, when its usage is recorded, so a restart decides the same.
//
// B1 A part is exhausted when its limit is reached.
// B2 Tokens are those of this workflow alone: a section does not pay for another.
// B3 The time limit also ends running work; results so far stay.
// B4 Time counts while nodes execute: a run that was stopped and resumes a day later has the same time left.

export type BudgetPart = "tokens" | "time" | "iterations"

export function limitsOf(budget: ResearchBudget = {}): Limits {
  const { tokens = TOKENS, seconds = SECONDS, iterations = ITERATIONS } = budget
  return { tokens, seconds, iterations }
}

/** The total of a deep research. Passes are counted by section. */
export function totalOf({ budget = {} }: DeepResearchOptions): Limits {
  const { tokens = TOKENS, seconds = SECONDS } = budget
  return { tokens, seconds }
}

/** The share of the remaining budget for the searches of the sections. The rest is for writing. */
const FOR_SECTIONS = 0.75

/** A section's part of the tokens: the same for all, whenever they start. */
export function tokenShare({ limits }: Assignment, sections: number, ctx: Context): number {
  return Math.floor((tokensLeft(limits, ctx) * FOR_SECTIONS) / sections)
}

/** The section that requests a share: number `index` of `of`. */
interface Sharing {
  readonly index: number
  readonly of: number
  readonly tokens: number
}

/** A section's share: its part of the tokens, and of the time, which concurrent sections use together. */
export function shareOf(
  options: DeepResearchOptions,
  { limits }: Assignment,
  { index, of, tokens }: Sharing,
  ctx: Context,
): Limits {
  const { seconds = Number.POSITIVE_INFINITY } = limits
  const time = Math.max(0, seconds - ctx.state.get(SPENT))
  const rounds = Math.ceil((of - index) / concurrentSections(options, of))
  const passes = options.budget?.iterations
  const share = {
    tokens: Math.min(tokens, tokensLeft(limits, ctx)),
    seconds: (time * FOR_SECTIONS) / rounds,
    iterations: passes === undefined ? ITERATIONS : Math.max(1, Math.floor(passes / of)),
  }
  const own = options.sectionBudget ?? {}
  return {
    tokens: Math.min(share.tokens, own.tokens ?? share.tokens),
    seconds: Math.min(share.seconds, own.seconds ?? share.seconds),
    iterations: own.iterations ?? share.iterations,
  }
}

/** The number of concurrent sections. */
export function concurrentSections({ concurrency }: DeepResearchOptions, sections: number): number {
  return Math.max(1, Math.min(concurrency ?? sections, sections))
}

function tokensLeft({ tokens = Number.POSITIVE_INFINITY }: Limits, ctx: Context): number {
  return Math.max(0, tokens - tokensUsed(ctx))
}

/** Measures the seconds since a node started. */
export function stopwatch({ clock }: Context): () => number {
  const startedAt = clock.now()
  return () => (clock.now() - startedAt) / 1_000
}

/** The exhausted parts, in a fixed order, after `passes` of the loop and `seconds` of the current node. */
export function exhaustedParts(ctx: Context, { limits }: Assignment, passes = 0, seconds = 0): BudgetPart[] {
  const parts: [BudgetPart, number | undefined, number][] = [
    ["tokens", limits.tokens, tokensUsed(ctx)],
    ["time", limits.seconds, ctx.state.get(SPENT) + seconds],
    ["iterations", limits.iterations, passes],
  ]
  return parts.filter(([, most, used]) => most !== undefined && used >= most).map(([part]) => part)
}

export function breachText(parts: readonly string[]): string {
  return `Budget exceeded: ${parts.join(", ")}`
}

const ORDER: readonly string[] = ["tokens", "time", "iterations"]

/** The exhausted parts if the engine stopped the run because of the run's own limits. */
function breachOfRun({ code, message }: LimitNotice, own: readonly BudgetPart[]): string {
  const named = /^Budget exceeded: (.+)$/.exec(message)?.[1]?.split(", ") ?? []
  const parts = new Set<string>([...own, ...named, ...(code === "RUN_TIMEOUT" ? ["time"] : [])])
  if (parts.size === 0) return message
  const others = [...parts].filter((part) => !ORDER.includes(part))
  return breachText([...ORDER.filter((part) => parts.has(part)), ...others])
}

/** Records the assignment, and the problems that are known before any search. */
export function beginResearch(assignment: Assignment, options: ResearchOptions, ctx: Context): Assignment {
  ctx.state.write(ASSIGNMENT, assignment)
  for (const { source, reason } of options.incomplete ?? []) reportMissing(ctx, source, reason)
  return assignment
}

export function reportMissing(ctx: Context, source: string, reason: string): void {
  reportIncomplete(ctx, source, reason, "research.incomplete")
}

/** Records that the budget is exhausted, as found by a node's own check or by the engine's limits. */
export function recordBreach(
  cause: LimitNotice | { readonly to: string; readonly parts?: readonly string[] | undefined },
  passes: number,
  ctx: Context,
): string {
  const assignment = ctx.state.get(ASSIGNMENT)
  const message =
    "to" in cause
      ? breachText(cause.parts ?? [])
      : breachOfRun(cause, assignment === undefined ? [] : exhaustedParts(ctx, assignment, passes))
  ctx.state.write(BREACH, message)
  reportMissing(ctx, "research", message)
  return message
}

/** Runs work that stops when the time is up; then returns undefined (B3). The steps it recorded still count. */
export async function withinTime<T>(
  ctx: Context,
  { limits }: Assignment,
  work: (inside: Context) => Promise<T>,
): Promise<{ readonly value: T } | undefined> {
  if (limits.seconds === undefined) return { value: await work(ctx) }
  const left = limits.seconds - ctx.state.get(SPENT)
  const deadline = new Deadline(ctx.signal, ctx.clock)
  if (left > 0) deadline.set(left * 1_000, timeUp)
  const signal = left > 0 ? deadline.signal : AbortSignal.abort(timeUp())
  try {
    return { value: await work(withSignal(ctx, signal)) }
  } catch (error) {
    if (signal.aborted && !ctx.signal.aborted) return undefined
    throw error
  } finally {
    deadline.close()
  }
}

function timeUp(): SuperstepError {
  return new SuperstepError("RESEARCH_TIME", "The research ran out of time.", { retryable: false })
}

function withSignal(base: Context, signal: AbortSignal): Context {
  return new Proxy(base, {
    // The base has private fields, so its properties are read from itself.
    get: (_, property) => (property === "signal" ? signal : Reflect.get(base, property, base)),
  })
}

function tokensUsed({ usedHere }: Context): number {
  return (usedHere.inputTokens ?? 0) + (usedHere.outputTokens ?? 0)
}
