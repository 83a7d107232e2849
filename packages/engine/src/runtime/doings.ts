/**
 * What a handler does beside returning a value. Messages, writes and questions are collected and become part of
 * the task's one entry. Steps, and what the handler waits for, are journaled at once: when the handler runs again,
 * after a failure or in another process, the record answers.
 */
import {
  addUsage,
  type ErrorData,
  fromErrorData,
  type Json,
  type NodeId,
  type OpenRequest,
  type RequestSpec,
  type Route,
  SuperstepError,
  type Task,
  type Usage,
  type WaitOutcome,
  writeProblem,
} from "../core/index.ts"
import type { Callable } from "./callable.ts"
import type { Channel } from "./channel.ts"
import { checkJson } from "./check-json.ts"
import type { CallOptions, Context, Delta, LogLevel, PaidStep, Question, StepOptions } from "./context.ts"
import { type Caller, type Frame, frameKey } from "./frame.ts"
import { HandlerKeys } from "./handler-keys.ts"
import { isPromise } from "./maybe-promise.ts"
import { checkDefault, isSpan, requestSpec, spanInvalid } from "./question.ts"
import { type Schema, validate } from "./schema.ts"
import { checkInput, runStarted } from "./start.ts"
import { checkUsage, overBudget, StepStart } from "./step-start.ts"
import { CALLED_FROM, type TracedCallOptions } from "./traced-context.ts"

interface Outgoing {
  readonly value: Json
  readonly to?: NodeId | undefined
  /** Set where nothing is left to decide. */
  readonly route?: Route | undefined
}

/** A promise that the handler holds. */
interface Held {
  readonly resolve: (value: Json) => void
  readonly reject: (error: unknown) => void
  readonly schema: Schema | undefined
}

/** The attempt, as far as its doings need it. */
interface Attempt {
  isOver(): boolean
  /** The handler waits for the outside from now on; it does so no longer. */
  onWait(): void
  onGoOn(): void
  trace(): string | undefined
}

export const OUTPUT: Route = Object.freeze({ output: true })

export class Doings {
  readonly #frame: Frame
  readonly #task: Task
  readonly #number: number
  readonly #attempt: Attempt
  outgoing: Outgoing[] | undefined
  writes: [string, Json][] | undefined
  localWrites: [string, Json][] | undefined
  requests: RequestSpec[] | undefined
  usage: Usage | undefined
  #keys: HandlerKeys | undefined
  #held: Map<string, Held> | undefined
  #calls: Set<string> | undefined
  #callCount = 0
  #controller: AbortController | undefined
  #stopped: SuperstepError | undefined

  constructor(frame: Frame, task: Task, number: number, attempt: Attempt) {
    this.#frame = frame
    this.#task = task
    this.#number = number
    this.#attempt = attempt
  }

  /** Keys for what the handler does outside of any scope. */
  get keys(): HandlerKeys {
    this.#keys ??= new HandlerKeys()
    return this.#keys
  }

  // Collected until the task finishes

  send(message: unknown, to: NodeId | { readonly id: NodeId } | undefined): void {
    checkJson(message, this.#frame.host, () => `What "${this.#node}" sent`)
    this.#add({ value: message as Json, to: typeof to === "object" ? to.id : to })
  }

  output(value: unknown): void {
    checkJson(value, this.#frame.host, () => `An output of "${this.#node}"`)
    this.#add({ value: value as Json, route: OUTPUT })
  }

  #add(message: Outgoing): void {
    this.outgoing ??= []
    this.outgoing.push(message)
  }

  state(): Context["state"] {
    return {
      get: <T>(channel: Channel<T, never>) => this.#frame.machine.state(this.#channel(channel.key).key) as T,
      write: <W>(channel: Channel<unknown, W>, value: W) => this.#write(channel.key, value),
    }
  }

  #channel(key: string) {
    const { channels, name } = this.#frame.program.graph
    const known = channels.get(key)
    if (known !== undefined) return known
    const names = [...channels.keys()].map((one) => `"${one}"`).join(", ") || "none"
    const text = `Workflow "${name}" has no channel "${key}" in its state; it has ${names}. Add it to workflow(…, { state: […] }).`
    throw new SuperstepError("UNKNOWN_CHANNEL", text, { retryable: false })
  }

  #write(key: string, value: unknown): void {
    const { reducer } = this.#channel(key)
    checkJson(value, this.#frame.host, () => `What "${this.#node}" wrote to channel "${key}"`)
    const problem = writeProblem(reducer, value as Json)
    if (problem !== undefined) {
      const text = `"${this.#node}" wrote to channel "${key}": ${problem}.`
      throw new SuperstepError("WRITE_INVALID", text, { retryable: false })
    }
    this.writes ??= []
    this.writes.push([key, value as Json])
  }

  local(): Context["local"] {
    return {
      get: <T>(key: string) => this.#readLocal(key) as T | undefined,
      set: (key: string, value: unknown) => {
        checkJson(value, this.#frame.host, () => `What "${this.#node}" kept under "${key}"`)
        this.localWrites ??= []
        this.localWrites.push([key, value as Json])
      },
    }
  }

  /** A task sees its own writes to its node's state. */
  #readLocal(key: string): Json | undefined {
    const own = this.localWrites?.findLast(([written]) => written === key)
    return own === undefined ? this.#frame.machine.local(this.#task.node, key) : own[1]
  }

  use(usage: Usage): void {
    checkUsage(usage)
    this.usage = addUsage(this.usage ?? {}, usage)
  }

  request(question: string | Question): void {
    if (this.#frame.program.nodes[this.#task.node.index]?.onAnswer === undefined) {
      const text = `"${this.#node}" asks without waiting, so it needs an onAnswer handler; or use ctx.ask.`
      throw new SuperstepError("NO_ANSWER_HANDLER", text, { retryable: false })
    }
    const answer = this.#frame.program.nodes[this.#task.node.index]?.onAnswer?.schema
    if (typeof question !== "string" && answer !== undefined && question.default !== undefined) {
      const checked = validate(answer, question.default)
      // A schema that takes its time is left to the moment of the answer.
      if (!isPromise(checked)) checkDefault(question, checked)
    }
    this.requests ??= []
    this.requests.push(this.#requestSpec(question))
  }

  checkBudget(): void {
    for (let frame: Frame | undefined = this.#frame; frame !== undefined; frame = frame.caller?.frame) {
      const error = frame.machine.overBudget
      if (error !== undefined) throw overBudget(error)
    }
    const error = this.#frame.machine.nodeOverBudget(this.#task.node)
    if (error !== undefined) throw overBudget(error)
  }

  // Told at once, and not kept

  delta(delta: Delta): void {
    const { id: task } = this.#task
    this.#frame.host.emitLive(this.#frame, { type: "model.delta", task, node: this.#node, ...delta })
  }

  emit(name: string, data: unknown): void {
    if (data !== undefined) checkJson(data, this.#frame.host, () => `The event "${name}" of "${this.#node}"`)
    const { id: task } = this.#task
    const given = data === undefined ? {} : { data: data as Json }
    this.#frame.host.emitLive(this.#frame, { type: "custom", task, node: this.#node, name, ...given })
  }

  log(level: LogLevel, message: string, data: unknown): void {
    if (data !== undefined)
      checkJson(data, this.#frame.host, () => `The log entry "${message}" of "${this.#node}"`)
    const { id: task } = this.#task
    const given = data === undefined ? {} : { data: data as Json }
    this.#frame.host.emitLive(this.#frame, { type: "log", task, node: this.#node, level, message, ...given })
  }

  // Journaled at once

  async step<T>(
    keys: HandlerKeys,
    name: string,
    run: (step: PaidStep) => T | Promise<T>,
    options: StepOptions<T> = {},
  ): Promise<T> {
    const key = keys.next("step", name)
    const { memo } = this.#task
    if (memo?.has(key)) return memo.get(key) as T
    this.#checkGoing()
    // K4: whoever lost the run while it was stopped must not begin another effect.
    const sure = this.#frame.host.sure()
    if (sure !== undefined) {
      await sure
      this.#checkGoing()
    }
    const start = new StepStart(this.#frame, this.#task, key, () => this.#checkGoing())
    let result: T
    try {
      result = await this.#underWay(() => run(start))
    } catch (error) {
      if (options.spent !== undefined) this.#countSpent(options.spent(), key, start)
      throw error
    }
    this.#checkGoing()
    // A step without a result is on record as null, and gives null here too.
    const value = (result === undefined ? null : result) as Json
    checkJson(value, this.#frame.host, () => `The result of step "${name}" of "${this.#node}"`)
    // What was reserved stays counted unless the step says what it really used.
    const usage = options.usage?.(result) ?? start.reserved
    if (usage !== undefined) checkUsage(usage)
    const source = usage === undefined ? undefined : options.source?.(result)
    const { host } = this.#frame
    const at = host.now()
    const settles = start.reserved === undefined ? undefined : true
    this.#frame.apply({ type: "step.recorded", at, task: this.#task.id, key, value, usage, source, settles })
    await host.durable()
    return value as T
  }

  /** What a step that failed has used takes the place of what it had reserved. */
  #countSpent(
    spent: ReturnType<NonNullable<StepOptions<never>["spent"]>>,
    key: string,
    { reserved }: StepStart,
  ): void {
    if (this.#attempt.isOver()) return
    let settles = reserved === undefined ? undefined : key
    this.#frame.host.together(() => {
      for (const { usage, source } of spent) {
        checkUsage(usage)
        if (!this.#attempt.isOver()) this.#frame.addUsage(this.#task.id, usage, source, settles)
        settles = undefined
      }
      if (settles !== undefined) this.#frame.addUsage(this.#task.id, {}, undefined, settles)
    })
  }

  /** A run is not put aside in the middle of a step. */
  async #underWay<T>(run: () => T | Promise<T>): Promise<T> {
    const { host } = this.#frame
    host.changeSteps(1)
    host.enter(this.#node)
    try {
      return await run()
    } finally {
      host.changeSteps(-1)
    }
  }

  async ask<Answer>(keys: HandlerKeys, question: string | Question<Answer>): Promise<Answer> {
    const key = keys.next("ask")
    const schema = typeof question === "string" ? undefined : question.schema
    if (typeof question !== "string" && schema !== undefined && question.default !== undefined) {
      checkDefault(question, await validate(schema, question.default))
    }
    const answer = await this.#wait(key, schema, () => {
      const request = this.#requestSpec(question)
      const at = this.#frame.host.now()
      this.#frame.apply({ type: "request.opened", at, task: this.#task.id, key, request })
    })
    if (schema === undefined) return answer as Answer
    const checked = await validate(schema, answer)
    if (checked.ok) return checked.value as Answer
    const text = `The answer on record for "${this.#node}" does not fit its schema any more: ${checked.reason}`
    throw new SuperstepError("REQUEST_INVALID", text, { retryable: false })
  }

  #requestSpec(question: string | Question): RequestSpec {
    const onAnswer = this.#frame.program.nodes[this.#task.node.index]?.onAnswer
    return requestSpec(question, onAnswer?.schema, this.#frame.host)
  }

  async sleep(keys: HandlerKeys, milliseconds: number): Promise<void> {
    if (!isSpan(milliseconds)) throw spanInvalid(`What "${this.#node}" was to sleep`, milliseconds)
    const key = keys.next("sleep")
    await this.#wait(key, undefined, () => {
      const at = this.#frame.host.now()
      this.#frame.apply({ type: "timer.set", at, task: this.#task.id, key, until: at + milliseconds })
    })
  }

  async call<In, Out>(
    keys: HandlerKeys,
    workflow: Callable<In, Out>,
    input: In,
    options: CallOptions | undefined,
  ): Promise<Out[]> {
    const key = keys.next("call", workflow.name)
    const number = this.#numberOf(key, ++this.#callCount)
    const { memo, failures } = this.#task
    if (!memo?.has(key) && !failures?.has(key))
      await checkInput(workflow.program, input, this.#frame.host.valueBytes)
    const outputs = await this.#wait(key, undefined, () =>
      this.#startCall(workflow, input as Json, key, number, options),
    )
    return outputs as Out[]
  }

  /** A call that was made before a restart keeps its number, in whatever order calls are made again. */
  #numberOf(key: string, next: number): number {
    const wait = this.#frame.machine.isWaitingFor(this.#task.id, key)
    return (wait?.kind === "call" ? wait.number : undefined) ?? next
  }

  #startCall(
    workflow: Callable,
    input: Json,
    key: string,
    number: number,
    options: TracedCallOptions | undefined,
  ): void {
    const { host, machine } = this.#frame
    const task = this.#task.id
    const caller: Caller = {
      frame: this.#frame,
      task,
      node: this.#node,
      attempt: this.#number,
      key,
      number,
      onRequest: options?.onRequest,
    }
    this.#calls ??= new Set()
    this.#calls.add(frameKey(caller))
    if (machine.isWaitingFor(task, key) === undefined) {
      this.#frame.apply({ type: "call.started", at: host.now(), task, key, workflow: workflow.name, number })
    }
    const { program } = workflow
    const entry = runStarted(program, host.runId, input, host.now(), {
      timeout: program.timeout,
      trace: options?.[CALLED_FROM]?.() ?? this.#attempt.trace(),
    })
    host.prepareCall(caller, program)
    host.afterDurable(() => {
      if (!this.#attempt.isOver()) host.call(program, entry, caller)
    })
  }

  /** Sub-workflows end with the attempt that called them. */
  abandonCalls(left?: ErrorData): void {
    for (const key of this.#calls ?? []) this.#frame.host.frame(key)?.abandon("its caller is over", left)
  }

  /** Waits for the outside: on record already, or open since before a restart, or opened now. */
  #wait(key: string, schema: Schema | undefined, open: () => void): Promise<Json> {
    const { memo, failures } = this.#task
    if (memo?.has(key)) return Promise.resolve(memo.get(key) as Json)
    const failure = failures?.get(key)
    if (failure !== undefined) return Promise.reject(fromErrorData(failure))
    return new Promise((resolve, reject) => {
      this.#checkGoing()
      this.#held ??= new Map()
      this.#held.set(key, { resolve, reject, schema })
      this.#attempt.onWait()
      this.#frame.changed()
      const wait = this.#frame.machine.isWaitingFor(this.#task.id, key)
      if (wait !== undefined && wait.kind !== "call") return
      try {
        // A call that was under way before a restart is made again: its journal answers for what it did.
        open()
      } catch (error) {
        this.#held.delete(key)
        if (this.#held.size === 0) this.#attempt.onGoOn()
        reject(error)
      }
    })
  }

  /** True when the handler waits for nothing else. */
  resume(key: string, outcome: WaitOutcome): boolean {
    const held = this.#held?.get(key)
    if (held === undefined) return false
    this.#held?.delete(key)
    if (outcome.ok) held.resolve(outcome.value)
    else held.reject(fromErrorData(outcome.error))
    return this.#held?.size === 0
  }

  holdsAll(): boolean {
    for (const key of this.#task.waits?.keys() ?? []) if (!this.#held?.has(key)) return false
    return true
  }

  /** The promise that the handler holds for the answer to a request. */
  heldFor(request: OpenRequest): Held | undefined {
    for (const [key, wait] of this.#task.waits ?? []) {
      if (wait.kind === "request" && wait.request === request.id) return this.#held?.get(key)
    }
    return undefined
  }

  // Being stopped

  signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#stopped !== undefined) this.#controller.abort(this.#stopped)
    return this.#controller.signal
  }

  /** With the cause of it where the run goes on elsewhere: what the handler began there is not to be undone. */
  stop(reason: string, left?: ErrorData): void {
    this.#stopped = this.#stop(reason, left)
    this.#controller?.abort(this.#stopped)
    const held = this.#held
    this.#held = undefined
    for (const { reject } of held?.values() ?? []) reject(this.#stopped)
  }

  #stop(reason: string, left?: ErrorData): SuperstepError {
    const text = `Task ${this.#task.id} of node "${this.#node}" was stopped: ${reason}.`
    const cause = left === undefined ? {} : { cause: fromErrorData(left) }
    return new SuperstepError("CANCELLED", text, { retryable: false, ...cause })
  }

  #checkGoing(): void {
    if (this.#attempt.isOver()) throw this.#stopped ?? this.#stop("its attempt is over")
  }

  get #node(): NodeId {
    return this.#task.node.id
  }
}
