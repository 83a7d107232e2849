/**
 * One workflow within a run: its machine, and the carrying out of what the machine asks for. A run is a root
 * frame; a sub-workflow is a frame below the task that called it.
 */

import {
  type Effect,
  type Entry,
  type ErrorData,
  type Json,
  Machine,
  type NodeId,
  type OpenRequest,
  type RequestId,
  type RunStarted,
  type StepStarted,
  type Task,
  type TaskId,
  toErrorData,
  type Usage,
  type UsageReserved,
  type UsageSource,
  type WaitOutcome,
} from "../core/index.ts"
import { LazySet } from "../core/lazy.ts"
import { checkJson } from "./check-json.ts"
import { outerId } from "./events.ts"
import { childKey, pathPart } from "./frame-key.ts"
import type { Adopted } from "./graph-change.ts"
import { type FrameStart, startedAs } from "./loaded-run.ts"
import type { Program, Reducer } from "./program.ts"
import type { RunHost } from "./run-host.ts"
import type { Schema } from "./schema.ts"
import type { TaskRun } from "./task-run.ts"
import type { RunTelemetry } from "./telemetry-port.ts"

/** The task that waits for a sub-workflow. */
export interface Caller {
  readonly frame: Frame
  readonly task: TaskId
  readonly node: NodeId
  readonly attempt: number
  readonly key: string
  /** Which of the attempt's calls it is, from 1. */
  readonly number: number
  readonly onRequest?: ((request: OpenRequest) => unknown) | undefined
}

/** The last failure as it was thrown, and as the journal has it. */
export interface Thrown {
  readonly error: unknown
  readonly data: ErrorData
}

export class Frame {
  readonly host: RunHost
  readonly program: Program
  readonly machine: Machine
  /** Names the frame within its run's journal; empty for the root. */
  readonly key: string
  readonly path: readonly string[]
  readonly caller: Caller | undefined
  readonly telemetry: RunTelemetry | undefined
  readonly started: FrameStart
  /** It was started in another life, so times from back then say little. */
  readonly isRestored: boolean
  thrown: Thrown | undefined
  #busy = false
  readonly #offered = new LazySet<RequestId>()
  #changes: (() => void)[] = []

  private constructor(
    host: RunHost,
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
    this.key = caller === undefined ? "" : frameKey(caller)
    this.path = framePath(caller)
    this.started = started
    this.telemetry = telemetry
    this.isRestored = isRestored
  }

  /** `lasting` has the first values of state that the journal does not repeat: a thread has them. */
  static start(
    host: RunHost,
    program: Program,
    asked: RunStarted,
    caller: Caller | undefined,
    lasting?: RunStarted["state"],
  ): Frame {
    const telemetry = host.startTelemetry(framePath(caller), asked, false)
    const entry = telemetry?.trace === undefined ? asked : { ...asked, trace: telemetry.trace }
    const full = lasting === undefined ? entry : { ...entry, state: { ...lasting, ...entry.state } }
    const { machine, effects } = Machine.start(program.graph, full, host.isObserved)
    const frame = new Frame(host, program, machine, caller, startedAs(entry), telemetry, false)
    host.addFrame(frame)
    frame.#follow(entry, effects, 0)
    return frame
  }

  /** With the machine that its journal left, on the program's graph. */
  static restore(
    host: RunHost,
    program: Program,
    started: FrameStart,
    { machine, changed }: Adopted,
    caller: Caller | undefined,
  ): Frame {
    machine.observe(host.isObserved)
    const telemetry = machine.isOver() ? undefined : host.startTelemetry(framePath(caller), started, true)
    const frame = new Frame(host, program, machine, caller, started, telemetry, true)
    host.addFrame(frame)
    if (changed !== undefined) {
      host.commit(frame, { type: "graph.changed", at: host.now(), ...changed }, [], 0)
    }
    return frame
  }

  /** After a restore: starts what is to run. */
  resume(): void {
    if (this.machine.isOver()) return this.#finished()
    this.#track()
    const effects = this.machine.resume()
    this.#reduce(effects)
    this.host.enqueue(this, effects)
    for (const request of this.machine.requests()) this.#offer(request)
  }

  /** Takes an entry: the machine first, then the journal, then what follows from it. */
  apply(entry: Entry): void {
    // Its caller is over, though its handlers have not been told yet: nothing of it counts any more.
    if (this.caller !== undefined && this.isAbandoned()) return
    const before = this.machine.eventCount
    const settles = this.caller === undefined ? undefined : this.#heldBy(entry)
    let effects: Effect[]
    try {
      effects = this.machine.apply(entry)
    } catch (error) {
      // An entry that the machine refuses is a fault of the driver: the run stops, loudly.
      return this.host.stop(error)
    }
    const { caller } = this
    if (caller === undefined) this.#follow(entry, effects, before)
    else this.host.together(() => this.#followBelow(caller, entry, effects, before, settles))
    if (this.#changes.length > 0) this.#notify()
  }

  /** The reservation, as callers know it, that an entry is about or settles. */
  #heldBy(entry: Entry): string | undefined {
    switch (entry.type) {
      case "step.started":
        return holdName(this, entry.task, entry.key)
      case "step.recorded":
        return entry.settles === true ? holdName(this, entry.task, entry.key) : undefined
      case "usage.reserved":
        return entry.hold
      case "usage.recorded": {
        const { task, settles } = entry
        if (settles === undefined) return undefined
        return this.machine.wasStarted(task, settles) ? holdName(this, task, settles) : settles
      }
      default:
        return undefined
    }
  }

  /** What a sub-workflow uses and reserves counts for its callers too, before anything else of it starts. */
  #followBelow(
    caller: Caller,
    entry: Entry,
    effects: Effect[],
    eventsBefore: number,
    hold: string | undefined,
  ): void {
    this.#follow(entry, effects, eventsBefore)
    if (entry.type === "step.started" || entry.type === "usage.reserved") {
      caller.frame.#holdUsage(caller.task, hold as string, entry)
    } else if ("usage" in entry && entry.usage !== undefined) {
      caller.frame.addUsage(caller.task, entry.usage, "source" in entry ? entry.source : undefined, hold)
    }
    if (entry.type === "request.opened" || (entry.type === "task.finished" && entry.requests !== undefined)) {
      for (const request of this.machine.requests()) this.#offer(request)
    }
  }

  /** Whether a caller of this frame no longer waits for it. */
  isAbandoned(): boolean {
    for (let { caller } = this as Frame; caller !== undefined; caller = caller.frame.caller) {
      if (caller.frame.machine.task(caller.task)?.attempt !== caller.attempt) return true
    }
    return false
  }

  /** A caller may answer a sub-workflow's question itself; the nearest one that can is asked first. */
  #offer(request: OpenRequest): void {
    if (this.#offered.has(request.id)) return
    this.#offered.add(request.id)
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
        // Somebody else was faster.
        if (this.machine.request(request.id) !== undefined) this.#answerFailed(request, thrown)
      })
      .finally(() => {
        this.host.changeBusy(-1)
        this.host.checkSettled()
      })
  }

  #answerFailed(request: OpenRequest, thrown: unknown): void {
    if (this.machine.isOver()) return
    const cause = toErrorData(thrown)
    const message = `The caller's answer to "${request.prompt}" failed: ${cause.message}`
    this.#fail({ error: thrown, data: { code: cause.code, message, cause } })
  }

  #follow(entry: Entry, effects: Effect[], eventsBefore: number): void {
    this.#track()
    const events = this.machine.eventCount - eventsBefore
    if (this.program.reducers.size === 0) return this.host.commit(this, entry, effects, events)
    // What the entry started comes after the reduction it asked for.
    this.host.together(() => {
      this.host.commit(this, entry, effects, events)
      this.#reduce(effects)
    })
  }

  /** Tells the host when the frame starts or stops having tasks at work. */
  #track(): void {
    const busy = this.machine.isBusy()
    if (busy === this.#busy) return
    this.#busy = busy
    this.host.changeBusy(busy ? 1 : -1)
  }

  /** `settles`: the reservation that this takes the place of. */
  addUsage(task: TaskId, usage: Usage, source: UsageSource | undefined, settles?: string): void {
    if (this.machine.isOver()) return
    this.apply({ type: "usage.recorded", at: this.host.now(), task, usage, source, settles })
  }

  #holdUsage(task: TaskId, hold: string, reserved: StepStarted | UsageReserved): void {
    if (this.machine.isOver()) return
    const { usage, source, isRaise } = reserved
    this.apply({ type: "usage.reserved", at: this.host.now(), task, hold, usage, source, isRaise })
  }

  perform(effect: Effect): void {
    switch (effect.type) {
      case "resume":
        ;(effect.task.attachment as TaskRun | undefined)?.resume(effect.key, effect.outcome)
        break
      case "abort":
        ;(effect.task.attachment as TaskRun | undefined)?.abort(effect.reason)
        break
      case "timer":
        this.host.setTimer(this, effect.timer, effect.at)
        break
      case "clear-timer":
        this.host.clearTimer(this, effect.timer)
        break
      case "finish":
        this.#finished()
        break
      case "start":
      case "emit":
      case "reduce":
      case "request":
      case "request-closed":
        // The host starts tasks and numbers events; reductions are answered before an entry is followed up, and
        // what is asked is stored with the entry.
        break
    }
  }

  /** Reducers are pure and answer at once, so that nothing comes between the commit and its reduction. */
  #reduce(effects: readonly Effect[]): void {
    for (const effect of effects) {
      if (effect.type !== "reduce") continue
      const at = this.host.now()
      try {
        const reduce = this.program.reducers.get(effect.reducer) as Reducer
        let value = effect.current
        for (const write of effect.writes) value = reduce(value, write)
        checkJson(value, this.host, () => "What it returned")
        this.apply({ type: "state.reduced", at, key: effect.key, value: value as Json })
      } catch (error) {
        const cause = toErrorData(error)
        const message = `The reducer "${effect.reducer}" of channel "${effect.key}" failed: ${cause.message}`
        return this.#fail({ error, data: { code: "REDUCER_FAILED", message, cause } })
      }
    }
  }

  #fail(thrown: Thrown): void {
    this.thrown = thrown
    this.apply({ type: "run.failed", at: this.host.now(), error: thrown.data })
  }

  fireTimer(timer: string): void {
    if (!this.machine.hasTimer(timer)) return
    this.apply({ type: "timer.fired", at: this.host.now(), timer })
  }

  cancel(reason: string | undefined, mail?: string): void {
    if (this.machine.isOver()) return
    const at = this.host.now()
    this.apply({ type: "run.cancelled", at, reason, ...(mail === undefined ? {} : { mail }) })
  }

  #finished(): void {
    const { machine, caller } = this
    this.telemetry?.end(machine.status, machine.error, machine.usage)
    if (caller === undefined) return this.host.finish()
    this.host.removeFrame(this)
    if (caller.frame.machine.task(caller.task)?.attempt !== caller.attempt) return
    const { task, key } = caller
    caller.frame.apply({ type: "call.finished", at: this.host.now(), task, key, outcome: this.#outcome() })
  }

  #outcome(): WaitOutcome {
    const { machine } = this
    if (machine.status === "completed") return { ok: true, value: [...machine.outputs] }
    const cause = machine.error as ErrorData
    const message = `Sub-workflow "${machine.graph.name}" ended as ${machine.status}: ${cause.message}`
    return { ok: false, error: { code: cause.code, message, cause, retryable: cause.retryable } }
  }

  /**
   * What an answer to a request must fit: the waiting handler's schema, or the node's. After a restart the handler
   * may not have asked again yet: then this waits for it.
   */
  async answerSchema(request: OpenRequest): Promise<Schema | undefined> {
    for (;;) {
      const task = this.machine.task(request.task)
      const asker = task?.attachment as TaskRun | undefined
      if (task === undefined || !isAskedInline(task, request)) {
        return this.program.nodes[this.program.graph.index.get(request.node) as number]?.onAnswer?.schema
      }
      if (asker?.holds(request)) return asker.answerSchema(request)
      if (this.machine.request(request.id) === undefined || this.machine.isOver()) return undefined
      await new Promise<void>((resolve) => this.#changes.push(resolve))
    }
  }

  /** Whether every handler has come to where it waits: after a restart they run up to there again. */
  hasCaughtUp(): boolean {
    for (const task of this.machine.tasks()) {
      if (task.status === "parked" && !(task.attachment as TaskRun | undefined)?.isWaiting()) return false
    }
    return true
  }

  /** A handler has come to wait for something, or something else has changed. */
  changed(): void {
    if (this.#changes.length > 0) this.#notify()
  }

  #notify(): void {
    const waiting = this.#changes
    this.#changes = []
    for (const resolve of waiting) resolve()
  }

  /** Its caller is over: it stops where it is, without a further word in the journal. */
  abandon(reason: string, left?: ErrorData): void {
    this.#abortAll(reason, left)
    this.host.withdrawRequests(this)
    for (const timer of this.machine.timers()) this.host.clearTimer(this, timer)
    this.telemetry?.end("cancelled", { code: "CANCELLED", message: reason }, this.machine.usage)
    if (this.#busy) this.host.changeBusy(-1)
    this.#busy = false
    this.host.removeFrame(this)
  }

  /** The run cannot go on here; another process may take it up, and counts what it used. */
  stop(error: ErrorData): void {
    this.#abortAll("the run could not go on", error)
    this.telemetry?.end("failed", error, {})
  }

  #abortAll(reason: string, left?: ErrorData): void {
    for (const task of this.machine.tasks()) (task.attachment as TaskRun | undefined)?.abort(reason, left)
  }
}

function isAskedInline(task: Task, request: OpenRequest): boolean {
  for (const wait of task.waits?.values() ?? [])
    if (wait.kind === "request" && wait.request === request.id) return true
  return false
}

function framePath(caller: Caller | undefined): string[] {
  return caller === undefined ? [] : [...caller.frame.path, pathPart(caller.node, caller.task, caller.number)]
}

/** How the callers of a frame name what a step of it has reserved. */
export function holdName({ key }: Frame, task: TaskId, step: string): string {
  return `${key} ${task}:${step}`
}

export function frameKey(caller: Caller): string {
  return childKey(caller.frame.key, caller.task, caller.attempt, caller.key)
}
