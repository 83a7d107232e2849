/** Limits of an agent. The counters are in the journal, over the whole run, so they survive restarts (M8). */
import { addUsage, type Budget, isSuperstepError, SuperstepError, type Usage } from "../core/index.ts"
import { type BudgetPart, exhausted } from "../core/internal.ts"
import { Deadline } from "../models/internal.ts"
import type { AgentStep, Context } from "../runtime/index.ts"

export interface AgentLimits {
  /** Over the whole run, all tasks of the agent together. */
  readonly modelCalls?: number | undefined
  readonly toolCalls?: number | undefined
  /** Input and output together. */
  readonly tokens?: number | undefined
  readonly usd?: number | undefined
  /** With `usd`: calls to models with an unknown price count as free. Default false: such a call fails before it is made. */
  readonly allowUnpriced?: boolean | undefined
  /** Turns of the loop for one input: model calls that answer, call tools or repair an answer. Default 20. */
  readonly iterations?: number | undefined
  /** Seconds from the start of a task, including the time it waits for people. */
  readonly seconds?: number | undefined
}

const ITERATIONS = 20

/** Enforces the limits of one agent in one task. After a hand-off there are several. */
export class Guard {
  readonly agent: string
  readonly #limits: Budget
  /** The budget of the agent. It also applies inside another agent's call and after a hand-off. */
  readonly #budget: Budget
  /** Without limits, the reservations of pending calls are not added up. */
  readonly #isBounded: boolean
  readonly #iterations: number
  readonly #seconds: number | undefined
  /** Keeps a part of the limits for a final answer. */
  readonly #reserves: boolean
  #turns = 0
  #deadline: number | undefined
  #end: number | undefined

  constructor(agent: string, limits: AgentLimits = {}, budget: Budget = {}, reserves = false) {
    const { iterations = ITERATIONS, seconds, tokens, usd, modelCalls, toolCalls, allowUnpriced } = limits
    this.agent = agent
    this.#limits = { tokens, usd, modelCalls, toolCalls, allowUnpriced }
    this.#budget = budget
    this.#isBounded = isBounded(this.#limits) || isBounded(budget)
    this.#iterations = iterations
    this.#seconds = seconds
    this.#reserves = reserves
  }

  /** Seconds to keep for a final answer: a tenth, at most 30. */
  get #reserve(): number {
    return this.#reserves ? Math.min(30, (this.#seconds ?? 0) / 10) : 0
  }

  /**
   * Starts the agent's time limit, if it has one. The start is recorded, so a restart does not extend it. The deadline
   * fires with `signal` or when the time is up; the caller closes it.
   */
  begin(ctx: Context, signal: AbortSignal): Promise<Deadline> | undefined {
    return this.#seconds === undefined ? undefined : this.#begun(this.#seconds, ctx, signal)
  }

  async #begun(seconds: number, ctx: Context, signal: AbortSignal): Promise<Deadline> {
    const began = await ctx.step(`began:${this.agent}`, () => ctx.clock.now())
    this.#end = began + seconds * 1_000
    this.#deadline = this.#end - this.#reserve * 1_000
    const deadline = new Deadline(signal, ctx.clock)
    deadline.set(Math.max(0, this.#deadline - ctx.clock.now()), () => this.#timeUp())
    return deadline
  }

  /** The time that was kept for the final answer. The caller closes it. */
  finalDeadline(ctx: Context, signal: AbortSignal): Deadline | undefined {
    if (this.#end === undefined) return undefined
    this.#deadline = this.#end
    const deadline = new Deadline(signal, ctx.clock)
    deadline.set(Math.max(0, this.#end - ctx.clock.now()), () => this.#timeUp())
    return deadline
  }

  /**
   * Called before every turn, including turns that are answered from the record, so that the count is the same after a
   * restart.
   */
  turn(): void {
    if (this.#turns++ >= this.#iterations - (this.#reserves ? 1 : 0)) {
      throw this.#reached(`${this.#iterations} iterations`, "limits.iterations")
    }
  }

  /**
   * Called before a model call that is not answered from the record. Pending calls count, because they have reserved
   * usage. `headroom` must stay free.
   */
  checkModelCall(ctx: Context, headroom: Usage = {}): void {
    if (this.#isBounded) {
      const used = addUsage(ctx.usedBy(this.agent), headroom)
      this.#check("limits", { ...this.#limits, toolCalls: undefined }, used)
      this.#check("budget", { ...this.#budget, toolCalls: undefined }, used)
    }
    this.#checkTime(ctx)
  }

  /** A limit in US dollars cannot limit a call with an unknown price. */
  checkPrice({ unpricedCalls = 0 }: Usage): void {
    if (unpricedCalls === 0) return
    this.#checkPriced("limits", this.#limits)
    this.#checkPriced("budget", this.#budget)
  }

  #checkPriced(option: "limits" | "budget", { usd, allowUnpriced }: Budget): void {
    if (usd === undefined || allowUnpriced) return
    const text = `${option}.usd of agent "${this.agent}" cannot be enforced: the price of the model is unknown`
    throw new SuperstepError("BUDGET_UNPRICED", text, { retryable: false, fatal: true })
  }

  /**
   * Called before a tool call that is not answered from the record. Pending calls count, because they have reserved
   * usage.
   */
  checkToolCall(ctx: Context): void {
    if (this.#isBounded) {
      const used = ctx.usedBy(this.agent)
      this.#check("limits", this.#limits, used)
      this.#check("budget", this.#budget, used)
    }
    this.#checkTime(ctx)
  }

  #checkTime({ clock }: Context): void {
    if (this.#deadline !== undefined && clock.now() >= this.#deadline) throw this.#timeUp()
  }

  #timeUp(): SuperstepError {
    return this.#reached(`${this.#seconds} seconds`, "limits.seconds")
  }

  #check(option: "limits" | "budget", most: Budget, used: Usage): void {
    const [part] = exhausted(most, used)
    if (part !== undefined) throw this.#reached(`${most[part]} ${NAMES[part]}`, `${option}.${part}`)
  }

  #reached(what: string, option: string): SuperstepError {
    const written = option === "limits.iterations" ? `${option} (max_iterations in a file)` : option
    const text = `Agent "${this.agent}" has reached its limit of ${what}. Raise ${written}, or add an onLimit route to the workflow.`
    const error = new SuperstepError("AGENT_LIMIT", text, { limit: true, retryable: false })
    reached.set(error, option)
    return error
  }
}

function isBounded(amounts: Budget): boolean {
  for (const part in amounts) if (typeof amounts[part as keyof Budget] === "number") return true
  return false
}

const reached = new WeakMap<Error, string>()

/** The limit that was reached: `limits.iterations`, `budget.tokens`, `timeout`. */
export function limitReached(error: unknown): string | undefined {
  if (!isSuperstepError(error)) return undefined
  if (error.code === "RUN_TIMEOUT") return "timeout"
  const part = error.code === "BUDGET_EXCEEDED" ? /exceeded: (\w+)/.exec(error.message)?.[1] : undefined
  return part === undefined ? reached.get(error) : `budget.${part}`
}

/** Whether the error is a limit after which the agent may still give a final answer. */
export function isLimit(error: unknown): error is SuperstepError {
  return (
    isSuperstepError(error, "AGENT_LIMIT") ||
    (isSuperstepError(error, "BUDGET_EXCEEDED") && error.limit === true)
  )
}

const NAMES: Record<BudgetPart, string> = {
  tokens: "tokens",
  usd: "US dollars",
  modelCalls: "model calls",
  toolCalls: "tool calls",
  iterations: "iterations",
}

// Stop conditions: they end the loop before the model answers without calling a tool.

export type StopCondition =
  | { readonly kind: "step-count"; readonly steps: number }
  | { readonly kind: "tool-called"; readonly tools: readonly string[] }
  | StopPredicate

/** Its result is recorded. */
export type StopPredicate = (info: StopInfo) => boolean | Promise<boolean>

export interface StopInfo {
  readonly agent: string
  /** The steps of the conversation so far; the last one called tools, and has their results. */
  readonly steps: readonly AgentStep[]
  readonly ctx: Context
}

/** Stops after this many model calls. */
export function stepCount(steps: number): StopCondition {
  return { kind: "step-count", steps }
}

/** Stops after a turn in which one of these tools was called. */
export function toolCalled(...tools: readonly string[]): StopCondition {
  return { kind: "tool-called", tools }
}

export type StopWhen = StopCondition | readonly StopCondition[]

/** The problem with the conditions, or undefined. */
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

/** Whether one of the conditions holds. Functions are called in order, and their verdict is one record. */
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
