/**
 * One workflow within a run: its machine, and the execution of the machine's effects. A run is a root
 * frame; a sub-workflow is a frame below the task that called it.
 */
import {
  addUsage,
  type CallFinished,
  type Effect,
  type Entry,
  type ErrorData,
  fromErrorData,
  type GraphNode,
  type LeftByTask,
  type LeftNotice,
  Machine,
  type OpenRequest,
  type RequestId,
  type RunPaused,
  type RunResumed,
  type RunStarted,
  type SourcedUsage,
  type StepStarted,
  type SuperstepError,
  type Task,
  type TaskFailed,
  type TaskId,
  type TimerId,
  toErrorData,
  type Usage,
  type UsageReserved,
  type WaitOutcome,
} from "../../core/index.ts"
import { addMember, hasEffect, NO_ENTRIES, NO_MEMBERS, NO_USAGE, RUN_TIMER } from "../../core/internal.ts"
import { type FrameStart, startedAs } from "../journal/journal-fold.ts"
import type { Reducer } from "../ports/channel.ts"
import { type LiveEvent, outerId } from "../ports/events.ts"
import { Signal } from "../ports/maybe-promise.ts"
import type { Program } from "../ports/program.ts"
import type { RunTelemetry } from "../ports/telemetry.ts"
import { ownValue } from "../ports/values.ts"
import { framePath } from "./frame-tree.ts"
import type { Adopted } from "./graph-change.ts"
import { holdName, holdOf, usedBy } from "./holds.ts"
import { leftByTasks, noticesOf } from "./left-work.ts"
import type { RestoredCalls } from "./restored-calls.ts"
import { rememberThrown } from "./result.ts"
import type { Call } from "./task-calls.ts"
import type { TaskFrame } from "./task-frame.ts"
import { attemptOf } from "./task-run.ts"

/** The task that waits for a sub-workflow. */
export interface Caller extends Call {
  readonly frame: Frame
}

type TaskHost = TaskFrame["host"]

/** What drives the frames of a run. */
export interface FrameHost extends TaskHost {
  readonly isObserved: boolean
  /** Sub-workflows that were loaded and whose callers have not called them again yet. */
  readonly restored: Pick<RestoredCalls, "prepare" | "refuseRemoved"> | undefined
  /** How many tasks ended that sub-workflows may have been working for. */
  cuts: number
  addFrame(frame: Frame): void
  removeFrame(frame: Frame): void
  startTelemetry(caller: Caller | undefined, entry: FrameStart, resumed: boolean): RunTelemetry | undefined
  /** Journals an entry, then carries out the effects that follow from it (M2). */
  commit(frame: Frame, entry: Entry, effects: readonly Effect[], events: number): void
  /** Carries out effects without an entry. */
  enqueue(frame: Frame, effects: readonly Effect[]): void
  call(program: Program, entry: RunStarted, caller: Caller): void
  clearTimer(frame: Frame, timer: TimerId): void
  /** Resolves when the answer to the question whose deadline this is, is delivered. Undefined if none is on its way. */
  answering(frame: string, timer: TimerId): Promise<void> | undefined
  emitLive(frame: Frame, event: LiveEvent): void
  report(frame: Frame, task: Task, error: SuperstepError): void
  respond(id: RequestId, value: unknown, by: string): Promise<void>
  /** Closes the requests of a sub-workflow that nobody waits for any more. */
  withdrawRequests(frame: Frame): void
  /** The run may have a result now. */
  checkResult(): void
  /** The root frame has ended. */
  finish(): void
  /** The run cannot continue. */
  stop(error: unknown): void
}

export class Frame implements TaskFrame {
  readonly host: FrameHost
  readonly program: Program
  readonly machine: Machine
  readonly caller: Caller | undefined
  readonly telemetry: RunTelemetry | undefined
  readonly started: FrameStart
  /** Another process started it, so its earlier times cannot be compared. */
  readonly isRestored: boolean
  /** Sub-workflows in progress that its tasks called, by the last part of their keys. */
  below: ReadonlyMap<string, Frame> = NO_ENTRIES
  #thrown: { readonly entry: TaskFailed; readonly thrown: unknown } | undefined
  #busy = false
  /** The budget of a caller does not allow what a task here needs. */
  #isCallersLimit = false
  /** Its caller has the outcome, or no longer waits for it. */
  #reported = false
  /** The host's `cuts` when every caller was last seen to wait for this frame. */
  #attachedAt = -1
  #offered: ReadonlySet<RequestId> = NO_MEMBERS
  #changes: Signal | undefined
  #path: readonly string[] | undefined
  /** The work that tasks leave behind because of the current entry. */
  #atWork: LeftByTask | undefined

  private constructor(
    host: FrameHost,
    program: Program,
    machine: Machine,
    caller: Caller | undefined,
    started: FrameStart,
    telemetry: RunTelemetry | undefined,
    isRestored: boolean,
  ) {
    this.host = host
    this.program = program
    this.machine = machine
    this.caller = caller
    this.started = started
    this.telemetry = telemetry
    this.isRestored = isRestored
    machine.onLimit(this.#leave.bind(this))
  }

  /** Names the frame within its run's journal; empty for the root. */
  get key(): string {
    return this.caller === undefined ? "" : this.caller.callee
  }

  /** As long as the frame is deep, and needed by events and errors only. */
  get path(): readonly string[] {
    this.#path ??= framePath(this.caller)
    return this.#path
  }

  #leave(breach: ErrorData): LeftByTask {
    this.#atWork = leftByTasks(this.machine, fromErrorData(breach))
    return this.#atWork
  }

  /** `lasting`: initial values from the thread, which the journal does not repeat. */
  static start(
    host: FrameHost,
    program: Program,
    asked: RunStarted,
    caller: Caller | undefined,
    lasting?: RunStarted["state"],
  ): Frame {
    const telemetry = host.startTelemetry(caller, asked, false)
    const entry = telemetry?.trace === undefined ? asked : { ...asked, trace: telemetry.trace }
    const full = lasting === undefined ? entry : { ...entry, state: { ...lasting, ...entry.state } }
    const { machine, effects } = Machine.start(program.graph, full, host.isObserved)
    const frame = new Frame(host, program, machine, caller, startedAs(entry), telemetry, false)
    host.addFrame(frame)
    frame.#follow(entry, effects, 0)
    return frame
  }

  /** Restores the frame with the machine of its journal, on the program's graph. */
  static restore(
    host: FrameHost,
    program: Program,
    started: FrameStart,
    { machine, changed }: Adopted,
    caller: Caller | undefined,
  ): Frame {
    machine.observe(host.isObserved)
    const telemetry = machine.isOver() ? undefined : host.startTelemetry(caller, started, true)
    const frame = new Frame(host, program, machine, caller, started, telemetry, true)
    host.addFrame(frame)
    if (changed !== undefined) {
      host.commit(frame, { type: "graph.changed", at: host.now(), ...changed }, [], 0)
    }
    return frame
  }

  /** After a restore: starts the tasks that are to run. */
  resume(): void {
    if (this.machine.isOver()) return this.finish()
    this.#track()
    const effects = this.machine.resume()
    this.#reduce(effects)
    this.host.enqueue(this, effects)
    for (const request of this.machine.requests()) this.#offer(request)
  }

  /** Applies an entry: the machine first, then the journal, then its effects. */
  apply(asked: Entry): void {
    let entry = asked
    // Its caller has ended, but its handlers are not aborted yet: ignore the entry.
    if (this.caller !== undefined && this.isAbandoned()) return
    if (this.host.paidSteps.size > 0) this.#noteBefore(entry)
    const before = this.machine.eventCount
    const hold = this.caller === undefined ? undefined : holdOf(this, entry)
    const hasBelow = this.below.size > 0
    const cuts = hasBelow && this.#endsWaiting(entry)
    let effects: readonly Effect[]
    try {
      effects = this.machine.apply(entry)
    } catch (error) {
      // An entry that the machine rejects is a bug in the driver: stop the run with an error.
      return this.host.stop(error)
    }
    if (this.#atWork !== undefined) entry = this.#withLeftWork(entry, this.#atWork)
    if (this.#thrown !== undefined) this.#noteThrown()
    if (hasBelow && (cuts || hasEffect(effects, "abort"))) this.host.cuts++
    const { caller } = this
    if (caller === undefined) this.#follow(entry, effects, before)
    else this.#followBelow(caller, entry, effects, before, hold)
    this.#changes?.notify()
  }

  #withLeftWork(entry: Entry, atWork: LeftByTask): Entry {
    this.#atWork = undefined
    return atWork.length === 0 ? entry : { ...entry, atWork }
  }

  /** Usage and reservations of a sub-workflow also count for its callers, before anything else starts. */
  #followBelow(
    caller: Caller,
    entry: Entry,
    effects: readonly Effect[],
    eventsBefore: number,
    hold: string | undefined,
  ): void {
    this.host.together(() => {
      this.#follow(entry, effects, eventsBefore)
      if (entry.type === "step.started" || entry.type === "usage.reserved") {
        caller.frame.#holdUsage(caller.task, hold as string, entry)
      } else {
        const used = usedBy(entry)
        if (used !== undefined) caller.frame.addUsage(caller.task, used, hold)
      }
      const asks = entry.type === "request.opened" || (entry.type === "task.finished" && entry.requests)
      if (asks) for (const request of this.machine.requests()) this.#offer(request)
    })
  }

  /** Whether a caller of this frame no longer waits for it. */
  isAbandoned(): boolean {
    const { cuts } = this.host
    // Checks up to the nearest frame that is known to be attached, so that deep frames are not walked for every entry.
    for (let frame: Frame = this; frame.caller !== undefined; frame = frame.caller.frame) {
      if (frame.#attachedAt === cuts) break
      const { caller } = frame
      if (caller.frame.machine.task(caller.task)?.attempt !== caller.attempt) return true
    }
    for (let frame: Frame = this; frame.caller !== undefined; frame = frame.caller.frame) {
      if (frame.#attachedAt === cuts) break
      frame.#attachedAt = cuts
    }
    return false
  }

  /** Whether the entry is about a task that waits for something, maybe for a sub-workflow. */
  #endsWaiting(entry: Entry): boolean {
    switch (entry.type) {
      case "task.finished":
      case "task.failed":
      case "task.rejected":
        return (this.machine.task(entry.task)?.waits?.size ?? 0) > 0
      default:
        return false
    }
  }

  /** A caller may answer a sub-workflow's question; the nearest caller is asked first. */
  #offer(request: OpenRequest): void {
    if (this.#offered.has(request.id)) return
    this.#offered = addMember(this.#offered, request.id)
    let { caller } = this
    while (caller !== undefined && caller.onRequest === undefined) caller = caller.frame.caller
    if (caller?.onRequest === undefined) return
    const { onRequest } = caller
    this.host.changeBusy(1)
    const answered = async () => {
      const answer = await onRequest(request)
      if (answer === undefined || this.machine.request(request.id) === undefined) return
      await this.host.respond(outerId(this.key, request.id), answer, `node "${caller.node}"`)
    }
    answered()
      .catch((thrown) => {
        // Unless the request was answered meanwhile.
        if (this.machine.request(request.id) !== undefined) this.#answerFailed(request, thrown)
      })
      .finally(() => {
        this.host.changeBusy(-1)
        this.host.checkResult()
      })
  }

  #answerFailed(request: OpenRequest, thrown: unknown): void {
    if (this.machine.isOver()) return
    const cause = toErrorData(thrown)
    const message = `The caller's answer to "${request.prompt}" failed: ${cause.message}`
    this.#fail({ code: cause.code, message, cause }, thrown)
  }

  #follow(entry: Entry, effects: readonly Effect[], eventsBefore: number): void {
    this.#track()
    const events = this.machine.eventCount - eventsBefore
    if (this.program.reducers.size === 0) this.host.commit(this, entry, effects, events)
    else this.#followReduced(entry, effects, events)
  }

  /** The entry's own effects follow its reduction. Separate, as a closure costs every call of the function that may make it. */
  #followReduced(entry: Entry, effects: readonly Effect[], events: number): void {
    this.host.together(() => {
      this.host.commit(this, entry, effects, events)
      this.#reduce(effects)
    })
  }

  /** Reports to the host when the frame begins or stops executing tasks. */
  #track(): void {
    const { machine } = this
    // A sub-workflow that has ended counts until its caller has the outcome: the run is not idle in between.
    const busy = machine.isBusy() || (this.caller !== undefined && machine.isOver() && !this.#reported)
    if (busy === this.#busy) return
    this.#busy = busy
    this.host.changeBusy(busy ? 1 : -1)
  }

  addUsage(task: TaskId, used: readonly SourcedUsage[], settles?: string): void {
    if (this.machine.isOver()) return
    const [{ usage, source } = { usage: NO_USAGE, source: undefined }, ...others] = used
    const also = others.length === 0 ? undefined : Object.freeze(others)
    this.apply({ type: "usage.recorded", at: this.host.now(), task, usage, source, also, settles })
  }

  /** The entry may end other tasks of this workflow: their calls record their usage first. */
  #noteBefore(entry: Entry): void {
    const { machine } = this
    switch (entry.type) {
      case "run.cancelled":
      case "run.failed":
        return this.noteSpent()
      case "timer.fired":
        return entry.timer === RUN_TIMER ? this.noteSpent() : undefined
      case "usage.recorded": {
        const used = [entry, ...(entry.also ?? [])].reduce((sum, { usage }) => addUsage(sum, usage), NO_USAGE)
        return machine.isOverBudgetWith(used) ? this.noteSpent() : undefined
      }
      case "task.failed":
        return machine.willRetry(entry.task, entry.error) ? undefined : this.noteSpent(undefined, true)
      case "task.finished": {
        const isOver = machine.isOverBudgetWith(entry.usage ?? NO_USAGE)
        return isOver ? this.noteSpent(undefined, true) : undefined
      }
      default:
        return undefined
    }
  }

  /** Records the usage so far of calls that are about to be stopped: all of them, or those of a task. */
  noteSpent(task?: TaskId, mayContinue = false): void {
    for (const step of [...this.host.paidSteps]) if (step.isWithin(this, task)) step.noteSpent(mayContinue)
  }

  #holdUsage(task: TaskId, hold: string, reserved: StepStarted | UsageReserved): void {
    if (this.machine.isOver()) return
    const { usage, source, isRaise, spent } = reserved
    this.apply({ type: "usage.reserved", at: this.host.now(), task, hold, usage, source, isRaise, spent })
  }

  /** Reducers are pure and synchronous, so that nothing happens between the commit and its reduction. */
  #reduce(effects: readonly Effect[]): void {
    for (const effect of effects) {
      if (effect.type !== "reduce") continue
      const at = this.host.now()
      try {
        const reduce = this.program.reducers.get(effect.reducer) as Reducer
        let value = effect.current
        for (const write of effect.writes) value = reduce(value, write)
        const owned = ownValue(value, this.host, () => "Its result")
        this.apply({ type: "state.reduced", at, key: effect.key, value: owned })
      } catch (error) {
        const cause = toErrorData(error)
        const message = `The reducer "${effect.reducer}" of channel "${effect.key}" failed: ${cause.message}`
        return this.#fail({ code: "REDUCER_FAILED", message, cause }, error)
      }
    }
  }

  // For tasks: budgets, calls, live events

  budgetProblem(node: GraphNode): ErrorData | undefined {
    for (let frame: Frame | undefined = this; frame !== undefined; frame = frame.caller?.frame) {
      const problem = frame.machine.overBudget
      if (problem === undefined) continue
      this.#noteLimitOf(frame)
      return problem
    }
    return this.machine.nodeOverBudget(node)
  }

  reservationProblem(task: TaskId, replaces: string | undefined, usage: Usage): ErrorData | undefined {
    const problem = this.machine.reservationProblem(task, replaces, usage)
    if (problem !== undefined) return problem
    const hold = replaces === undefined ? undefined : holdName(this, task, replaces)
    for (let { caller } = this; caller !== undefined; caller = caller.frame.caller) {
      const above = caller.frame.machine.reservationProblem(caller.task, hold, usage)
      if (above === undefined) continue
      this.#noteLimitOf(caller.frame)
      return above
    }
    return undefined
  }

  /** A limit that this frame reaches because of a caller's budget also applies to the callers in between. */
  #noteLimitOf(above: Frame): void {
    for (
      let frame: Frame | undefined = this;
      frame !== undefined && frame !== above;
      frame = frame.caller?.frame
    )
      frame.#isCallersLimit = true
  }

  prepareCall(callee: string, program: Program): void {
    this.host.restored?.prepare(callee, program)
  }

  call(call: Call, program: Program, entry: RunStarted): void {
    // A property after a spread takes 1 µs on Node 20.
    this.host.call(program, entry, { frame: this, ...call })
  }

  abandonCall(part: string, left?: ErrorData): void {
    this.below.get(part)?.abandon("its caller has ended", left)
  }

  refuseRemovedCall(task: Task, call: string, instead?: string): void {
    this.host.restored?.refuseRemoved(this, task, call, instead)
  }

  emitLive(event: LiveEvent): void {
    this.host.emitLive(this, event)
  }

  report(task: Task, error: SuperstepError): void {
    this.host.report(this, task, error)
  }

  #fail(error: ErrorData & { readonly cause: ErrorData }, thrown: unknown): void {
    rememberThrown(error.cause, thrown)
    this.apply({ type: "run.failed", at: this.host.now(), error })
  }

  /** An attempt has failed. If that ends the frame, its caller gets the thrown error. */
  failTask(entry: TaskFailed, thrown: unknown): void {
    this.#thrown = { entry, thrown }
    this.apply(entry)
    this.#thrown = undefined
  }

  /** Remembers the thrown error for the error data that ended the machine. */
  #noteThrown(): void {
    const { error } = this.machine
    if (this.#thrown === undefined || error === undefined) return
    const { entry, thrown } = this.#thrown
    const isSame = error.code === entry.error.code && error.message === entry.error.message
    if (isSame && error.attempt === entry.attempt) rememberThrown(error, thrown)
  }

  fireTimer(timer: string): void {
    // A resumed run sets its timers again.
    if (!this.machine.hasTimer(timer) || this.machine.pause !== undefined) return
    // An answer that was stored before the run was loaded comes before its deadline, as a signal does.
    const answering = this.host.answering(this.key, timer)
    if (answering !== undefined) return void answering.then(() => this.fireTimer(timer))
    const { catchUp } = this.host
    if (timer === RUN_TIMER && catchUp.isBehind) return catchUp.afterwards(() => this.fireTimer(timer))
    this.apply({ type: "timer.fired", at: this.host.now(), timer })
  }

  leftByCall(part: string, error: unknown): readonly LeftNotice[] {
    return noticesOf(this.below.get(part)?.machine, error)
  }

  cancel(reason: string | undefined, mail?: string): void {
    if (this.machine.isOver()) return
    const at = this.host.now()
    this.apply({ type: "run.cancelled", at, reason, ...(mail === undefined ? {} : { mail }) })
  }

  pause(why: Omit<RunPaused, "type" | "at">): void {
    if (this.machine.isOver() || this.machine.pause !== undefined) return
    this.apply({ type: "run.paused", at: this.host.now(), ...why })
  }

  unpause(by: Omit<RunResumed, "type" | "at">): void {
    if (this.machine.pause !== undefined) this.apply({ type: "run.resumed", at: this.host.now(), ...by })
  }

  /** The machine has ended: the caller gets the outcome. */
  finish(): void {
    const { machine, caller } = this
    this.telemetry?.end(machine.status, machine.error, machine.usage)
    if (caller === undefined) return this.host.finish()
    this.host.removeFrame(this)
    this.host.together(() => {
      const { frame, task, key, attempt } = caller
      if (frame.machine.task(task)?.attempt === attempt) {
        const at = this.host.now()
        const outcome = this.#outcome()
        frame.apply({ type: "call.finished", at, task, key, outcome, ...this.#undelivered(outcome) })
      }
      this.#reported = true
      this.#track()
    })
  }

  #outcome(): WaitOutcome {
    const { machine } = this
    if (machine.status === "completed") return { ok: true, value: Object.freeze([...machine.outputs]) }
    const cause = machine.error as ErrorData
    const message = `Sub-workflow "${machine.graph.name}" ended as ${machine.status}: ${cause.message}`
    const limit = machine.status === "limit" && this.#isCallersLimit ? { limit: true } : {}
    const error = { code: cause.code, message, cause, retryable: cause.retryable, ...limit }
    return machine.left === undefined ? { ok: false, error } : { ok: false, error, left: machine.left }
  }

  /** M5 across workflows: the caller's result lists the undelivered messages of a call, unless the call failed. */
  #undelivered({ ok }: WaitOutcome): Pick<CallFinished, "undelivered"> {
    const { undelivered } = this.machine
    if (!ok || undelivered.length === 0) return {}
    return { undelivered: undelivered.map((message) => Object.freeze({ path: this.path, ...message })) }
  }

  /** Resolves when a handler begins to wait, or something else has changed. */
  nextChange(): Promise<void> {
    this.#changes ??= new Signal()
    return this.#changes.wait()
  }

  /** Whether every handler waits again for what its task waits for, after a restart. */
  hasCaughtUp(): boolean {
    for (const task of this.machine.tasks()) {
      if (task.status === "parked" && !attemptOf(task)?.isWaiting()) return false
    }
    return true
  }

  /** Notifies that a handler now waits, or that something else changed. */
  changed(): void {
    this.#changes?.notify()
    this.host.checkResult()
  }

  /** Stops the frame because its caller has ended; nothing more is journaled. */
  abandon(reason: string, left?: ErrorData): void {
    this.#abortAll(reason, left)
    this.host.withdrawRequests(this)
    for (const timer of this.machine.timers()) this.host.clearTimer(this, timer)
    this.telemetry?.end("cancelled", { code: "CANCELLED", message: reason }, this.machine.usage)
    if (this.#busy) this.host.changeBusy(-1)
    this.#busy = false
    this.#reported = true
    this.host.removeFrame(this)
  }

  /** Stops the frame because the run cannot continue here. Another process may claim it and counts its usage. */
  stop(error: ErrorData): void {
    this.#abortAll("the run could not continue", error)
    this.#changes?.notify()
    this.telemetry?.end("failed", error, {})
  }

  #abortAll(reason: string, left?: ErrorData): void {
    for (const task of this.machine.tasks()) attemptOf(task)?.abort(reason, left)
  }
}
