/**
 * What a research may use. It is looked at before every node that is not the last one, so that the writer always runs: at
 * the end of the previous node, as its usage is recorded by then, and a restart decides the same.
 *
 * B1 a part is used up when as much as its limit is used, or more.
 * B2 tokens are those of this workflow alone: a section does not pay for another.
 * B3 the time limit also ends running work; results so far stay.
 * B4 time is that in which the nodes are at work: a run that was stopped, and resumes a day later, has what it had left.
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

/** The total of a deep research: passes are counted by section. */
export function totalOf({ budget = {} }: DeepResearchOptions): Limits {
  const { tokens = TOKENS, seconds = SECONDS } = budget
  return { tokens, seconds }
}

/** Of what is left, so much is for the searches of the sections; the rest is for writing. */
const FOR_SECTIONS = 0.75

/** A section's part of the tokens: the same for all of them, whenever they begin. */
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
  const rounds = Math.ceil((of - index) / atOnce(options, of))
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

/** How many sections are worked on at the same time. */
export function atOnce({ concurrency }: DeepResearchOptions, sections: number): number {
  return Math.max(1, Math.min(concurrency ?? sections, sections))
}

function tokensLeft({ tokens = Number.POSITIVE_INFINITY }: Limits, ctx: Context): number {
  return Math.max(0, tokens - tokensUsed(ctx))
}

/** Of a node's beginning: how many seconds it has taken. */
export function stopwatch({ clock }: Context): () => number {
  const startedAt = clock.now()
  return () => (clock.now() - startedAt) / 1_000
}

/** The parts that are used up, in a fixed order; `passes` of the loop are done, and a node has taken `seconds` by now. */
export function usedUp(ctx: Context, { limits }: Assignment, passes = 0, seconds = 0): BudgetPart[] {
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

/** What was used up where the engine itself stopped the run, by the run's own limits. */
function breachOfRun({ code, message }: LimitNotice, own: readonly BudgetPart[]): string {
  const named = /^Budget exceeded: (.+)$/.exec(message)?.[1]?.split(", ") ?? []
  const parts = new Set<string>([...own, ...named, ...(code === "RUN_TIMEOUT" ? ["time"] : [])])
  if (parts.size === 0) return message
  const others = [...parts].filter((part) => !ORDER.includes(part))
  return breachText([...ORDER.filter((part) => parts.has(part)), ...others])
}

/** Records what is asked, and what is missing before anything is searched. */
export function beginResearch(assignment: Assignment, options: ResearchOptions, ctx: Context): Assignment {
  ctx.state.write(ASSIGNMENT, assignment)
  for (const { source, reason } of options.incomplete ?? []) reportMissing(ctx, source, reason)
  return assignment
}

export function reportMissing(ctx: Context, source: string, reason: string): void {
  reportIncomplete(ctx, source, reason, "research.incomplete")
}

/** Records that the budget is used up, as found by a node's own check or by the engine's limits. */
export function recordBreach(
  cause: LimitNotice | { readonly to: string; readonly parts?: readonly string[] | undefined },
  passes: number,
  ctx: Context,
): string {
  const assignment = ctx.state.get(ASSIGNMENT)
  const message =
    "to" in cause
      ? breachText(cause.parts ?? [])
      : breachOfRun(cause, assignment === undefined ? [] : usedUp(ctx, assignment, passes))
  ctx.state.write(BREACH, message)
  reportMissing(ctx, "research", message)
  return message
}

/** Runs work that stops when the time is up; undefined if it was (B3). The steps it recorded still count. */
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
