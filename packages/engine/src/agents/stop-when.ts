/** When an agent's loop ends before the model has answered without calling a tool. */
import type { AgentStep, Context } from "../runtime/index.ts"

export type StopCondition =
  | { readonly kind: "step-count"; readonly steps: number }
  | { readonly kind: "tool-called"; readonly tools: readonly string[] }
  | StopPredicate

/** What it decides is recorded. */
export type StopPredicate = (info: StopInfo) => boolean | Promise<boolean>

export interface StopInfo {
  readonly agent: string
  /** The steps of the conversation so far; the last one called tools, and has their results. */
  readonly steps: readonly AgentStep[]
  readonly ctx: Context
}

/** After this many model calls. */
export function stepCount(steps: number): StopCondition {
  return { kind: "step-count", steps }
}

/** After a turn in which one of these tools was called. */
export function toolCalled(...tools: readonly string[]): StopCondition {
  return { kind: "tool-called", tools }
}

export type StopWhen = StopCondition | readonly StopCondition[]

/** What is wrong with conditions, or undefined. */
export function stopProblem(stopWhen: StopWhen | undefined): string | undefined {
  for (const one of conditionsOf(stopWhen) as readonly unknown[]) {
    if (typeof one === "function") continue
    const { kind, steps, tools } = Object(one) as { kind?: unknown; steps?: unknown; tools?: unknown }
    if (kind === "step-count" && Number.isSafeInteger(steps) && (steps as number) >= 1) continue
    if (kind === "tool-called" && Array.isArray(tools) && tools.length > 0) continue
    return "stopWhen must be stepCount(n) with n of at least 1, toolCalled(name, …), a function, or a list of these"
  }
  return undefined
}

/** Whether one of the conditions holds. Functions are asked in order, and their verdict is one record. */
export async function shouldStop(stopWhen: StopWhen | undefined, info: StopInfo): Promise<boolean> {
  const conditions = conditionsOf(stopWhen)
  const { steps, ctx } = info
  const called = steps.at(-1)?.calls ?? []
  for (const one of conditions) {
    if (typeof one === "function") continue
    if (
      one.kind === "step-count"
        ? steps.length >= one.steps
        : called.some(({ name }) => one.tools.includes(name))
    )
      return true
  }
  const predicates = conditions.filter((one) => typeof one === "function")
  if (predicates.length === 0) return false
  return await ctx.step("stopWhen", async () => {
    for (const predicate of predicates) if (await predicate(info)) return true
    return false
  })
}

function conditionsOf(stopWhen: StopWhen | undefined): readonly StopCondition[] {
  if (stopWhen === undefined) return []
  return Array.isArray(stopWhen) ? stopWhen : [stopWhen as StopCondition]
}
