/**
 * The budget of a research. It is checked before every node except the last one, so that the writer always runs. The
 * check is at the end of the previous node, when its usage is recorded, so a restart decides the same.
 *
 * B1 A part is exhausted when its limit is reached.
 * B2 Tokens are those of this workflow alone: a section does not pay for another.
 * B3 The time limit also ends running work; results so far stay.
 * B4 Time counts while nodes execute: a run that was stopped and resumes a day later has the same time left.
 */
import type { LimitNotice } from "../../builder/index.ts"
import { SuperstepError } from "../../core/index.ts"
import { Deadline } from "../../models/internal.ts"
import type { Context } from "../../runtime/index.ts"
import { reportIncomplete } from "../failures.ts"
import {
  type DeepResearchOptions,
  ITERATIONS,
  type ResearchBudget,
  type ResearchOptions,
  SECONDS,
  TOKENS,
} from "./research-options.ts"
import { ASSIGNMENT, type Assignment, BREACH, type Limits, SPENT } from "./research-state.ts"

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
export interface Sharing {
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
