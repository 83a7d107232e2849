/** What an agent may use. The journal has the counters, over the whole run, so they survive restarts (M8). */
import { addUsage, type Budget, isSuperstepError, SuperstepError, type Usage } from "../core/index.ts"
import { type BudgetPart, exhausted } from "../core/internal.ts"
import { Deadline } from "../models/internal.ts"
import type { Context } from "../runtime/index.ts"

export interface AgentLimits {
  /** Over the whole run, all tasks of the agent together. */
  readonly modelCalls?: number | undefined
  readonly toolCalls?: number | undefined
  /** Input and output together. */
  readonly tokens?: number | undefined
  readonly usd?: number | undefined
  /** With `usd`: calls of models whose price is not known count as free. Without it such a call fails before it is made. */
  readonly allowUnpriced?: boolean | undefined
  /** Turns of the loop for one input: model calls that answer, call tools, or repair. Default 20. */
  readonly iterations?: number | undefined
  /** From the start of a task, its waiting for people included. */
  readonly seconds?: number | undefined
}

const ITERATIONS = 20

/** Enforces the limits of one agent in one task. After a hand-off there are several. */
export class Guard {
  readonly agent: string
  readonly #limits: Budget
  /** Of the agent, which holds wherever it works: also inside another agent's call, or after a hand-off. */
  readonly #budget: Budget
  /** Without bounds, what all pending calls have reserved is not added up. */
  readonly #isBounded: boolean
  readonly #iterations: number
  readonly #seconds: number | undefined
  /** A part of everything is kept for a final answer. */
  readonly #reserves: boolean
  #turns = 0
  #deadline: number | undefined
  #end: number | undefined

  constructor(agent: string, limits: AgentLimits = {}, budget: Budget = {}, reserves = false) {
    const { iterations = ITERATIONS, seconds, ...amounts } = limits
    this.agent = agent
    this.#limits = amounts
    this.#budget = budget
    this.#isBounded = [amounts, budget].some((bounds) =>
      Object.values(bounds).some((most) => typeof most === "number"),
    )
    this.#iterations = iterations
    this.#seconds = seconds
    this.#reserves = reserves
  }

  /** Seconds that are kept for a final answer: a tenth, and no more than 30. */
  get #reserve(): number {
    return this.#reserves ? Math.min(30, (this.#seconds ?? 0) / 10) : 0
  }

  /**
   * Starts the agent's time, where it is limited. The start is on record, so that a restart does not extend it. The
   * deadline fires with `signal` or when the time is up; the caller closes it.
   */
  async begin(ctx: Context, signal: AbortSignal): Promise<Deadline | undefined> {
    if (this.#seconds === undefined) return undefined
    const began = await ctx.step(`began:${this.agent}`, () => ctx.clock.now())
    this.#end = began + this.#seconds * 1_000
    this.#deadline = this.#end - this.#reserve * 1_000
    const deadline = new Deadline(signal, ctx.clock)
    deadline.set(Math.max(0, this.#deadline - ctx.clock.now()), () => this.#timeUp())
    return deadline
  }

  /** For the final answer: what was kept of the time. The caller closes it. */
  finalDeadline(ctx: Context, signal: AbortSignal): Deadline | undefined {
    if (this.#end === undefined) return undefined
    this.#deadline = this.#end
    const deadline = new Deadline(signal, ctx.clock)
    deadline.set(Math.max(0, this.#end - ctx.clock.now()), () => this.#timeUp())
    return deadline
  }

  /** Called before every turn, also one that the record answers: the count is the same after a restart. */
  turn(): void {
    if (this.#turns++ >= this.#iterations - (this.#reserves ? 1 : 0)) {
      throw this.#reached(`${this.#iterations} iterations`, "limits.iterations")
    }
  }

  /** Called before a model call that is really made. Pending calls count: they have reserved. `headroom` has to stay free. */
  checkModelCall(ctx: Context, headroom: Usage = {}): void {
    if (this.#isBounded) {
      const used = addUsage(ctx.usedBy(this.agent), headroom)
      this.#check("limits", { ...this.#limits, toolCalls: undefined }, used)
      this.#check("budget", { ...this.#budget, toolCalls: undefined }, used)
    }
    this.#checkTime(ctx)
  }

  /** A limit in US dollars cannot bound a call whose price is unknown. */
  checkPrice({ unpricedCalls = 0 }: Usage): void {
    if (unpricedCalls === 0) return
    const bounds = { limits: this.#limits, budget: this.#budget }
    const found = Object.entries(bounds).find(
      ([, { usd, allowUnpriced }]) => usd !== undefined && !allowUnpriced,
    )
    if (found === undefined) return
    const text = `${found[0]}.usd of agent "${this.agent}" cannot be enforced: the price of the model is unknown`
    throw new SuperstepError("BUDGET_UNPRICED", text, { retryable: false, fatal: true })
  }

  /** Called before a tool call that is really made. Pending calls count: they have reserved. */
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
    const text = `Agent "${this.agent}" has reached its limit of ${what}. Raise ${option}, or add an onLimit route to the workflow.`
    const error = new SuperstepError("AGENT_LIMIT", text, { limit: true, retryable: false })
    reached.set(error, option)
    return error
  }
}

const reached = new WeakMap<Error, string>()

/** Which limit it was: `limits.iterations`, `budget.tokens`, `timeout`. */
export function limitReached(error: unknown): string | undefined {
  if (!isSuperstepError(error)) return undefined
  if (error.code === "RUN_TIMEOUT") return "timeout"
  const part = error.code === "BUDGET_EXCEEDED" ? /exceeded: (\w+)/.exec(error.message)?.[1] : undefined
  return part === undefined ? reached.get(error) : `budget.${part}`
}

/** Whether the error is a limit that a final answer can follow. */
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
