/**
 * One attempt at a task: calls the handler, collects what it does, and turns its end into one journal entry.
 * Nothing a handler does is visible before that entry (M3); what it records in steps, and what it waits for,
 * is journaled at once, and answers when the handler runs again.
 */
import {
  addUsage,
  type ErrorData,
  fromErrorData,
  type Json,
  jsonProblem,
  type NodeId,
  type OpenRequest,
  type RequestSpec,
  type Route,
  type RunId,
  type Send,
  SuperstepError,
  type Task,
  type TaskId,
  toErrorData,
  type Usage,
  usageProblem,
  type WaitOutcome,
  writeProblem,
} from "../core/index.ts"
import type { Callable } from "./callable.ts"
import type { Channel } from "./channel.ts"
import type { CallOptions, Context, LogLevel, Question } from "./context.ts"
import { type Caller, type Frame, frameKey } from "./frame.ts"
import { isPromise, type MaybePromise } from "./maybe-promise.ts"
import type { BoundHandler, ProgramNode } from "./program.ts"
import { groupsTaken } from "./router.ts"
import { jsonSchemaOf, type Schema, type Validated, validate } from "./schema.ts"
import { Several } from "./several.ts"
import { checkInput, runStarted } from "./start.ts"
import type { TaskTelemetry } from "./telemetry-port.ts"

/** What the handler awaits, by key. */
interface Awaited {
  readonly resolve: (value: Json) => void
  readonly reject: (error: unknown) => void
  readonly schema: Schema | undefined
}

interface Outgoing {
  readonly value: Json
  readonly to: NodeId | undefined
}

export class TaskRun implements Context {
  readonly #frame: Frame
  readonly #task: Task
  readonly attempt: number
  #over = false
  #reason: string | undefined
  #controller: AbortController | undefined
  #outgoing: (Outgoing | Send)[] | undefined
  #writes: [string, Json][] | undefined
  #localWrites: [string, Json][] | undefined
  #requests: RequestSpec[] | undefined
  #usage: Usage | undefined
  #keys: Map<string, number> | undefined
  #awaited: Map<string, Awaited> | undefined
  #children: Set<string> | undefined
  #state: Context["state"] | undefined
  #local: Context["local"] | undefined
  #telemetry: TaskTelemetry | undefined
  #disarm: (() => void) | undefined
  #timeLeft: number | undefined
  #armedAt = 0

  constructor(frame: Frame, task: Task) {
    this.#frame = frame
    this.#task = task
    this.attempt = task.attempt
    task.attachment = this
  }

  // Running

  start(): void {
    const node = this.#node()
    const { telemetry } = this.#frame
    if (telemetry !== undefined) this.#telemetry = telemetry.startTask(this.#taskInfo())
    this.#timeLeft = node.node.spec.timeout
    this.#arm()
    const handlers =
      this.#task.answers === undefined ? node.handlers : node.onAnswer === undefined ? [] : [node.onAnswer]
    const [only] = handlers
    if (handlers.length === 1 && only !== undefined && only.schema === undefined)
      this.#invoke(only, this.#task.message)
    else this.#choose(handlers, 0, [])
  }

  /** The first handler whose schema accepts the message takes it, as its schema reads it. */
  #choose(handlers: readonly BoundHandler[], at: number, reasons: string[]): void {
    const handler = handlers[at]
    if (handler === undefined) return this.#reject(reasons)
    if (handler.schema === undefined) return this.#invoke(handler, this.#task.message)
    let checked: MaybePromise<Validated>
    try {
      checked = validate(handler.schema, this.#task.message)
    } catch (error) {
      return this.#fail(error)
    }
    const decide = (result: Validated) => {
      if (result.ok) return this.#invoke(handler, result.value)
      this.#choose(handlers, at + 1, [...reasons, result.reason])
    }
    if (isPromise(checked)) checked.then(decide).catch((error) => this.#fail(error))
    else decide(checked)
  }

  #reject(reasons: readonly string[]): void {
    if (!this.#endsNow()) return
    const reason =
      reasons.length === 0
        ? "the node has no handler for it"
        : `no handler takes it: ${[...new Set(reasons)].join(" | ")}`
    this.#telemetry?.end({ error: { code: "UNDELIVERED", message: reason } })
    this.#frame.apply({ type: "task.rejected", at: this.#frame.host.now(), task: this.#task.id, reason })
  }

  #invoke(handler: BoundHandler, message: unknown): void {
    let result: unknown
    try {
      const telemetry = this.#telemetry
      if (telemetry === undefined) result = handler.run(message as never, this)
      else result = telemetry.within(() => handler.run(message as never, this))
    } catch (error) {
      return this.#fail(error)
    }
    if (isPromise(result)) {
      result.then(
        (value) => this.#succeed(value),
        (error) => this.#fail(error),
      )
    } else this.#succeed(result)
  }

  #succeed(value: unknown): void {
    if (this.#isObsolete()) return
    const { output } = this.#node()
    if (output !== undefined && value !== undefined) return this.#checkOutput(output, value)
    this.#route(value)
  }

  #checkOutput(schema: Schema, value: unknown): void {
    const check = (result: Validated) => {
      if (result.ok) return this.#route(result.value)
      this.#fail(
        new SuperstepError(
          "OUTPUT_INVALID",
          `"${this.node}" returned what its output schema refuses: ${result.reason}`,
        ),
      )
    }
    try {
      const checked = validate(schema, value)
      if (isPromise(checked)) checked.then(check).catch((error) => this.#fail(error))
      else check(checked)
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Decides where every message goes, in the order they were sent, the returned one last. */
  #route(value: unknown): void {
    try {
      const returned = value === undefined ? [] : value instanceof Several ? value.values : [value]
      for (const one of returned) this.#checkJson(one, `What "${this.node}" returned`)
      const sends = this.#sends(
        (this.#settles() ? returned.map((one) => ({ ok: true, value: one })) : returned) as Json[],
      )
      if (isPromise(sends))
        sends.then((list) => this.#finish(list, undefined)).catch((error) => this.#fail(error))
      else this.#finish(sends, undefined)
    } catch (error) {
      this.#fail(error)
    }
  }

  #sends(returned: readonly Json[]): MaybePromise<readonly Send[]> {
    const outgoing = this.#outgoing ?? []
    const count = outgoing.length + returned.length
    const sends: Send[] = []
    const from = (at: number): MaybePromise<readonly Send[]> => {
      for (let i = at; i < count; i++) {
        const sent = outgoing[i]
        const value = sent === undefined ? (returned[i - outgoing.length] as Json) : sent.value
        const route =
          sent === undefined
            ? this.#routeOf(value, true)
            : "route" in sent
              ? sent.route
              : this.#routeOf(value, false, sent.to)
        if (isPromise(route)) {
          return route.then((decided) => {
            sends.push({ value, route: decided })
            return from(i + 1)
          })
        }
        sends.push({ value, route })
      }
      return sends
    }
    return from(0)
  }

  #routeOf(value: Json, returned: boolean, to?: NodeId): MaybePromise<Route> {
    const { router } = this.#node()
    return to === undefined ? router.route(value, returned, this.#frame.machine) : router.routeTo(to, value)
  }

  #finish(sends: readonly Send[], settled: ErrorData | undefined): void {
    if (!this.#endsNow()) return
    const telemetry = this.#telemetry
    if (telemetry !== undefined) this.#trace(telemetry, sends, settled)
    this.#frame.apply({
      type: "task.finished",
      at: this.#frame.host.now(),
      task: this.#task.id,
      sends,
      writes: settled === undefined ? this.#writes : undefined,
      local: settled === undefined ? this.#localWrites : undefined,
      requests: settled === undefined ? this.#requests : undefined,
      usage: this.#usage,
      settled,
      trace: telemetry?.trace,
    })
  }

  #trace(telemetry: TaskTelemetry, sends: readonly Send[], error: ErrorData | undefined): void {
    for (const { route } of sends) {
      for (const { kind, targets } of groupsTaken(this.#task.node, route)) telemetry.routed(kind, targets)
    }
    telemetry.end({ error, usage: this.#usage })
  }

  /** A failure that is final and settles becomes a value; every other one is the machine's to decide. */
  #fail(thrown: unknown): void {
    if (this.#isObsolete()) return
    const error = toErrorData(thrown)
    const { machine } = this.#frame
    const retried = machine.willRetry(this.task, error)
    if (this.#settles() && !error.fatal && !retried) return this.#settle(error)
    this.#endsNow()
    this.#frame.thrown = thrown
    this.#telemetry?.end({ error, retried, usage: this.#usage })
    this.#frame.apply({
      type: "task.failed",
      at: this.#frame.host.now(),
      task: this.#task.id,
      attempt: this.attempt,
      error,
      usage: this.#usage,
      trace: this.#telemetry?.trace,
    })
  }

  /** M3: of a failed attempt nothing goes out but the failure. */
  #settle(error: ErrorData): void {
    const value = {
      ok: false,
      error: { ...error, node: this.node, attempt: this.attempt },
    } as unknown as Json
    this.#outgoing = undefined
    const fatal = (cause: unknown) =>
      this.#fail(new SuperstepError("EDGE_FAILED", toErrorData(cause).message, { cause, fatal: true }))
    try {
      const sends = this.#sends([value])
      if (isPromise(sends)) sends.then((list) => this.#finish(list, error)).catch(fatal)
      else this.#finish(sends, error)
    } catch (cause) {
      fatal(cause)
    }
  }

  #settles(): boolean {
    return this.#task.map?.map.group.settle === true || this.#task.node.spec.onError === "settle"
  }

  /** True once: the attempt is over, whatever else its handler still does. */
  #endsNow(): boolean {
    if (this.#isObsolete()) return false
    this.#end()
    return true
  }

  #end(): void {
    this.#over = true
    this.#disarm?.()
    this.#disarm = undefined
    for (const key of this.#children ?? []) this.#frame.host.frame(key)?.cancel("its caller is over")
  }

  #isObsolete(): boolean {
    return this.#over || !this.#frame.machine.accepts(this.#task.id, this.attempt)
  }

  /** The machine no longer wants the result: the handler is told, and not waited for. */
  abort(reason: string): void {
    if (this.#over) return
    this.#end()
    this.#telemetry?.end({ error: { code: "CANCELLED", message: reason } })
    this.#stop(reason)
  }

  #stop(reason: string): void {
    this.#reason = reason
    const error = new SuperstepError(
      "CANCELLED",
      `Task ${this.task} of node "${this.node}" was stopped: ${reason}.`,
      { retryable: false },
    )
    this.#controller?.abort(error)
    for (const { reject } of this.#awaited?.values() ?? []) reject(error)
    this.#awaited = undefined
  }

  // The attempt's time: it stands still while the task waits for the outside

  #arm(): void {
    if (this.#timeLeft === undefined) return
    const { host } = this.#frame
    this.#armedAt = host.now()
    this.#disarm = host.armTimer(this.#armedAt + this.#timeLeft, () => this.#timeUp())
  }

  #pause(): void {
    if (this.#disarm === undefined || this.#timeLeft === undefined) return
    this.#disarm()
    this.#disarm = undefined
    this.#timeLeft = Math.max(0, this.#timeLeft - (this.#frame.host.now() - this.#armedAt))
  }

  #timeUp(): void {
    if (this.#isObsolete()) return
    const timeout = this.#task.node.spec.timeout
    this.#fail(new SuperstepError("TIMEOUT", `Node "${this.node}" took longer than ${timeout} ms.`))
    this.#stop(`it took longer than ${timeout} ms`)
  }

  // What the handler can ask

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
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#reason !== undefined) this.#controller.abort(this.#stopped())
    }
    return this.#controller.signal
  }

  send(message: unknown, options?: { readonly to?: NodeId | { readonly id: NodeId } | undefined }): void {
    this.#checkJson(message, `What "${this.node}" sent`)
    const to = options?.to
    this.#outgoing ??= []
    this.#outgoing.push({ value: message as Json, to: typeof to === "object" ? to.id : to })
  }

  output(value: unknown): void {
    this.#checkJson(value, `An output of "${this.node}"`)
    this.#outgoing ??= []
    this.#outgoing.push({ value: value as Json, route: OUTPUT })
  }

  get state(): Context["state"] {
    this.#state ??= {
      get: <T>(channel: Channel<T, never>) => this.#frame.machine.state(this.#channel(channel.key)) as T,
      write: <W>(channel: Channel<unknown, W>, value: W) => this.#write(channel.key, value),
    }
    return this.#state
  }

  #channel(key: string): string {
    if (this.#frame.program.graph.channels.has(key)) return key
    const known =
      [...this.#frame.program.graph.channels.keys()].map((name) => `"${name}"`).join(", ") || "none"
    const text = `Workflow "${this.#frame.program.graph.name}" has no channel "${key}" in its state; it has ${known}. Add it to workflow(…, { state: […] }).`
    throw new SuperstepError("UNKNOWN_CHANNEL", text, { retryable: false })
  }

  #write(key: string, value: unknown): void {
    const reducer = this.#frame.program.graph.channels.get(this.#channel(key))?.reducer ?? "replace"
    this.#checkJson(value, `What "${this.node}" wrote to channel "${key}"`)
    const problem = writeProblem(reducer, value as Json)
    if (problem !== undefined) {
      throw new SuperstepError("WRITE_INVALID", `"${this.node}" wrote to channel "${key}": ${problem}.`, {
        retryable: false,
      })
    }
    this.#writes ??= []
    this.#writes.push([key, value as Json])
  }

  get local(): Context["local"] {
    this.#local ??= {
      get: <T>(key: string) => this.#readLocal(key) as T | undefined,
      set: (key: string, value: unknown) => {
        this.#checkJson(value, `What "${this.node}" kept under "${key}"`)
        this.#localWrites ??= []
        this.#localWrites.push([key, value as Json])
      },
    }
    return this.#local
  }

  /** A task sees its own writes to its node's state. */
  #readLocal(key: string): Json | undefined {
    const own = this.#localWrites?.findLast(([written]) => written === key)
    return own === undefined ? this.#frame.machine.local(this.#task.node, key) : own[1]
  }

  emit(name: string, data?: unknown): void {
    if (data !== undefined) this.#checkJson(data, `The event "${name}" of "${this.node}"`)
    const { task, node } = this
    this.#frame.host.emitLive(this.#frame, {
      type: "custom",
      task,
      node,
      name,
      ...(data === undefined ? {} : { data: data as Json }),
    })
  }

  log(level: LogLevel, message: string, data?: unknown): void {
    if (data !== undefined) this.#checkJson(data, `The log entry "${message}" of "${this.node}"`)
    const { task, node } = this
    this.#frame.host.emitLive(this.#frame, {
      type: "log",
      task,
      node,
      level,
      message,
      ...(data === undefined ? {} : { data: data as Json }),
    })
  }

  use(usage: Usage): void {
    checkUsage(usage)
    this.#usage = addUsage(this.#usage ?? {}, usage)
  }

  async step<T>(
    name: string,
    run: () => T | Promise<T>,
    options?: { readonly usage?: ((result: T) => Usage) | undefined },
  ): Promise<T> {
    const key = this.#key(`step:${name}`)
    const memo = this.#task.memo
    if (memo?.has(key)) return memo.get(key) as T
    this.#checkLive()
    const result = await run()
    this.#checkLive()
    const value = result === undefined ? null : result
    this.#checkJson(value, `The result of step "${name}" of "${this.node}"`)
    const usage = options?.usage?.(result)
    if (usage !== undefined) checkUsage(usage)
    const { host } = this.#frame
    this.#frame.apply({
      type: "step.recorded",
      at: host.now(),
      task: this.task,
      key,
      value: value as Json,
      usage,
    })
    return new Promise((resolve) => host.afterDurable(() => resolve(result)))
  }

  async ask<Answer>(question: string | Question<Answer>): Promise<Answer> {
    const asked = typeof question === "string" ? { prompt: question } : question
    const key = this.#key("ask")
    const { schema } = asked as Question<Answer>
    const answer = await this.#await(key, schema, () => {
      const request = this.#requestSpec(asked)
      this.#frame.apply({ type: "request.opened", at: this.#frame.host.now(), task: this.task, key, request })
    })
    if (schema === undefined) return answer as Answer
    const checked = await validate(schema, answer)
    if (checked.ok) return checked.value as Answer
    throw new SuperstepError(
      "REQUEST_INVALID",
      `The answer on record to "${asked.prompt}" no longer fits: ${checked.reason}`,
      { retryable: false },
    )
  }

  request(question: string | Question): void {
    if (this.#node().onAnswer === undefined) {
      throw new SuperstepError(
        "NO_ANSWER_HANDLER",
        `"${this.node}" asks without waiting, so it needs an onAnswer handler; or use ctx.ask.`,
        { retryable: false },
      )
    }
    this.#requests ??= []
    this.#requests.push(this.#requestSpec(typeof question === "string" ? { prompt: question } : question))
  }

  #requestSpec(question: Question): RequestSpec {
    const { prompt, data, timeout } = question
    if (data !== undefined) this.#checkJson(data, `The data of the question "${prompt}"`)
    if (question.default !== undefined) this.#checkJson(question.default, `The default answer to "${prompt}"`)
    const schema = jsonSchemaOf(question.schema ?? this.#node().onAnswer?.schema, "input")
    return {
      prompt,
      ...(data === undefined ? {} : { data: data as Json }),
      ...(schema === undefined ? {} : { schema }),
      ...(timeout === undefined ? {} : { deadline: this.#frame.host.now() + timeout }),
      ...(question.default === undefined ? {} : { default: question.default as Json }),
    }
  }

  async sleep(milliseconds: number): Promise<void> {
    const key = this.#key("sleep")
    await this.#await(key, undefined, () => {
      const at = this.#frame.host.now()
      this.#frame.apply({ type: "timer.set", at, task: this.task, key, until: at + milliseconds })
    })
  }

  async call<In, Out>(workflow: Callable<In, Out>, input: In, options?: CallOptions): Promise<Out[]> {
    const key = this.#key(`call:${workflow.name}`)
    const { host, machine } = this.#frame
    const caller: Caller = {
      frame: this.#frame,
      task: this.task,
      node: this.node,
      attempt: this.attempt,
      key,
      onRequest: options?.onRequest,
    }
    if (!this.#task.memo?.has(key)) await checkInput(workflow.program, input)
    const outputs = await this.#await(key, undefined, () => {
      this.#checkJson(input, `The input of workflow "${workflow.name}"`)
      const child = frameKey(caller)
      this.#children ??= new Set()
      this.#children.add(child)
      if (machine.isWaitingFor(this.task, key) === undefined) {
        this.#frame.apply({
          type: "call.started",
          at: host.now(),
          task: this.task,
          key,
          workflow: workflow.name,
        })
      }
      const entry = runStarted(workflow.program, host.runId, input as Json, host.now(), {
        trace: this.#telemetry?.trace,
      })
      host.afterDurable(() => host.call(workflow.program, entry, caller, child))
    })
    return outputs as Out[]
  }

  /**
   * Waits for something outside: on record already, or opened now, or opened before a restart. The handler's
   * promise is settled by the machine's `resume`.
   */
  #await(key: string, schema: Schema | undefined, open: () => void): Promise<Json> {
    const memo = this.#task.memo
    if (memo?.has(key)) return Promise.resolve(memo.get(key) as Json)
    return new Promise((resolve, reject) => {
      this.#checkLive()
      this.#awaited ??= new Map()
      this.#awaited.set(key, { resolve, reject, schema })
      this.#pause()
      const wait = this.#frame.machine.isWaitingFor(this.task, key)
      // A call that was under way before a restart is made again: its journal answers for what it did.
      if (wait === undefined || wait.kind === "call") open()
    })
  }

  resume(key: string, outcome: WaitOutcome): void {
    const awaited = this.#awaited?.get(key)
    if (awaited === undefined) return
    this.#awaited?.delete(key)
    if (this.#awaited?.size === 0) this.#arm()
    if (outcome.ok) awaited.resolve(outcome.value)
    else awaited.reject(fromErrorData(outcome.error))
  }

  /** What an answer to this request must fit. */
  answerSchema(request: OpenRequest): Schema | undefined {
    for (const [key, wait] of this.#task.waits ?? []) {
      if (wait.kind === "request" && wait.request === request.id) return this.#awaited?.get(key)?.schema
    }
    return undefined
  }

  /** The first use of a name is the name; the next ones are numbered, in the order of the calls. */
  #key(name: string): string {
    this.#keys ??= new Map()
    const count = (this.#keys.get(name) ?? 0) + 1
    this.#keys.set(name, count)
    return count === 1 ? name : `${name}#${count}`
  }

  #checkLive(): void {
    if (this.#isObsolete()) throw this.#stopped()
  }

  #stopped(): SuperstepError {
    const why = this.#reason ?? "its attempt is over"
    return new SuperstepError("CANCELLED", `Task ${this.task} of node "${this.node}" was stopped: ${why}.`, {
      retryable: false,
    })
  }

  #checkJson(value: unknown, what: string): void {
    // The check itself is on the path of every message; the text is made only for a problem.
    if (jsonProblem(value) !== undefined) this.#frame.host.checkJson(value, what)
  }

  #node(): ProgramNode {
    return this.#frame.program.nodes[this.#task.node.index] as ProgramNode
  }

  #taskInfo() {
    const { id, node, superstep, traces } = this.#task
    return {
      task: id,
      node: node.id,
      kind: node.spec.kind,
      attempt: this.attempt,
      superstep,
      causes: traces ?? [],
    }
  }
}

const OUTPUT: Route = Object.freeze({ output: true })

function checkUsage(usage: Usage): void {
  const problem = usageProblem(usage)
  if (problem !== undefined)
    throw new SuperstepError("USAGE_INVALID", `Usage cannot be counted: ${problem}.`, { retryable: false })
}
