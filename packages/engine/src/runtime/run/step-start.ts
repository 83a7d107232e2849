/**
 * The beginning of a step that costs or has an effect. `reserve` puts it on record before it is made: what it may use
 * counts from then on, whatever becomes of the process, and calls that run at the same time see it before they are made.
 */
import {
  addUsage,
  type Entry,
  type ErrorData,
  fromErrorData,
  type SourcedUsage,
  SuperstepError,
  type Task,
  type TaskId,
  type Usage,
  type UsageSource,
  usageProblem,
} from "../../core/index.ts"
import { addMember, removeMember } from "../../core/internal.ts"
import type { PaidStep, StepOptions } from "../ports/program.ts"

/** The frame, as steps use it. */
export interface StepFrame {
  readonly host: {
    /** Why the run cannot continue, if so. */
    readonly failure: unknown
    readonly isDurable: boolean
    /** Steps under way that have reserved something and know what they have used so far. */
    paidSteps: ReadonlySet<StepStart>
    now(): number
    durable(): Promise<void>
  }
  /** The task that waits for this workflow. */
  readonly caller?: { readonly frame: StepFrame; readonly task: TaskId } | undefined
  apply(entry: Entry): void
  /** Why this usage does not fit into the budget of the node, of the workflow or of one that called it. */
  reservationProblem(task: TaskId, replaces: string | undefined, usage: Usage): ErrorData | undefined
}

/** The attempt that makes the step. */
interface StepAttempt {
  isOver(): boolean
  /** Throws when it is. */
  checkActive(): void
}

export class StepStart implements PaidStep {
  readonly #frame: StepFrame
  readonly #task: Task
  readonly #key: string
  readonly #attempt: StepAttempt
  readonly #spent: StepOptions<never>["spent"]
  #source: UsageSource | undefined
  /** What was last put on record as used, as text. */
  #noted = ""
  readonly mayHaveRun: boolean
  /** What is reserved, while the step has no result. */
  reserved: Usage | undefined

  constructor(
    frame: StepFrame,
    task: Task,
    key: string,
    attempt: StepAttempt,
    spent: StepOptions<never>["spent"],
  ) {
    this.#frame = frame
    this.#task = task
    this.#key = key
    this.#attempt = attempt
    this.#spent = spent
    this.mayHaveRun = task.starts?.has(key) ?? false
  }

  reserve(usage: Usage, source?: UsageSource, headroom?: Usage): Promise<void> | undefined {
    const needed = ownUsage(usage)
    const free = headroom === undefined ? needed : addUsage(needed, ownUsage(headroom))
    this.#attempt.checkActive()
    const { host } = this.#frame
    if (host.failure !== undefined) throw host.failure
    // What this start has reserved is replaced; what an earlier one has reserved stays counted.
    const replaces = this.reserved === undefined ? undefined : this.#key
    const problem = this.#frame.reservationProblem(this.#task.id, replaces, free)
    if (problem !== undefined) throw overBudget(problem)
    const isRaise = this.reserved === undefined ? undefined : true
    this.reserved = needed
    this.#source = ownSource(source)
    if (this.#spent !== undefined) host.paidSteps = addMember(host.paidSteps, this)
    this.#record(needed, isRaise)
    return host.isDurable ? undefined : this.#durable()
  }

  #record(usage: Usage, isRaise: true | undefined, spent?: readonly SourcedUsage[]): void {
    this.#frame.apply({
      type: "step.started",
      at: this.#frame.host.now(),
      task: this.#task.id,
      key: this.#key,
      usage,
      source: this.#source,
      isRaise,
      spent,
    })
  }

  /** Whether the step belongs to the workflow, or to one that it called: or to that task of it. */
  isWithin(frame: StepFrame, task: TaskId | undefined): boolean {
    let here: { readonly frame: StepFrame; readonly task: TaskId } | undefined = {
      frame: this.#frame,
      task: this.#task.id,
    }
    for (; here !== undefined; here = here.frame.caller) {
      if (here.frame === frame) return task === undefined || here.task === task
    }
    return false
  }

  /**
   * The step is stopped in a moment: what it has used so far is counted then, in place of what it reserved (R2). If it may
   * continue, a request that is about to be sent stays counted.
   */
  noteSpent(mayContinue: boolean): void {
    if (this.reserved === undefined || this.#spent === undefined || this.#attempt.isOver()) return
    const spent = ownSpent(this.#spent())
    const calls = spent.reduce((sum, { usage }) => sum + (usage.modelCalls ?? 0), 0)
    if (mayContinue && calls < (this.reserved.modelCalls ?? 0)) return
    const noted = JSON.stringify(spent)
    if (noted === this.#noted) return
    this.#noted = noted
    this.#record(this.reserved, true, spent)
  }

  /** It has a result, or failed. */
  end(): void {
    removeMember(this.#frame.host.paidSteps, this)
  }

  /** The task may have been stopped meanwhile. */
  async #durable(): Promise<void> {
    await this.#frame.host.durable()
    this.#attempt.checkActive()
  }
}

export function overBudget(problem: ErrorData): SuperstepError {
  const { code, message, cause } = problem
  // No limit was reached: the budget cannot be kept at all.
  if (problem.fatal) return fromErrorData(problem)
  const why = cause === undefined ? {} : { cause: fromErrorData(cause) }
  return new SuperstepError(code, message, { limit: true, retryable: false, ...why })
}

/** A usage that can be counted, as the run's own. */
export function ownUsage(usage: Usage): Usage {
  const problem = usageProblem(usage)
  if (problem === undefined) return Object.freeze({ ...usage })
  throw new SuperstepError("USAGE_INVALID", `Usage cannot be counted: ${problem}.`, { retryable: false })
}

export function ownSpent(spent: Iterable<SourcedUsage>): readonly SourcedUsage[] {
  const owned = [...spent].map(({ usage, source }) =>
    Object.freeze({ usage: ownUsage(usage), source: ownSource(source) }),
  )
  return Object.freeze(owned)
}

export function ownSource(source: UsageSource | undefined): UsageSource | undefined {
  return source && Object.freeze({ ...source })
}
