/**
 * One attempt at a task: calls the handler, and turns its end into one journal entry. Nothing that a handler does
 * is visible before that entry (M3). What it does beside returning a value is kept by its `Doings`, which most
 * tasks never need.
 */
import {
  type ErrorData,
  type Json,
  type NodeId,
  type OpenRequest,
  type RunId,
  type Send,
  SuperstepError,
  type Task,
  type TaskId,
  toErrorData,
  type WaitOutcome,
} from "../core/index.ts"
import { checkJson } from "./check-json.ts"
import type { Context } from "./context.ts"
import { Doings, OUTPUT } from "./doings.ts"
import { ENDED_CALLS } from "./ended-calls.ts"
import type { Frame } from "./frame.ts"
import type { HandlerKeys } from "./handler-keys.ts"
import { fromUser, isPromise, type MaybePromise } from "./maybe-promise.ts"
import type { BoundHandler, ProgramNode } from "./program.ts"
import { groupsTaken } from "./router.ts"
import { type Schema, type Validated, validate } from "./schema.ts"
import { scopedContext } from "./scoped-context.ts"
import { Several } from "./several.ts"
import type { TaskInfo, TaskOutcome, TaskTelemetry } from "./telemetry-port.ts"
import { TimeLimit } from "./time-limit.ts"
import { TELEMETRY } from "./traced-context.ts"

export class TaskRun implements Context {
  readonly #frame: Frame
  readonly #task: Task
  readonly #program: ProgramNode
  readonly attempt: number
  #over = false
  #doings: Doings | undefined
  #timeLimit: TimeLimit | undefined
  #telemetry: TaskTelemetry | undefined

  constructor(frame: Frame, task: Task) {
    this.#frame = frame
    this.#task = task
    this.#program = frame.program.nodes[task.node.index] as ProgramNode
    this.attempt = task.attempt
    task.attachment = this
  }

  start(): void {
    const program = this.#program
    const { telemetry, host } = this.#frame
    if (telemetry !== undefined) this.#telemetry = telemetry.startTask(this.#taskInfo())
    const { timeout } = this.#task.node.spec
    if (timeout !== undefined) this.#timeLimit = new TimeLimit(host, timeout, () => this.#timeUp(timeout))
    if (program.only !== undefined && this.#task.answers === undefined)
      this.#invoke(program.only, this.#task.message)
    else this.#choose(handlersFor(program, this.#task), 0, [])
  }

  /** The first handler whose schema accepts the message takes it, as its schema reads it. */
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

  #reject(reasons: readonly string[]): void {
    if (!this.#end()) return
    const why = reasons.length === 0 ? "the node has no handler for it" : [...new Set(reasons)].join(" | ")
    const reason = `no handler takes it: ${why}`
    this.#endTelemetry({ error: { code: "UNDELIVERED", message: reason } })
    this.#frame.apply({ type: "task.rejected", at: this.#frame.host.now(), task: this.#task.id, reason })
  }

  #invoke(handler: BoundHandler, message: unknown): void {
    let result: unknown
    try {
      const telemetry = this.#telemetry
      const request = this.#task.answers as never
      if (telemetry === undefined) result = handler.run(message as never, this, request)
      else result = telemetry.within(() => handler.run(message as never, this, request))
    } catch (error) {
      return this.#fail(error)
    }
    result = fromUser(result)
    if (isPromise(result)) {
      result.then(
        (value) => this.#succeed(value),
        (error) => this.#fail(error),
      )
    } else this.#succeed(result)
  }

  #succeed(value: unknown): void {
    if (this.#isObsolete()) return
    const { output } = this.#program
    if (output === undefined || value === undefined) return this.#route(value)
    this.#check(output, value, (result) => {
      if (result.ok) return this.#route(result.value)
      const text = `"${this.node}" returned what its output schema refuses: ${result.reason}`
      this.#fail(new SuperstepError("OUTPUT_INVALID", text))
    })
  }

  /** Decides where every message goes, and finishes. */
  #route(value: unknown): void {
    let sends: MaybePromise<readonly Send[]>
    try {
      sends = this.#sends(value)
    } catch (error) {
      return this.#fail(error)
    }
    if (isPromise(sends)) {
      sends.then(
        (list) => this.#finish(list, undefined),
        (error) => this.#fail(error),
      )
    } else this.#finish(sends, undefined)
  }

  /** Messages keep the order in which they were sent; what is returned comes last. */
  #sends(value: unknown): MaybePromise<readonly Send[]> {
    if (this.#doings?.outgoing !== undefined || value instanceof Several) return this.#manySends(value)
    return value === undefined ? NONE : this.#oneSend(this.#message(value))
  }

  #oneSend(value: Json): MaybePromise<readonly Send[]> {
    const route = this.#program.router.route(value, true, this.#frame.machine)
    return isPromise(route) ? route.then((decided) => [{ value, route: decided }]) : [{ value, route }]
  }

  async #manySends(value: unknown): Promise<readonly Send[]> {
    const { router } = this.#program
    const { machine } = this.#frame
    const sends: Send[] = []
    for (const { value, to, route } of this.#doings?.outgoing ?? []) {
      const decided =
        route ?? (to === undefined ? router.route(value, false, machine) : router.routeTo(to, value))
      sends.push({ value, route: isPromise(decided) ? await decided : decided })
    }
    const returned = value === undefined ? [] : value instanceof Several ? value.values : [value]
    for (const one of returned) sends.push(...(await this.#oneSend(this.#message(one))))
    return sends
  }

  /** What is returned, as the message it becomes. */
  #message(value: unknown): Json {
    checkJson(value, this.#frame.host, () => `What "${this.node}" returned`)
    return (this.#settles() ? { ok: true, value } : value) as Json
  }

  #finish(sends: readonly Send[], settled: ErrorData | undefined): void {
    if (!this.#end()) return
    const telemetry = this.#telemetry
    const doings = this.#doings
    const at = this.#frame.host.now()
    const task = this.#task.id
    // Most tasks return a value and do nothing else: their entries are kept small.
    if (doings === undefined && telemetry === undefined && settled === undefined) {
      return this.#frame.apply({ type: "task.finished", at, task, sends })
    }
    if (telemetry !== undefined) this.#trace(telemetry, sends, settled)
    const kept = settled === undefined ? doings : undefined
    this.#frame.apply({
      type: "task.finished",
      at,
      task,
      sends,
      writes: kept?.writes,
      local: kept?.localWrites,
      requests: kept?.requests,
      usage: doings?.usage,
      settled,
      trace: telemetry?.trace,
    })
  }

  #trace(telemetry: TaskTelemetry, sends: readonly Send[], error: ErrorData | undefined): void {
    for (const { route } of sends) {
      // What `ctx.output` gives passes by the edges: they did not drop it.
      if (route === OUTPUT) continue
      for (const { kind, targets } of groupsTaken(this.#task.node, route)) telemetry.routed(kind, targets)
    }
    this.#endTelemetry({ error })
  }

  #endTelemetry(outcome: TaskOutcome): void {
    const usage = this.#doings?.usage
    this.#telemetry?.end(usage === undefined ? outcome : { ...outcome, usage })
  }

  /** A failure that is final and settles becomes a value; every other one is the machine's to decide. */
  #fail(thrown: unknown): void {
    if (this.#isObsolete()) return
    const error = toErrorData(thrown)
    const retried = this.#frame.machine.willRetry(this.#task.id, error)
    if (this.#settles() && !error.fatal && !retried) return this.#settle(error)
    this.#end()
    this.#frame.thrown = { error: thrown, data: error }
    this.#endTelemetry({ error, retried })
    this.#frame.apply({
      type: "task.failed",
      at: this.#frame.host.now(),
      task: this.#task.id,
      attempt: this.attempt,
      error,
      usage: this.#doings?.usage,
      trace: this.#telemetry?.trace,
    })
  }

  /** M3: of a failed attempt nothing goes out but the failure. */
  #settle(error: ErrorData): void {
    const value = {
      ok: false,
      error: { ...error, node: this.node, attempt: this.attempt },
    } as unknown as Json
    const fatal = (cause: unknown) =>
      this.#fail(new SuperstepError("EDGE_FAILED", toErrorData(cause).message, { cause, fatal: true }))
    let sends: MaybePromise<readonly Send[]>
    try {
      sends = this.#oneSend(value)
    } catch (cause) {
      return fatal(cause)
    }
    if (isPromise(sends)) sends.then((list) => this.#finish(list, error), fatal)
    else this.#finish(sends, error)
  }

  #settles(): boolean {
    return this.#task.map?.map.group.settle === true || this.#task.node.spec.onError === "settle"
  }

  #timeUp(timeout: number): void {
    if (this.#isObsolete()) return
    this.#fail(new SuperstepError("TIMEOUT", `Node "${this.node}" took longer than ${timeout} ms.`))
    this.#doing().stop(`it took longer than ${timeout} ms`)
  }

  /** True once: the attempt is over, whatever else its handler still does. */
  #end(): boolean {
    if (this.#isObsolete()) return false
    this.#close()
    return true
  }

  #close(left?: ErrorData): void {
    this.#over = true
    this.#timeLimit?.stop()
    this.#doings?.abandonCalls(left)
    if (this.#task.attachment === this) this.#task.attachment = undefined
  }

  #isObsolete(): boolean {
    return this.#over || this.#task.status === "over" || this.#task.attempt !== this.attempt
  }

  // For the frame

  /** The machine no longer wants the result, or the run has `left` this process: the handler is told, and not waited for. */
  abort(reason: string, left?: ErrorData): void {
    if (this.#over) return
    this.#close(left)
    this.#endTelemetry({ error: { code: "CANCELLED", message: reason } })
    this.#doing().stop(reason, left)
  }

  /** What the handler waited for is there. */
  resume(key: string, outcome: WaitOutcome): void {
    if (this.#doings?.resume(key, outcome)) this.#timeLimit?.go()
  }

  /** Whether the handler has come to wait for all that its task waits for. */
  isWaiting(): boolean {
    return this.#doings?.holdsAll() ?? false
  }
  /** Whether the handler has come to wait for the answer to this request. */
  holds(request: OpenRequest): boolean {
    return this.#doings?.heldFor(request) !== undefined
  }
  answerSchema(request: OpenRequest): Schema | undefined {
    return this.#doings?.heldFor(request)?.schema
  }

  #doing(): Doings {
    this.#doings ??= new Doings(this.#frame, this.#task, this.attempt, {
      isOver: () => this.#isObsolete(),
      onWait: () => this.#timeLimit?.stop(),
      onGoOn: () => this.#timeLimit?.go(),
      trace: () => this.#telemetry?.trace,
    })
    return this.#doings
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

  /** For what is traced inside the task: agents, models, tools. */
  get [TELEMETRY](): TaskTelemetry | undefined {
    return this.#telemetry
  }

  // For the handler

  get runId(): RunId {
    return this.#frame.host.runId
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
    return this.#doing().signal()
  }
  get budget(): Context["budget"] {
    const { claimed, budgetLeft } = this.#frame.host.root.machine
    return { used: claimed, left: budgetLeft }
  }
  get state(): Context["state"] {
    return this.#doing().state()
  }
  get local(): Context["local"] {
    return this.#doing().local()
  }
  // Functions of their own, so that a handler may take them out of its context: `(message, { step, send }) => …`.
  get send(): Context["send"] {
    return (message, options) => this.#doing().send(message, options?.to)
  }
  get output(): Context["output"] {
    return (value) => this.#doing().output(value)
  }
  get checkBudget(): Context["checkBudget"] {
    return () => this.#doing().checkBudget()
  }
  get usedBy(): Context["usedBy"] {
    return (agent) => this.#frame.host.root.machine.usageOf(agent)
  }
  /** For models that answer by a list: how many calls of the agent were answered before. */
  get [ENDED_CALLS](): (agent: string) => number {
    return (agent) => this.#frame.host.root.machine.endedCallsOf(agent)
  }
  get usedHere(): Context["usedHere"] {
    return this.#frame.machine.usage
  }
  get isWatched(): boolean {
    return this.#frame.host.isObserved
  }
  get delta(): Context["delta"] {
    return (delta) => this.#doing().delta(delta)
  }
  get emit(): Context["emit"] {
    return (name, data) => this.#doing().emit(name, data)
  }
  get log(): Context["log"] {
    return (level, message, data) => this.#doing().log(level, message, data)
  }
  get use(): Context["use"] {
    return (usage) => this.#doing().use(usage)
  }
  get request(): Context["request"] {
    return (question) => this.#doing().request(question)
  }
  get ask(): Context["ask"] {
    return this.#scoped().ask
  }
  get sleep(): Context["sleep"] {
    return this.#scoped().sleep
  }
  get step(): Context["step"] {
    return this.#scoped().step
  }
  get call(): Context["call"] {
    return this.#scoped().call
  }
  get scope(): Context["scope"] {
    return this.#scoped().scope
  }
  get clock(): Context["clock"] {
    return this.#frame.host.clock
  }

  /** What is recorded under keys: the handler's own, or those of a part of it. */
  #scoped(
    keys: HandlerKeys = this.#doing().keys,
  ): Pick<Context, "ask" | "sleep" | "step" | "call" | "scope"> {
    const doings = this.#doing()
    return {
      ask: (question) => unlistened(doings.ask(keys, question)),
      sleep: (milliseconds) => unlistened(doings.sleep(keys, milliseconds)),
      step: (name, run, options) => unlistened(doings.step(keys, name, run, options)),
      call: (workflow, input, options) => unlistened(doings.call(keys, workflow, input, options)),
      scope: (name) => scopedContext(this, this.#scoped(keys.scope(name))),
    }
  }
}

const NONE: readonly Send[] = []

/** A handler may hold a promise it does not await yet: when its task is stopped, that must not end the process. */
function unlistened<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined)
  return promise
}

/** Answers go to the node's answer handler, every other message to the others. */
function handlersFor({ handlers, onAnswer }: ProgramNode, task: Task): readonly BoundHandler[] {
  if (task.answers === undefined) return handlers
  return onAnswer === undefined ? [] : [onAnswer]
}
