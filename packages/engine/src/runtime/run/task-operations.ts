/**
 * The operations of a handler besides returning a value. Messages, writes and questions are collected and become part of the
 * task's one entry. Steps, and what the handler waits for, are journaled at once: when the handler runs again, after a
 * failure or in another process, the recorded result is returned.
 */
import {
  addUsage,
  type ErrorData,
  fromErrorData,
  type Json,
  type LeftNotice,
  type NodeId,
  type RequestSpec,
  type Route,
  type RouteDecision,
  SuperstepError,
  type Task,
  type Usage,
  type WaitOutcome,
  writeProblem,
} from "../../core/index.ts"
import { SmallMap } from "../../core/internal.ts"
import type { Channel } from "../ports/channel.ts"
import { isPromise } from "../ports/maybe-promise.ts"
import type {
  Callable,
  CallOptions,
  Context,
  PaidStep,
  Question,
  SendOptions,
  StepOptions,
  Update,
  WaitOptions,
} from "../ports/program.ts"
import { ownValue, type Schema, validate } from "../ports/values.ts"
import { KEEPS, type KeepableQuestion, type KeptAnswer } from "./context.ts"
import { HandlerKeys } from "./handler-keys.ts"
import { LiveEvents } from "./live-events.ts"
import { type OptionNames, unknownOption } from "./options.ts"
import { checkDefault, isSpan, requestSpec, spanInvalid } from "./question.ts"
import { errorOf } from "./result.ts"
import { checkSignalDefault, type RecordedSignal, signalInvalid, signalWait } from "./signal-wait.ts"
import { checkInput, ownInput } from "./start.ts"
import { overBudget, ownSource, ownSpent, ownUsage, StepStart } from "./step-start.ts"
import { type Attempt, TaskCalls } from "./task-calls.ts"
import type { OperationsFrame } from "./task-frame.ts"
import type { Outgoing } from "./task-sends.ts"

/** A promise that the handler holds. */
export interface Held {
  readonly resolve: (value: Json) => void
  readonly reject: (error: unknown) => void
  readonly schema: Schema | undefined
  readonly keeps: KeptAnswer | undefined
}

const SEND: OptionNames<SendOptions> = { to: true }
const CALL: OptionNames<CallOptions> = { onRequest: true }
const STEP: OptionNames<StepOptions<unknown>> = {
  usage: true,
  source: true,
  also: true,
  spent: true,
  details: true,
}

/** The key under which the reply to a signal is recorded. */
export function replyKey(signal: string): string {
  return `reply:${signal}`
}

const MAX_DECISIONS = 100

export const OUTPUT: Route = Object.freeze({ output: true })

export class TaskOperations {
  readonly #frame: OperationsFrame
  readonly #task: Task
  readonly #number: number
  readonly #attempt: Attempt
  outgoing: Outgoing[] | undefined
  writes: [string, Json][] | undefined
  localWrites: [string, Json][] | undefined
  requests: RequestSpec[] | undefined
  usage: Usage | undefined
  decisions: RouteDecision[] | undefined
  #keys: HandlerKeys | undefined
  #live: LiveEvents | undefined
  #held: SmallMap<string, Held> | undefined
  #calls: TaskCalls | undefined
  #controller: AbortController | undefined
  #stopped: SuperstepError | undefined

  constructor(frame: OperationsFrame, task: Task, number: number, attempt: Attempt) {
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

  send(message: unknown, options: SendOptions | undefined): void {
    this.checkOpen("ctx.send")
    if (options !== undefined) this.#checkNames("ctx.send", options, SEND)
    const to = options?.to
    const value = this.#own(message, () => `What "${this.#node}" sent`)
    this.#add({ value, to: typeof to === "object" ? to.id : to })
  }

  output(value: unknown): void {
    this.checkOpen("ctx.output")
    this.#add({ value: this.#own(value, () => `An output of "${this.#node}"`), route: OUTPUT })
  }

  /** A message whose `to` is misspelled would go along every edge. */
  #checkNames<Options extends object>(call: string, options: Options, known: OptionNames<Options>): void {
    const unknown = unknownOption(options, known)
    if (unknown === undefined) return
    const text = `${call} of "${this.#node}": ${unknown}${unknown.endsWith("?") ? "" : "."}`
    throw new SuperstepError("OPTION_INVALID", text, { retryable: false })
  }

  #own(value: unknown, what: () => string): Json {
    return ownValue(value, this.#frame.host, what)
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
    this.checkOpen("ctx.state.write")
    const { reducer } = this.#channel(key)
    const owned = this.#own(value, () => `What "${this.#node}" wrote to channel "${key}"`)
    const problem = writeProblem(reducer, owned)
    if (problem !== undefined) {
      const text = `"${this.#node}" wrote to channel "${key}": ${problem}.`
      throw new SuperstepError("WRITE_INVALID", text, { retryable: false })
    }
    this.writes ??= []
    this.writes.push([key, owned])
  }

  local(): Context["local"] {
    return {
      get: <T>(key: string) => this.#readLocal(key) as T | undefined,
      set: (key: string, value: unknown) => {
        this.checkOpen("ctx.local.set")
        const owned = this.#own(value, () => `What "${this.#node}" kept under "${key}"`)
        this.localWrites ??= []
        this.localWrites.push([key, owned])
      },
    }
  }

  /** A task sees its own writes to its node's state. */
  #readLocal(key: string): Json | undefined {
    const own = this.localWrites?.findLast(([written]) => written === key)
    return own === undefined ? this.#frame.machine.local(this.#task.node, key) : own[1]
  }

  use(usage: Usage): void {
    this.checkOpen("ctx.use")
    this.usage = addUsage(this.usage ?? {}, ownUsage(usage))
  }

  request(question: string | Question): void {
    this.checkOpen("ctx.request")
    if (this.#frame.program.nodes[this.#task.node.index]?.onAnswer === undefined) {
      const text = `"${this.#node}" asks without waiting, so it needs an onAnswer handler; or use ctx.ask.`
      throw new SuperstepError("NO_ANSWER_HANDLER", text, { retryable: false })
    }
    const answer = this.#frame.program.nodes[this.#task.node.index]?.onAnswer?.schema
    if (typeof question !== "string" && answer !== undefined && question.default !== undefined) {
      const checked = validate(answer, question.default)
      // An asynchronous schema is checked when the answer arrives.
      if (!isPromise(checked)) checkDefault(question, checked)
    }
    this.requests ??= []
    this.requests.push(this.#requestSpec(question))
  }

  decide(decision: RouteDecision): void {
    this.decisions ??= []
    if (this.decisions.length < MAX_DECISIONS) this.decisions.push(decision)
  }

  checkBudget(): void {
    const problem = this.#frame.budgetProblem(this.#task.node)
    if (problem !== undefined) throw overBudget(problem)
  }

  emit(name: string, data: unknown): void {
    this.checkOpen("ctx.emit")
    this.live.emit(name, data)
  }

  get live(): LiveEvents {
    this.#live ??= new LiveEvents(this.#frame, this.#task)
    return this.#live
  }

  // Journaled at once

  async step<T>(
    keys: HandlerKeys,
    name: string,
    run: (step: PaidStep) => T | Promise<T>,
    options: StepOptions<T> = {},
  ): Promise<T> {
    this.#checkNames("ctx.step", options, STEP)
    const key = keys.next("step", name)
    const { memo } = this.#task
    if (memo?.has(key)) return this.#recorded(memo, key) as T
    this.checkActive()
    if (this.#frame.host.isProbe) return await new Promise<never>(() => undefined)
    if (this.#frame.host.isPaused) await this.#unpaused()
    // K4: a process that lost the run while it was suspended must not begin another effect; nor may a run without a place.
    for (let sure = this.#frame.host.sure(); sure !== undefined; sure = this.#frame.host.sure()) {
      await sure
      this.checkActive()
      if (this.#frame.host.isPaused) await this.#unpaused()
    }
    const { host } = this.#frame
    const start = new StepStart(this.#frame, this.#task, key, this, options.spent)
    let result: T
    // A run is not unloaded in the middle of a step.
    host.changeSteps(1)
    host.enter(this.#node)
    try {
      result = await run(start)
    } catch (error) {
      if (options.spent !== undefined) this.#countSpent(options.spent(), key, start)
      throw error
    } finally {
      host.changeSteps(-1)
      start.end()
    }
    this.checkActive()
    // A step without a result is recorded as null, and returns null here too.
    const value = this.#own(result ?? null, () => `The result of step "${name}" of "${this.#node}"`)
    // The reservation stays counted unless the step reports its actual usage.
    const used = options.usage?.(result)
    const usage = used === undefined ? start.reserved : ownUsage(used)
    const source = usage === undefined ? undefined : ownSource(options.source?.(result))
    const listed = options.also && ownSpent(options.also(result))
    const also = listed?.length === 0 ? undefined : listed
    const at = host.now()
    const settles = start.reserved === undefined ? undefined : true
    const task = this.#task.id
    const facts = host.isInspectable ? options.details?.(result) : undefined
    const details =
      facts === undefined
        ? undefined
        : this.#own(facts, () => `The details of step "${name}" of "${this.#node}"`)
    this.#frame.apply({ type: "step.recorded", at, task, key, value, usage, source, also, settles, details })
    if (!host.isDurable || host.failure !== undefined) await host.durable()
    return value as T
  }

  /** M10: a task of a paused run begins nothing. Its time limit does not run meanwhile, and it has no slot. */
  async #unpaused(): Promise<void> {
    const { host } = this.#frame
    while (host.isPaused) {
      this.#attempt.onWait()
      await host.unpaused(this.#task)
      this.checkActive()
      await this.#attempt.again()
      this.checkActive()
    }
  }

  #recorded(memo: ReadonlyMap<string, Json>, key: string): Json {
    this.#frame.host.catchUp.read(this.#frame.key, this.#task.id)
    return memo.get(key) as Json
  }

  /** The usage of a failed step replaces its reservation. */
  #countSpent(
    spent: ReturnType<NonNullable<StepOptions<never>["spent"]>>,
    key: string,
    { reserved }: StepStart,
  ): void {
    if (this.#attempt.isOver()) return
    const used = ownSpent(spent)
    if (used.length === 0 && reserved === undefined) return
    this.#frame.addUsage(this.#task.id, used, reserved === undefined ? undefined : key)
  }

  /** Not async: many runs may wait for a person, and an async function that waits takes half a kilobyte. */
  ask<Answer>(keys: HandlerKeys, question: string | Question<Answer>): Promise<Answer> {
    const key = keys.next("ask")
    if (typeof question === "object" && question?.schema !== undefined)
      return this.#askFor(key, question, question.schema)
    return this.#open(key, question, undefined) as Promise<Answer>
  }

  #open(
    key: string,
    question: string | Question,
    schema: Schema | undefined,
    keeps?: KeptAnswer,
  ): Promise<Json> {
    const open = () => {
      const request = this.#requestSpec(question)
      const at = this.#frame.host.now()
      this.#frame.apply({ type: "request.opened", at, task: this.#task.id, key, request })
    }
    return this.#wait(key, schema, open, keeps)
  }

  async #askFor<Answer>(key: string, question: Question<Answer>, schema: Schema): Promise<Answer> {
    if (question.default !== undefined) checkDefault(question, await validate(schema, question.default))
    const { [KEEPS]: keeps } = question as KeepableQuestion
    const answer = await this.#open(key, question, schema, keeps)
    // An answer from elsewhere, such as that of a fork, was recorded without what follows from it.
    if (keeps !== undefined) this.#frame.host.requests.keep(keeps, answer)
    const checked = await validate(schema, answer)
    if (checked.ok) return checked.value as Answer
    const text = `The recorded answer for "${this.#node}" no longer matches its schema: ${checked.reason}`
    throw new SuperstepError("REQUEST_INVALID", text, { retryable: false })
  }

  /** Undefined also if the next question with these keys was asked before, perhaps in another process. */
  keptAnswer(keys: HandlerKeys, name: string): Json | undefined {
    const key = keys.peek("ask")
    const { memo, failures, waits } = this.#task
    const wasAsked = [memo, failures, waits].some((known) => known?.has(key))
    return wasAsked ? undefined : this.#frame.host.root.machine.keptAnswer(name)
  }

  #requestSpec(question: string | Question): RequestSpec {
    const onAnswer = this.#frame.program.nodes[this.#task.node.index]?.onAnswer
    return requestSpec(question, onAnswer?.schema, this.#frame.host)
  }

  async waitFor<Value>(keys: HandlerKeys, name: string, options: WaitOptions<Value> = {}): Promise<Value> {
    return (await this.#signal(keys, name, options)).value
  }

  async waitForUpdate<Value>(
    keys: HandlerKeys,
    name: string,
    options: Omit<WaitOptions<Value>, "default"> = {},
  ): Promise<Update<Value>> {
    const { id = "", value } = await this.#signal(keys, name, options)
    return { id, value, reply: (answer) => this.#reply(id, name, answer) }
  }

  async #signal<Value>(
    keys: HandlerKeys,
    name: string,
    options: WaitOptions<Value>,
  ): Promise<{ readonly id?: string | undefined; readonly value: Value }> {
    const { host } = this.#frame
    const { schema } = options
    const wait = signalWait(name, options, host)
    const key = keys.next("signal", name)
    await checkSignalDefault(name, options)
    const recorded = await this.#wait(key, schema, () =>
      host.signals.open(this.#frame, this.#task.id, key, wait),
    )
    const { id, value } = recorded as unknown as RecordedSignal
    if (schema === undefined) return { id, value: value as Value }
    const checked = await validate(schema, value)
    if (checked.ok) return { id, value: checked.value as Value }
    throw signalInvalid(name, checked.reason)
  }

  /** Recorded as a step of the task too: when the handler runs again, it does not reply again. */
  async #reply(id: string, name: string, answer: unknown): Promise<void> {
    const key = replyKey(id)
    const { memo } = this.#task
    if (memo?.has(key)) {
      this.#recorded(memo, key)
      return
    }
    this.checkOpen("update.reply")
    this.checkActive()
    const value = this.#own(answer ?? null, () => `The reply to "${name}" of "${this.#node}"`)
    this.#frame.host.signals.reply(this.#frame, this.#task.id, key, id, value)
    await this.#frame.host.durable()
  }

  async sleep(keys: HandlerKeys, milliseconds: number): Promise<void> {
    if (!isSpan(milliseconds)) throw spanInvalid(`The sleep of "${this.#node}"`, milliseconds)
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
    if (options !== undefined) this.#checkNames("ctx.call", options, CALL)
    const key = keys.next("call", workflow.name)
    const calls = this.#taskCalls()
    const number = calls.note(key)
    const { memo, failures } = this.#task
    const isOpen = !memo?.has(key) && !failures?.has(key)
    const owned = isOpen ? ownInput(workflow.program, input, this.#frame.host.valueBytes) : null
    const checked = isOpen ? checkInput(workflow.program, owned) : undefined
    if (checked !== undefined) await checked
    const isNew = isOpen && !this.#task.waits?.has(key)
    if (isNew && calls.missing() !== undefined) {
      await calls.recordedMade(workflow.name)
      this.checkActive()
    }
    if (isOpen && this.#frame.host.isPaused) await this.#unpaused()
    const outputs = await this.#wait(key, undefined, () => calls.start(workflow, owned, key, number, options))
    return outputs as unknown as Out[]
  }

  #taskCalls(): TaskCalls {
    this.#calls ??= new TaskCalls(this.#frame, this.#task, this.#number, this.#attempt)
    return this.#calls
  }

  /** The key of a recorded call that the handler has not made again, where it must. */
  missingCall(): string | undefined {
    return this.#taskCalls().missing()
  }

  /** Sub-workflows end with the attempt that called them. */
  abandonCalls(left?: ErrorData): void {
    this.#calls?.abandon(left)
  }

  /** The progress of the sub-workflows that a limit ends. */
  leftByCalls(error: unknown): readonly LeftNotice[] {
    return this.#calls?.left(error) ?? []
  }

  /** Waits for something external: already recorded, open since before a restart, or opened now. */
  #wait(key: string, schema: Schema | undefined, open: () => void, keeps?: KeptAnswer): Promise<Json> {
    const { memo, failures } = this.#task
    if (memo?.has(key)) return Promise.resolve(this.#recorded(memo, key))
    const failure = failures?.get(key)
    if (failure !== undefined) return Promise.reject(errorOf(failure))
    return new Promise((resolve, reject) => {
      this.checkActive()
      this.#held ??= new SmallMap()
      this.#held.set(key, { resolve, reject, schema, keeps })
      this.#attempt.onWait()
      this.#frame.changed()
      const wait = this.#frame.machine.isWaitingFor(this.#task.id, key)
      if (wait !== undefined && wait.kind !== "call") return
      try {
        // A call that was in progress before a restart is made again: its journal replays what it did.
        open()
      } catch (error) {
        this.#held.delete(key)
        if (this.#held.size === 0) this.#attempt.onResume()
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
    else held.reject(errorOf(outcome.error))
    return this.#held?.size === 0
  }

  /** Whether the handler waits for something external. */
  get isWaiting(): boolean {
    return (this.#held?.size ?? 0) > 0
  }

  holdsAll(): boolean {
    for (const key of this.#task.waits?.keys() ?? []) if (!this.#held?.has(key)) return false
    return true
  }

  /** The promise that the handler holds for what it waits for under this key. */
  held(key: string): Held | undefined {
    return this.#held?.get(key)
  }

  // Being stopped

  signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#stopped !== undefined) this.#controller.abort(this.#stopped)
    return this.#controller.signal
  }

  /** `left` is the cause if the run continues elsewhere: the handler must not undo what it began. */
  stop(reason: string, left?: ErrorData): void {
    this.#stopped = this.#stop(reason, left)
    this.#controller?.abort(this.#stopped)
    const held = this.#held
    this.#held = undefined
    for (const { reject } of held?.values() ?? []) reject(this.#stopped)
    this.#calls?.noteAllMade()
  }

  #stop(reason: string, left?: ErrorData): SuperstepError {
    const text = `Task ${this.#task.id} of node "${this.#node}" was stopped: ${reason}.`
    const cause = left === undefined ? {} : { cause: fromErrorData(left) }
    return new SuperstepError("CANCELLED", text, { retryable: false, ...cause })
  }

  /** Whether the attempt has ended. */
  isOver(): boolean {
    return this.#attempt.isOver()
  }

  /** Throws if it has. */
  checkActive(): void {
    if (!this.#attempt.isOver()) return
    if (this.#stopped !== undefined) throw this.#stopped
    throw this.#attempt.hasReturned
      ? this.#returned("A step or wait ended")
      : this.#stop("its attempt has ended")
  }

  /** Reports an operation after the handler has returned: the task's only entry is already made. */
  checkOpen(call: string): void {
    if (!this.#attempt.hasReturned) return
    const error = this.#returned(`${call} was called`)
    this.#frame.report(this.#task, error)
    throw error
  }

  #returned(what: string): SuperstepError {
    const { runId } = this.#frame.host
    const text = `${what} after the handler of node "${this.#node}" had returned (run ${runId}, task ${this.#task.id}), so it has no effect. An await is missing: await every promise in the handler, or return it.`
    return new SuperstepError("HANDLER_RETURNED", text, { retryable: false, node: this.#node, run: runId })
  }

  get #node(): NodeId {
    return this.#task.node.id
  }
}
