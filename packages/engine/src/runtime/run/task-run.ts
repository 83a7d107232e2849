/**
 * One attempt at a task: calls the handler, and turns its end into one journal entry. Nothing that a handler does is visible
 * before that entry (M3). Its `TaskOperations` collect everything besides the returned value; most tasks never need them.
 */
import {
  type AgentChange,
  type ErrorData,
  fromErrorData,
  type Json,
  type Left,
  type NodeId,
  type RouteDecision,
  type RunId,
  type Send,
  SuperstepError,
  type Task,
  type TaskId,
  toErrorData,
  type WaitOutcome,
} from "../../core/index.ts"
import { freezeData } from "../../core/internal.ts"
import type { SlotKeeper } from "../lease/slot-keeper.ts"
import type { AgentReport } from "../ports/agent-report.ts"
import type { NodeFlow } from "../ports/flow.ts"
import { fromUser, isPromise, type MaybePromise } from "../ports/maybe-promise.ts"
import {
  type BoundHandler,
  type Context,
  handlersFor,
  type ProgramNode,
  type SendOptions,
} from "../ports/program.ts"
import type { Labels } from "../ports/stored.ts"
import type { TaskInfo, TaskOutcome, TaskTelemetry } from "../ports/telemetry.ts"
import { ownValue, type Schema, type Validated, validate } from "../ports/values.ts"
import { AttemptTimeLimit } from "./attempt-time-limit.ts"
import {
  AGENT_CHANGE,
  DECIDED,
  ENDED_CALLS,
  KEPT,
  LEAVES,
  type Leave,
  REPORT,
  SLOTS,
  TELEMETRY,
} from "./context.ts"
import type { HandlerKeys } from "./handler-keys.ts"
import {
  keyedAsk,
  keyedCall,
  keyedKeptAnswer,
  keyedScope,
  keyedSleep,
  keyedStep,
  keyedWaitFor,
  keyedWaitForUpdate,
} from "./keyed-operations.ts"
import { leftByTask } from "./left-work.ts"
import { contextMissing } from "./result.ts"
import { groupsTaken } from "./router.ts"
import { performElsewhere, replayOutcome } from "./spread.ts"
import type { Attempt } from "./task-calls.ts"
import type { TaskFrame } from "./task-frame.ts"
import { type Held, OUTPUT, TaskOperations } from "./task-operations.ts"
import { failsAsValue, oneSend, programOf, sendsOf } from "./task-sends.ts"
import { TaskSlot } from "./task-slot.ts"

/** What few attempts have: a run may execute a hundred thousand at the same time. */
class AttemptExtras {
  attempt = 1
  timeLimit: AttemptTimeLimit | undefined
  slot: TaskSlot | undefined
  telemetry: TaskTelemetry | undefined
  leaves: Set<Leave> | undefined
}

export class TaskRun implements Context, Attempt {
  readonly #frame: TaskFrame
  readonly #task: Task
  hasReturned = false
  #operations: TaskOperations | undefined
  #extras: AttemptExtras | undefined

  constructor(frame: TaskFrame, task: Task) {
    this.#frame = frame
    this.#task = task
    task.attachment = this
    if (task.attempt > 1) this.#extend().attempt = task.attempt
  }

  get attempt(): number {
    return this.#extras?.attempt ?? 1
  }

  start(): void {
    const program = programOf(this.#frame, this.#task)
    const { flow } = program
    // An answer has no key.
    if (flow === undefined || this.#task.answers !== undefined) return this.#begin(program)
    const { slots } = this.#frame.host
    if (slots === undefined) this.#begin(program)
    else this.#startInSlot(program, flow, slots)
  }

  #startInSlot(program: ProgramNode, flow: NodeFlow, slots: SlotKeeper): void {
    const slot = new TaskSlot(flow, slots, this.#frame, this.#task, this, (error) => this.#fail(error))
    this.#extend().slot = slot
    slot.take(() => this.#begin(program))
  }

  #extend(): AttemptExtras {
    this.#extras ??= new AttemptExtras()
    return this.#extras
  }

  #begin(program: ProgramNode): void {
    const { telemetry, host } = this.#frame
    if (telemetry !== undefined) this.#extend().telemetry = telemetry.startTask(this.#taskInfo())
    const { timeout } = this.#task.node.spec
    const { id, memo } = this.#task
    if (memo !== undefined) host.catchUp.begin(this.#frame.key, id, memo.size)
    if (timeout !== undefined) this.#limitTime(timeout)
    if (program.placement === "spread" && this.#beginElsewhere(program)) return
    if (program.only !== undefined && this.#task.answers === undefined)
      this.#invoke(program.only, this.#task.message)
    else this.#choose(handlersFor(program, this.#task.answers !== undefined), 0, [])
  }

  /** False if the attempt is to be executed here. */
  #beginElsewhere(program: ProgramNode): boolean {
    const elsewhere = performElsewhere(this.#frame, this.#task, program)
    if (elsewhere !== undefined) this.#performed(elsewhere)
    return elsewhere !== undefined
  }

  /** The first handler whose schema accepts the message receives the parsed value. */
  #choose(handlers: readonly BoundHandler[], at: number, reasons: readonly string[]): void {
    const handler = handlers[at]
    if (handler === undefined) return this.#reject(reasons)
    if (handler.schema === undefined) return this.#invoke(handler, this.#task.message)
    this.#check(handler.schema, this.#task.message, (result) => {
      if (result.ok) this.#invoke(handler, result.value)
      else this.#choose(handlers, at + 1, [...reasons, result.reason])
    })
  }

  /** Validates, now or later; a schema that throws fails the attempt. */
  #check(schema: Schema, value: unknown, then: (result: Validated) => void): void {
    let result: MaybePromise<Validated>
    try {
      result = validate(schema, value)
    } catch (error) {
      return this.#fail(error)
    }
    if (isPromise(result)) result.then(then, (error) => this.#fail(error))
    else then(result)
  }

  async #performed(elsewhere: NonNullable<ReturnType<typeof performElsewhere>>): Promise<void> {
    try {
      const outcome = await elsewhere
      if (this.isOver()) return
      if (outcome.rejected !== undefined) return this.#reject(outcome.rejected)
      this.#succeed(replayOutcome(outcome, this.#operate(), this.#frame, this.#task))
    } catch (error) {
      this.#threw(error)
    }
  }

  #reject(reasons: readonly string[]): void {
    if (!this.#end()) return
    const why = reasons.length === 0 ? "the node has no handler for it" : [...new Set(reasons)].join(" | ")
    const reason = `no handler accepts it: ${why}`
    this.#endTelemetry({ error: { code: "UNDELIVERED", message: reason } })
    this.#frame.apply({ type: "task.rejected", at: this.#frame.host.now(), task: this.#task.id, reason })
  }

  #invoke(handler: BoundHandler, message: unknown): void {
    let result: unknown
    try {
      const telemetry = this.#extras?.telemetry
      if (telemetry === undefined) result = handler.run(message as never, this, this.#task.answers as never)
      else result = this.#runWithin(telemetry, handler, message)
    } catch (error) {
      return this.#threw(error)
    }
    result = fromUser(result)
    // Bound functions take less memory than closures, and a pending task holds both.
    if (isPromise(result)) result.then(this.#succeed.bind(this), this.#threw.bind(this))
    else this.#succeed(result)
  }

  #runWithin(telemetry: TaskTelemetry, handler: BoundHandler, message: unknown): unknown {
    return telemetry.within(() => handler.run(message as never, this, this.#task.answers as never))
  }

  #succeed(value: unknown): void {
    this.hasReturned = true
    if (this.isOver()) return
    if (this.#omitsCall()) return
    const { output } = programOf(this.#frame, this.#task)
    if (output === undefined || value === undefined) this.#route(value)
    else this.#checkOutput(output, value)
  }

  #checkOutput(output: Schema, value: unknown): void {
    this.#check(output, value, (result) => {
      if (result.ok) return this.#route(result.value)
      const text = `"${this.node}" returned a value that does not match its output schema: ${result.reason}`
      this.#fail(new SuperstepError("OUTPUT_INVALID", text))
    })
  }

  /** True if the handler returned without a call that its task waits for: the run is released. */
  #omitsCall(): boolean {
    const key = this.#frame.host.requiresCalls ? this.#operate().missingCall() : undefined
    if (key !== undefined) this.#frame.refuseRemovedCall(this.#task, key)
    return key !== undefined
  }

  #threw(error: unknown): void {
    this.hasReturned = true
    this.#fail(error)
  }

  /** Decides where every message goes, and finishes. */
  #route(value: unknown): void {
    let sends: MaybePromise<readonly Send[]>
    try {
      sends = sendsOf(this.#frame, this.#task, value, this.#operations?.outgoing)
    } catch (error) {
      return this.#fail(error)
    }
    // Cheaper than asking whether it is a promise, at every step.
    if (Array.isArray(sends)) this.#finish(sends)
    else (sends as Promise<Send[]>).then(this.#finish.bind(this), this.#fail.bind(this))
  }

  #finish(sends: readonly Send[], settled?: ErrorData): void {
    if (!this.#end()) return
    // Most tasks return a value and do nothing else: their entries are kept small.
    if (this.#operations === undefined && this.#extras === undefined && settled === undefined) {
      this.#frame.apply({ type: "task.finished", at: this.#frame.host.now(), task: this.#task.id, sends })
    } else this.#finishWith(sends, settled)
  }

  #finishWith(sends: readonly Send[], settled: ErrorData | undefined): void {
    const telemetry = this.#extras?.telemetry
    const operations = this.#operations
    if (telemetry !== undefined) this.#trace(telemetry, sends, settled)
    const kept = settled === undefined ? operations : undefined
    this.#frame.apply({
      type: "task.finished",
      at: this.#frame.host.now(),
      task: this.#task.id,
      sends,
      writes: kept?.writes,
      local: kept?.localWrites,
      requests: kept?.requests,
      decisions: kept?.decisions,
      usage: operations?.usage,
      settled,
      trace: telemetry?.trace,
    })
  }

  #trace(telemetry: TaskTelemetry, sends: readonly Send[], error: ErrorData | undefined): void {
    for (const { route } of sends) {
      // `ctx.output` bypasses the edges.
      if (route === OUTPUT) continue
      for (const { kind, targets } of groupsTaken(this.#task.node, route)) telemetry.routed(kind, targets)
    }
    this.#endTelemetry({ error })
  }

  #endTelemetry(outcome: TaskOutcome): void {
    const usage = this.#operations?.usage
    this.#extras?.telemetry?.end(usage === undefined ? outcome : { ...outcome, usage })
  }

  /** The final failure of a task that settles becomes a value; the machine decides about every other failure. */
  #fail(thrown: unknown): void {
    if (this.isOver()) return
    const error = toErrorData(thrown)
    const retried = this.#frame.machine.willRetry(this.#task.id, error)
    const { catchUp } = this.#frame.host
    if (error.limit && !retried) catchUp.end(this.#frame.key, this.#task.id)
    if (error.limit && !retried && catchUp.isBehind) {
      this.#extras?.timeLimit?.stop()
      return catchUp.afterwards(() => this.#fail(thrown))
    }
    if (failsAsValue(this.#task) && !error.fatal && !retried) return this.#sendFailure(error)
    const left = error.limit && !retried ? this.left(thrown) : undefined
    this.#end()
    this.#endTelemetry({ error, retried })
    this.#frame.failTask(
      {
        type: "task.failed",
        at: this.#frame.host.now(),
        task: this.#task.id,
        attempt: this.attempt,
        error,
        usage: this.#operations?.usage,
        trace: this.#extras?.telemetry?.trace,
        left,
      },
      thrown,
    )
  }

  /** M3: a failed attempt sends nothing but the failure. */
  #sendFailure(error: ErrorData): void {
    const value = freezeData({
      ok: false,
      error: { ...error, node: this.node, attempt: this.attempt },
    }) as unknown as Json
    const fatal = (cause: unknown) =>
      this.#fail(new SuperstepError("EDGE_FAILED", toErrorData(cause).message, { cause, fatal: true }))
    let sends: MaybePromise<readonly Send[]>
    try {
      sends = oneSend(this.#frame, this.#task, value)
    } catch (cause) {
      return fatal(cause)
    }
    if (isPromise(sends)) sends.then((list) => this.#finish(list, error), fatal)
    else this.#finish(sends, error)
  }

  #limitTime(timeout: number): void {
    this.#extend().timeLimit = new AttemptTimeLimit(this.#frame.host, timeout, () => this.#timeUp(timeout))
  }

  #timeUp(timeout: number): void {
    if (this.isOver()) return
    this.#fail(new SuperstepError("TIMEOUT", `Node "${this.node}" took longer than ${timeout} ms.`))
    this.#operate().stop(`it took longer than ${timeout} ms`)
  }

  /** True once: the attempt has ended, whatever else its handler still does. */
  #end(): boolean {
    if (this.isOver()) return false
    // Stops its remaining work.
    if (this.#frame.host.paidSteps.size > 0) this.#frame.noteSpent(this.#task.id)
    this.#close()
    return true
  }

  #close(left?: ErrorData): void {
    this.#task.attachment = undefined
    if (this.#task.memo !== undefined) this.#frame.host.catchUp.end(this.#frame.key, this.#task.id)
    this.#extras?.timeLimit?.stop()
    this.#extras?.slot?.end()
    this.#operations?.abandonCalls(left)
  }

  /** The attempt has ended, or its task has. */
  isOver(): boolean {
    return this.#task.attachment !== this || this.#task.status === "over"
  }

  // For the frame

  /** The work that remains when a limit ends the task; undefined if there is none, or none that can be stored. */
  left(error: unknown): Left | undefined {
    const own = [...(this.#extras?.leaves ?? [])].map((leave) => leave(error))
    const below = [...(this.#task.left ?? []), ...(this.#operations?.leftByCalls(error) ?? [])]
    const what = () => `What "${this.node}" leaves at a limit`
    return leftByTask(
      own,
      below,
      (value) => ownValue(value, this.#frame.host, what),
      (problem) => this.#frame.report(this.#task, fromErrorData(toErrorData(problem))),
    )
  }

  /** Aborts the handler without awaiting it: the machine drops the result, or the run has `left` this process. */
  abort(reason: string, left?: ErrorData): void {
    if (this.#task.attachment !== this) return
    this.#close(left)
    this.#endTelemetry({ error: { code: "CANCELLED", message: reason } })
    this.#operate().stop(reason, left)
  }

  /** The outcome that the handler waited for. */
  resume(key: string, outcome: WaitOutcome): void {
    const resume = () => {
      if (this.#operations?.resume(key, outcome)) this.#extras?.timeLimit?.go()
    }
    const slot = this.#extras?.slot
    if (slot === undefined) resume()
    else slot.take(resume)
  }

  /** Whether the handler waits for everything that its task waits for. */
  isWaiting(): boolean {
    return this.#operations?.holdsAll() ?? false
  }
  /** What the handler holds for its wait under this key; undefined if it has not waited for it yet. */
  held(key: string): Held | undefined {
    return this.#operations?.held(key)
  }

  #operate(): TaskOperations {
    this.#operations ??= new TaskOperations(this.#frame, this.#task, this.attempt, this)
    return this.#operations
  }

  // For its operations

  onWait(): void {
    this.#extras?.timeLimit?.stop()
    this.#extras?.slot?.wait()
  }
  onResume(): void {
    this.#extras?.timeLimit?.go()
    this.#extras?.slot?.stay()
  }
  async again(): Promise<void> {
    const slot = this.#extras?.slot
    if (slot !== undefined) await new Promise<void>((taken) => slot.take(taken))
    // Another part of the handler may wait for something external.
    if (!this.#operations?.isWaiting) this.#extras?.timeLimit?.go()
  }
  trace(): string | undefined {
    return this.#extras?.telemetry?.trace
  }

  #taskInfo(): TaskInfo {
    const { id, node, superstep, traces, knownAt } = this.#task
    const { host, isRestored } = this.#frame
    return {
      task: id,
      node: node.id,
      kind: node.spec.kind,
      attempt: this.attempt,
      superstep,
      causes: traces ?? [],
      queuedMs: this.attempt > 1 || isRestored ? undefined : host.now() - knownAt,
    }
  }

  /** The parent of traces inside the task: agents, models, tools. */
  get [TELEMETRY](): TaskTelemetry | undefined {
    return this.#extras?.telemetry
  }

  // For the handler

  get runId(): RunId {
    return this.#frame.host.runId
  }
  get labels(): Labels {
    return this.#frame.host.labels
  }
  get node(): NodeId {
    return this.#task.node.id
  }
  get task(): TaskId {
    return this.#task.id
  }
  get idempotencyKey(): string {
    const { key, host } = this.#frame
    return key === "" ? `${host.runId}:${this.task}` : `${host.runId}:${key}:${this.task}`
  }
  get signal(): AbortSignal {
    return this.#operate().signal()
  }
  get budget(): Context["budget"] {
    const { claimed, budgetLeft } = this.#frame.host.root.machine
    return { used: claimed, left: budgetLeft }
  }
  get state(): Context["state"] {
    return this.#operate().state()
  }
  get local(): Context["local"] {
    return this.#operate().local()
  }
  // Bound functions, so that a handler may destructure its context: `(message, { step, send }) => …`.
  get send(): Context["send"] {
    return (message: unknown, options?: SendOptions) => this.#operate().send(message, options)
  }
  get output(): Context["output"] {
    return (value: unknown) => this.#operate().output(value)
  }
  get checkBudget(): Context["checkBudget"] {
    return () => this.#operate().checkBudget()
  }
  get usedBy(): Context["usedBy"] {
    return (agent) => this.#frame.host.root.machine.usageOf(agent)
  }
  get context(): unknown {
    const { context, runId } = this.#frame.host
    if (context === undefined) throw contextMissing(runId, [])
    return context
  }
  get [REPORT](): (report: AgentReport) => void {
    return (report) => this.#frame.host.addReport(`${this.#frame.key} ${this.#task.id}`, this.attempt, report)
  }
  get [DECIDED](): (decision: RouteDecision) => void {
    return (decision) => this.#operate().decide(decision)
  }
  get [LEAVES](): (leave: Leave) => () => void {
    return (leave) => {
      const extras = this.#extend()
      extras.leaves ??= new Set()
      extras.leaves.add(leave)
      return () => extras.leaves?.delete(leave)
    }
  }
  get [SLOTS](): Pick<SlotKeeper, "take"> | undefined {
    const { slots, runId } = this.#frame.host
    return (
      slots && { take: (wish, listener) => slots.take({ by: { runId, node: this.node }, ...wish }, listener) }
    )
  }
  get [AGENT_CHANGE](): (agent: string) => AgentChange | undefined {
    return (agent) => this.#frame.host.root.machine.agentChange(agent)
  }
  /** For scripted models: how many calls of the agent were answered before. */
  get [ENDED_CALLS](): (agent: string) => number {
    return (agent) => this.#frame.host.root.machine.endedCallsOf(agent)
  }
  get [KEPT](): (name: string) => Json | undefined {
    return this.#keyed(keyedKeptAnswer)
  }
  get usedHere(): Context["usedHere"] {
    return this.#frame.machine.usage
  }
  get isWatched(): boolean {
    return this.#frame.host.mayBeWatched
  }
  get delta(): Context["delta"] {
    return (delta) => this.#operate().live.delta(delta)
  }
  get partial(): Context["partial"] {
    return (output) => this.#operate().live.partial(output)
  }
  get progress(): Context["progress"] {
    return (progress) => this.#operate().live.progress(progress)
  }
  get emit(): Context["emit"] {
    return (name, data) => this.#operate().emit(name, data)
  }
  get log(): Context["log"] {
    return (level, message, data) => this.#operate().live.log(level, message, data)
  }
  get use(): Context["use"] {
    return (usage) => this.#operate().use(usage)
  }
  get request(): Context["request"] {
    return (question) => this.#operate().request(question)
  }
  get ask(): Context["ask"] {
    return this.#keyed(keyedAsk)
  }
  get waitFor(): Context["waitFor"] {
    return this.#keyed(keyedWaitFor)
  }
  get waitForUpdate(): Context["waitForUpdate"] {
    return this.#keyed(keyedWaitForUpdate)
  }
  get sleep(): Context["sleep"] {
    return this.#keyed(keyedSleep)
  }
  get step(): Context["step"] {
    return this.#keyed(keyedStep)
  }
  get call(): Context["call"] {
    return this.#keyed(keyedCall)
  }
  get scope(): Context["scope"] {
    return this.#keyed((operations, keys) => keyedScope(this, operations, keys))
  }
  get clock(): Context["clock"] {
    return this.#frame.host.clock
  }

  #keyed<T>(of: (operations: TaskOperations, keys: HandlerKeys) => T): T {
    const operations = this.#operate()
    return of(operations, operations.keys)
  }
}

/** The attempt at the task that runs in this process. */
export function attemptOf({ attachment }: Task): TaskRun | undefined {
  return attachment as TaskRun | undefined
}
