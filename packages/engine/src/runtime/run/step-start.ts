/**
 * The beginning of a step that costs or has an effect. `reserve` records it before it starts: its maximum usage counts from
 * then on, even if the process dies, and concurrent calls see it before they start.
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
import { addMember, frozenCopy, removeMember } from "../../core/internal.ts"
import type { PaidStep, StepOptions } from "../ports/program.ts"

/** The frame, as steps use it. */
export interface StepFrame {
  readonly host: {
    /** Why the run cannot continue, if so. */
    readonly failure: unknown
    readonly isDurable: boolean
    /** Steps in progress that have reserved something and know what they have used so far. */
    paidSteps: ReadonlySet<StepStart>
    now(): number
    durable(): Promise<void>
  }
  /** The task that waits for this workflow. */
  readonly caller?: { readonly frame: StepFrame; readonly task: TaskId } | undefined
  apply(entry: Entry): void
  /** Why this usage exceeds the budget of the node, of the workflow or of one of its callers. */
  reservationProblem(task: TaskId, replaces: string | undefined, usage: Usage): ErrorData | undefined
}

/** The attempt that makes the step. */
interface StepAttempt {
  isOver(): boolean
  /** Throws if it is. */
  checkActive(): void
}

export class StepStart implements PaidStep {
  readonly #frame: StepFrame
  readonly #task: Task
  readonly #key: string
  readonly #attempt: StepAttempt
  readonly #spent: StepOptions<never>["spent"]
  #source: UsageSource | undefined
  /** The usage that was last recorded, as text. */
  #noted = ""
  readonly mayHaveRun: boolean
  /** The reservation, while the step has no result. */
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
    // Replaces this start's reservation; an earlier start's reservation stays counted.
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

  /** Whether the step belongs to the workflow or its sub-workflows, or to the task if there is one. */
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
   * The step is about to be stopped: its usage so far is counted in place of its reservation (R2). If it may continue, a
   * request that is about to be sent stays counted.
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

  /** The step has a result, or failed. */
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
  // No limit was reached: the budget cannot be enforced at all.
  if (problem.fatal) return fromErrorData(problem)
  const why = cause === undefined ? {} : { cause: fromErrorData(cause) }
  return new SuperstepError(code, message, { limit: true, retryable: false, ...why })
}

/** The run's own copy of a valid usage. */
export function ownUsage(usage: Usage): Usage {
  const problem = usageProblem(usage)
  if (problem === undefined) return frozenCopy(usage)
  throw new SuperstepError("USAGE_INVALID", `Usage cannot be counted: ${problem}.`, { retryable: false })
}

export function ownSpent(spent: Iterable<SourcedUsage>): readonly SourcedUsage[] {
  const owned: SourcedUsage[] = []
  for (const { usage, source } of spent)
    owned.push(Object.freeze({ usage: ownUsage(usage), source: ownSource(source) }))
  return Object.freeze(owned)
}

export function ownSource(source: UsageSource | undefined): UsageSource | undefined {
  return source && frozenCopy(source)
}
