/**
 * The beginning of a step that costs or has an effect. `reserve` puts it on record before it is made: what it may use
 * counts from then on, whatever becomes of the process, and calls that run at the same time see it before they are made.
 */
import {
  type ErrorData,
  fromErrorData,
  SuperstepError,
  type Task,
  type Usage,
  type UsageSource,
  usageProblem,
} from "../core/index.ts"
import type { PaidStep } from "./context.ts"
import { type Frame, holdName } from "./frame.ts"

export class StepStart implements PaidStep {
  readonly #frame: Frame
  readonly #task: Task
  readonly #key: string
  readonly #checkGoing: () => void
  readonly mayHaveRun: boolean
  /** What is reserved, while the step has no result. */
  reserved: Usage | undefined

  constructor(frame: Frame, task: Task, key: string, checkGoing: () => void) {
    this.#frame = frame
    this.#task = task
    this.#key = key
    this.#checkGoing = checkGoing
    this.mayHaveRun = task.starts?.has(key) ?? false
  }

  reserve(usage: Usage, source?: UsageSource): Promise<void> | undefined {
    checkUsage(usage)
    this.#checkGoing()
    const { host } = this.#frame
    if (host.failure !== undefined) throw host.failure
    this.#checkBudgets(usage)
    const isRaise = this.reserved === undefined ? undefined : true
    this.reserved = usage
    const at = host.now()
    this.#frame.apply({
      type: "step.started",
      at,
      task: this.#task.id,
      key: this.#key,
      usage,
      source,
      isRaise,
    })
    return host.isDurable ? undefined : this.#durable()
  }

  /** The task may have been stopped meanwhile. */
  async #durable(): Promise<void> {
    await this.#frame.host.durable()
    this.#checkGoing()
  }

  /**
   * Of the node and the workflow, and of those that called it. What this very start has reserved is replaced; what an
   * earlier one has reserved stays counted.
   */
  #checkBudgets(needed: Usage): void {
    let key = this.reserved === undefined ? undefined : this.#key
    let task = this.#task.id
    for (let frame: Frame | undefined = this.#frame; ; ) {
      const problem = frame.machine.reservationProblem(task, key, needed)
      if (problem !== undefined) throw overBudget(problem)
      const { caller }: Frame = frame
      if (caller === undefined) return
      if (frame === this.#frame && key !== undefined) key = holdName(frame, task, key)
      task = caller.task
      frame = caller.frame
    }
  }
}

export function overBudget(problem: ErrorData): SuperstepError {
  const { code, message, cause } = problem
  // No limit was reached: the budget cannot be kept at all.
  if (problem.fatal) return fromErrorData(problem)
  const why = cause === undefined ? {} : { cause: fromErrorData(cause) }
  return new SuperstepError(code, message, { limit: true, retryable: false, ...why })
}

export function checkUsage(usage: Usage): void {
  const problem = usageProblem(usage)
  if (problem === undefined) return
  throw new SuperstepError("USAGE_INVALID", `Usage cannot be counted: ${problem}.`, { retryable: false })
}
