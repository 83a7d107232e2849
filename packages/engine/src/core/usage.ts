/** Usage and budgets of a run. Counters only grow, and they are in the journal (M8). */

export interface Usage {
  readonly inputTokens?: number | undefined
  readonly outputTokens?: number | undefined
  /** The parts of `inputTokens` that the provider read from its cache, and wrote to it. */
  readonly cachedInputTokens?: number | undefined
  readonly cacheWriteTokens?: number | undefined
  /** The part of `outputTokens` that the model used for reasoning. */
  readonly reasoningTokens?: number | undefined
  /** Requests to models, each attempt and each fallback included. */
  readonly modelCalls?: number | undefined
  readonly toolCalls?: number | undefined
  readonly iterations?: number | undefined
  /** US dollars, for calls with a known price. */
  readonly usd?: number | undefined
  /** Model calls with an unknown price: if there are any, `usd` is not the whole cost. */
  readonly unpricedCalls?: number | undefined
  /** Model calls whose tokens were estimated, because the provider did not report them. */
  readonly estimatedCalls?: number | undefined
}

/** Who used it. */
export interface UsageSource {
  readonly agent?: string | undefined
  readonly model?: string | undefined
}

/** A part of the usage, and its source. */
export interface SourcedUsage {
  readonly usage: Usage
  readonly source?: UsageSource | undefined
}

type UsageCounter = keyof Usage

const COUNTERS = [
  "inputTokens",
  "outputTokens",
  "cachedInputTokens",
  "cacheWriteTokens",
  "reasoningTokens",
  "modelCalls",
  "toolCalls",
  "iterations",
  "usd",
  "unpricedCalls",
  "estimatedCalls",
] as const satisfies readonly UsageCounter[]

/** The maximum usage of a run with all its sub-workflows, or of a node. `tokens` is input and output together. */
export interface Budget {
  readonly tokens?: number | undefined
  readonly usd?: number | undefined
  readonly modelCalls?: number | undefined
  readonly toolCalls?: number | undefined
  readonly iterations?: number | undefined
  /**
   * With `usd`: allows calls of models with an unknown price, and counts them as free. Without it the first such call fails
   * before it is made.
   */
  readonly allowUnpriced?: boolean | undefined
}

/** The parts of a budget that are amounts. */
export type BudgetPart = Exclude<keyof Budget, "allowUnpriced">

/** No usage. Usage is frozen, since handlers and callers see the machine's own object. */
export const NO_USAGE: Usage = Object.freeze({})

export function addUsage(total: Usage, more: Usage): Usage {
  // V8 takes microseconds to add properties to a spread copy, or to freeze one.
  const sum: { -readonly [K in UsageCounter]?: number | undefined } = Object.assign({}, total)
  // Most usages have a few of the counters, and every call adds several usages.
  for (const name in more) {
    const counter = name as UsageCounter
    const value: unknown = more[counter]
    // Events of a later version may have more than counters.
    if (typeof value === "number") sum[counter] = (sum[counter] ?? 0) + value
  }
  return Object.freeze(sum)
}

/** The usage without a part of it; counters of 0 are left out. */
export function usageWithout(total: Usage, part: Usage): Usage {
  const counters = COUNTERS.map((counter) => {
    // Subtracting fractions of money leaves rounding errors.
    const left = Number(((total[counter] ?? 0) - (part[counter] ?? 0)).toFixed(9))
    return [counter, left] as const
  })
  return Object.fromEntries(counters.filter(([, left]) => left !== 0))
}

/** Why a reported usage cannot be counted, or undefined. */
export function usageProblem(usage: Usage): string | undefined {
  for (const counter of Object.keys(usage)) {
    const value = usage[counter as UsageCounter]
    if (!(COUNTERS as readonly string[]).includes(counter)) {
      return `"${counter}" is not a counter; the counters are ${COUNTERS.join(", ")}`
    }
    if (value !== undefined && !(typeof value === "number" && value >= 0 && Number.isFinite(value))) {
      return `"${counter}" must be a number of at least 0`
    }
  }
  return undefined
}

export const BUDGET_PARTS = [
  "tokens",
  "usd",
  "modelCalls",
  "toolCalls",
  "iterations",
] as const satisfies readonly BudgetPart[]

/** How much of a part of a budget a usage takes. */
export function amountOf(part: BudgetPart, usage: Usage): number {
  if (part === "tokens") return (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0)
  return usage[part] ?? 0
}

/** The parts of a budget that are used up, in a fixed order. */
export function exhausted(budget: Budget, usage: Usage): BudgetPart[] {
  return BUDGET_PARTS.filter((part) => {
    const most = budget[part]
    return most !== undefined && amountOf(part, usage) >= most
  })
}

/** The parts of a budget that are needed and insufficient, in a fixed order. */
export function misfits(budget: Budget, used: Usage, needed: Usage): BudgetPart[] {
  return BUDGET_PARTS.filter((part) => {
    const most = budget[part]
    const more = amountOf(part, needed)
    return most !== undefined && more > 0 && amountOf(part, used) + more > most
  })
}

/** What remains of each part of a budget, at least 0. */
export function remaining(budget: Budget, usage: Usage): Budget {
  const left: { -readonly [P in BudgetPart]?: Budget[P] } = {}
  for (const part of BUDGET_PARTS) {
    const most = budget[part]
    if (most !== undefined) left[part] = Math.max(0, most - amountOf(part, usage))
  }
  return left
}
