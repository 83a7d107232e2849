/** What an agent may use. Its counters are those of the journal, over the whole run, so they survive restarts (M8). */
import { type Budget, SuperstepError, type Usage } from "../core/index.ts"
import { type BudgetPart, exhausted } from "../core/usage.ts"
import { Deadline } from "../models/stopping.ts"
import type { Clock, Context } from "../runtime/index.ts"

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

/** Watches over one agent in one task. After a hand-off there are several. */
export class Guard {
  readonly agent: string
  readonly #budget: Budget
  readonly #iterations: number
  readonly #seconds: number | undefined
  #turns = 0
  #deadline: number | undefined

  constructor(agent: string, limits: AgentLimits = {}) {
    const { iterations = ITERATIONS, seconds, ...budget } = limits
    this.agent = agent
    this.#budget = budget
    this.#iterations = iterations
    this.#seconds = seconds
  }

  /** The start is on record, so that a restart does not give the time anew. */
  async begin(ctx: Context): Promise<void> {
    if (this.#seconds === undefined) return
    const began = await ctx.step(`began:${this.agent}`, () => ctx.clock.now())
    this.#deadline = began + this.#seconds * 1_000
  }

  /** The signal, which also fires when the agent's time is up. To be closed. */
  within(signal: AbortSignal, clock: Clock): Deadline | undefined {
    if (this.#deadline === undefined) return undefined
    const deadline = new Deadline(signal, clock)
    deadline.set(Math.max(0, this.#deadline - clock.now()), () => this.#timeUp())
    return deadline
  }

  /** Before every turn, also those that the record answers: the count is the same after a restart. */
  turn(): void {
    if (this.#turns++ >= this.#iterations) {
      throw this.#reached(`${this.#iterations} iterations`, "limits.iterations")
    }
  }

  /** Before a model call that is really made; those under way count, as they have reserved. */
  checkModelCall(ctx: Context): void {
    const { toolCalls: _, ...budget } = this.#budget
    this.#check(budget, ctx.usedBy(this.agent))
    this.#checkTime(ctx.clock.now())
  }

  /** A limit in US dollars cannot bound a call whose price nobody knows. */
  checkPrice({ unpricedCalls = 0 }: Usage): void {
    const { usd, allowUnpriced } = this.#budget
    if (usd === undefined || allowUnpriced || unpricedCalls === 0) return
    const text = `limits.usd of agent "${this.agent}" cannot be kept: the price of the model is not known`
    throw new SuperstepError("BUDGET_UNPRICED", text, { retryable: false, fatal: true })
  }

  /** Before a tool call that is really made; those under way count, as they have reserved. */
  checkToolCall(ctx: Context): void {
    this.#check(this.#budget, ctx.usedBy(this.agent))
    this.#checkTime(ctx.clock.now())
  }

  #checkTime(now: number): void {
    if (this.#deadline !== undefined && now >= this.#deadline) throw this.#timeUp()
  }

  #timeUp(): SuperstepError {
    return this.#reached(`${this.#seconds} seconds`, "limits.seconds")
  }

  #check(budget: Budget, used: Usage): void {
    const [part] = exhausted(budget, used)
    if (part !== undefined) throw this.#reached(`${budget[part]} ${NAMES[part]}`, `limits.${part}`)
  }

  #reached(what: string, option: string): SuperstepError {
    const text = `Agent "${this.agent}" has reached its limit of ${what}. Raise ${option}, or give the workflow an onLimit route.`
    return new SuperstepError("AGENT_LIMIT", text, { limit: true, retryable: false })
  }
}

const NAMES: Record<BudgetPart, string> = {
  tokens: "tokens",
  usd: "US dollars",
  modelCalls: "model calls",
  toolCalls: "tool calls",
  iterations: "iterations",
}
