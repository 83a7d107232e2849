/** The handle of a run: await it, watch it, answer it, cancel it. It may execute in this process or elsewhere. */

import { isSuperstepError, type Json, type RequestId, type RunId, SuperstepError } from "../../core/index.ts"
import { EventMerge } from "../journal/event-merge.ts"
import type { EventStream } from "../journal/event-stream.ts"
import { replayEvents } from "../journal/replay-events.ts"
import { checkThreadState, lastingState, type ThreadAtStart, threadAtStart } from "../journal/thread.ts"
import { type ContextOf, claimAndRestoreRun, type RunEnvironment, runUnknown } from "../lease/claim-run.ts"
import { type Delivery, FollowedRun, type ThreadTurn, threadTurn } from "../lease/followed-run.ts"
import type { Keeper } from "../lease/keeper.ts"
import { isLive, type RunEvent } from "../ports/events.ts"
import { andThen, fromUser, isPromise, type MaybePromise } from "../ports/maybe-promise.ts"
import type { AnyState, Program } from "../ports/program.ts"
import type { EscalateOptions } from "../ports/stored.ts"
import { ownValue } from "../ports/values.ts"
import { type Begun, Demand, environmentOf, type HandleEnvironment, type Kept } from "./handle-environment.ts"
import type { CancelOptions, PauseOptions, ResumeOptions, RunOptions, RunResult } from "./options.ts"
import { newRunId } from "./options.ts"
import { escalateCommand } from "./question.ts"
import { endedResult, RunError } from "./result.ts"
import { resumeRun } from "./resume-run.ts"
import { RunHost } from "./run-host.ts"
import {
  deadlineOf,
  type OwnedSignal,
  ownSignal,
  type SignalOptions,
  type UpdateOptions,
} from "./send-signal.ts"
import {
  checkInput,
  checkResumeOptions,
  checkSameRun,
  ownInput,
  ownOptions,
  portProblem,
  runStarted,
  valueBytesOf,
  withVersion,
} from "./start.ts"

const NEVER = () => {}

/**
 * A promise that you can await again: a run that waited for a person has another result after the answer. So `then` asks the
 * run, and the underlying promise never settles: an unawaited run raises no unhandled rejection.
 */
export class Run<Out = unknown, State = AnyState>
  extends Promise<RunResult<Out, State>>
  implements AsyncIterable<RunEvent>
{
  /** What `catch` and `finally` return is an ordinary promise. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  /** Undefined for a run that this process can only follow. */
  readonly #program: Program | undefined
  readonly #environment: HandleEnvironment
  #id: RunId
  #host: RunHost | undefined
  /** Set if this process does not, or no longer, execute the run. */
  #elsewhere: FollowedRun | undefined
  #stream: EventStream | undefined
  /** Resolves when the run has begun; rejects when it could not. Undefined: it began at once. */
  #begun: Promise<void> | undefined
  /** Set where it matters: while another process may create the run. */
  #demand: Demand | undefined
  #ended: RunResult<Out, State> | undefined

  private constructor(program: Program | undefined, id: RunId, environment: HandleEnvironment) {
    super(NEVER)
    this.#program = program
    this.#id = id
    this.#environment = environment
  }

  get #keeper(): Keeper | undefined {
    return this.#environment.keeper
  }

  get id(): RunId {
    return this.#id
  }

  /** `kept` has a runtime's own keeper and claim function; the default is the store's. */
  static start<Out, State = AnyState>(
    program: Program,
    input: unknown,
    options: RunOptions,
    streaming: boolean,
    kept?: Kept,
  ): Run<Out, State> {
    const problem = portProblem(options)
    if (problem !== undefined) return Run.#refused(program, problem)
    const environment = environmentOf(options, kept)
    const run = new Run<Out, State>(program, options.runId ?? newRunId(), environment)
    run.#openHost(options, streaming)
    run.#begin(() => run.#startWith(input, options, streaming), options.signal)
    if (run.#begun !== undefined) environment.keeper?.begins(run.id, run.#begun)
    return run
  }

  #openHost({ store, labels }: RunOptions, streaming: boolean): void {
    const { keeper, clock, telemetry, onGraphChange } = this.#environment
    this.#host = new RunHost({
      runId: this.id,
      store,
      labels: withVersion(this.#program as Program, labels),
      keeper,
      clock,
      telemetry,
      onGraphChange,
      keepsEarly: store === undefined && !streaming,
    })
    // Watched before anything starts: a model call that begins unwatched is not streamed.
    if (streaming) this.#stream = this.#host.watch()
  }

  #startWith(input: unknown, options: RunOptions, streaming: boolean): MaybePromise<void> {
    const program = this.#program as Program
    const own = ownOptions(program, options)
    const owned = ownInput(program, input, valueBytesOf(program, own.limits))
    if (options.store === undefined) return this.#checkAndStart(owned, own)
    return this.#startInStore(owned, own, () => this.#openHost(options, streaming))
  }

  #startInStore(input: Json, options: RunOptions, openHost: () => void): MaybePromise<void> {
    const { runId, key, thread, onBusy = "reject" } = options
    const isNamed = runId !== undefined || key !== undefined
    const start = () => this.#checkAndStart(input, options)
    const begin = () => (isNamed ? this.#startOrJoin(start, input) : start())
    if (thread === undefined || onBusy === "reject") return begin()
    return this.#startInTurn({ thread, onBusy, runId: this.id, key }, begin, openHost)
  }

  #checkAndStart(input: Json, options: RunOptions): MaybePromise<void> {
    const { keeper, contextOf } = this.#environment
    const checked = fromUser(checkInput(this.#program as Program, input))
    const isReady = checked === undefined && keeper === undefined && contextOf === undefined
    if (isReady && options.thread === undefined) return this.#startHere(input, options, undefined, undefined)
    return andThen(checked, () =>
      andThen(keeper?.admit(), () =>
        andThen(threadAtStart(options), (thread) =>
          andThen(this.#contextAtStart(options, contextOf), (context) =>
            this.#startHere(input, options, thread, context),
          ),
        ),
      ),
    )
  }

  /** A run that `enqueue` creates, and that is claimed when its limits admit it. It may have another process create and execute it. */
  static queued<Out, State = AnyState>(
    program: Program,
    options: RunOptions & { readonly runId: RunId },
    enqueue: (demand: Demand) => Promise<Begun>,
    kept: Kept,
  ): Run<Out, State> {
    const run = new Run<Out, State>(program, options.runId, environmentOf(options, kept))
    const demand = new Demand()
    run.#demand = demand
    run.#begin(async () => {
      const { runId, ended } = await enqueue(demand)
      run.#id = runId
      run.#ended = ended && (endedResult(runId, ended) as RunResult<Out, State>)
      run.#follow()
    }, options.signal)
    return run
  }

  /** A run that cannot begin: awaiting it throws the problem. */
  static #refused<Out, State>(program: Program, problem: Error): Run<Out, State> {
    const environment = environmentOf({})
    const run = new Run<Out, State>(program, newRunId(), environment)
    run.#host = new RunHost({ runId: run.id, store: undefined, ...environment })
    run.#begin(() => Promise.reject(problem), undefined)
    return run
  }

  /** Runs of this process that wait for a thread start in the order in which they queued. */
  async #startInTurn(turn: ThreadTurn, begin: () => MaybePromise<void>, again: () => void): Promise<void> {
    const keeper = this.#keeper as Keeper
    await keeper.pass(`thread ${turn.thread}`, async () => {
      for (;;) {
        await threadTurn(turn, keeper, this.#environment.clock)
        try {
          await begin()
          return await this.#host?.durable()
        } catch (error) {
          // Another process was faster.
          if (!isSuperstepError(error, "THREAD_BUSY")) throw error
          again()
        }
      }
    })
  }

  /** Starting an existing run joins it: a run starts once. */
  #startOrJoin(start: () => MaybePromise<void>, input: Json): MaybePromise<void> {
    const keeper = this.#keeper as Keeper
    return keeper.pass(this.id, () =>
      keeper.host(this.id) === undefined ? this.#orJoin(start(), input) : this.#join(this.id, input),
    )
  }

  #contextAtStart({ thread, labels }: RunOptions, contextOf: ContextOf | undefined): MaybePromise<unknown> {
    const { name: workflow } = (this.#program as Program).graph
    return contextOf && fromUser(contextOf({ runId: this.id, workflow, thread, labels }))
  }

  #startHere(input: Json, options: RunOptions, thread: ThreadAtStart | undefined, context: unknown): void {
    const host = this.#host as RunHost
    host.setContext(context)
    const program = this.#program as Program
    if (thread !== undefined) checkThreadState(program.graph, thread)
    const entry = runStarted(program, this.id, input, host.now(), {
      state: options.state,
      limits: options.limits,
      timeout: options.timeout ?? program.timeout,
      budget: options.budget ?? program.budget,
      trace: options.trace,
      thread: thread && { id: thread.id, version: thread.version },
      context,
    })
    if (this.#keeper !== undefined) {
      const { workflow, graph } = entry
      const { key, labels } = options
      const created = { workflow, graph, key, labels, thread: thread?.id, threadVersion: thread?.version }
      host.create(this.#keeper.newLease(this.id), created, thread)
      this.#keeper.add(host)
    }
    const state = thread && lastingState(program.graph, thread.state)
    host.start(program, entry, state, options.signal?.aborted ? reasonOf(options.signal) : undefined)
  }

  #orJoin(started: MaybePromise<void>, input: Json): MaybePromise<void> {
    const host = this.#host as RunHost
    if (!isPromise(started) && host.failure === undefined && host.isDurable) return
    const durable = async () => {
      await started
      await host.durable()
    }
    return durable().catch(async (error) => {
      const isThere = isSuperstepError(error, "RUN_EXISTS") || isSuperstepError(error, "KEY_TAKEN")
      if (!isThere) throw error
      await this.#join(error.run ?? this.id, input)
    })
  }

  async #join(id: RunId, input: Json): Promise<void> {
    const { store } = this.#keeper as Keeper
    await checkSameRun(store, id, (this.#program as Program).graph.name, input)
    this.#id = id
    // It watched a run that never started; the events of the one that exists are in the store.
    await this.#stream?.return()
    this.#stream = undefined
    this.#follow()
  }

  #follow(): FollowedRun {
    this.#host = undefined
    if (this.#elsewhere !== undefined) return this.#elsewhere
    const environment = this.#environment as RunEnvironment
    const { claim = (run) => claimAndRestoreRun(this.#program as Program, run, environment) } =
      this.#environment
    this.#elsewhere = new FollowedRun(this.id, environment.keeper, environment.clock, claim)
    return this.#elsewhere
  }

  /** Continues a run from its journal. */
  static resume<Out, State = AnyState>(
    program: Program,
    runId: RunId,
    options: ResumeOptions,
    kept?: Kept,
  ): Run<Out, State> {
    const problem = portProblem(options)
    if (problem !== undefined) return Run.#refused(program, problem)
    const environment = environmentOf(options, kept)
    const run = new Run<Out, State>(program, runId, environment)
    run.#begin(async () => {
      checkResumeOptions(options)
      if (environment.keeper === undefined) throw runUnknown(runId)
      run.#host = await resumeRun(program, runId, environment as RunEnvironment, options.takeOver ?? false)
    }, options.signal)
    return run
  }

  /** A run of a runtime's store, wherever it executes. */
  static follow<Out, State = AnyState>(runId: RunId, environment: HandleEnvironment): Run<Out, State> {
    const run = new Run<Out, State>(undefined, runId, environment)
    run.#follow()
    return run
  }

  #begin(begin: () => Promise<void> | void, signal: AbortSignal | undefined): void {
    try {
      const begun = begin()
      if (isPromise(begun)) this.#begun = begun as Promise<void>
    } catch (error) {
      this.#begun = Promise.reject(error)
    }
    // Awaiting the run throws the error; an unawaited run must not crash the process.
    this.#begun?.catch((error) => this.#stream?.fail(error))
    if (signal !== undefined) this.#followSignal(signal)
  }

  #followSignal(signal: AbortSignal): void {
    const onAbort = () => this.cancel(reasonOf(signal))
    if (signal.aborted) return onAbort()
    signal.addEventListener("abort", onAbort, { once: true })
    const leave = () => signal.removeEventListener("abort", onAbort)
    const whenOver = () => this.#host?.onFinish(leave)
    if (this.#begun === undefined) whenOver()
    else this.#begun.then(whenOver, leave)
  }

  /** Resolves with the id of the run when the store has it: new, queued or joined. Rejects if the run could not begin. */
  async stored(): Promise<RunId> {
    await this.#hasBegun()
    if (this.#host?.isStored === false) await this.#host.durable()
    return this.id
  }

  /**
   * The result, once the run has ended or waits for a person or a signal. It does not reject if the run failed, was cancelled or hit a
   * limit: check `status`.
   */
  get result(): Promise<RunResult<Out, State>> {
    if (this.#demand !== undefined) this.#demand.isAwaited = true
    return this.#begun === undefined ? this.#currentResult() : this.#begun.then(() => this.#currentResult())
  }

  /** Needs the run in the store. */
  #hasBegun(): Promise<void> | undefined {
    this.#demand?.more.resolve()
    return this.#begun
  }

  #currentResult(): Promise<RunResult<Out, State>> {
    if (this.#ended !== undefined) return Promise.resolve(this.#ended)
    const result = this.#current().result() as Promise<RunResult<Out, State>>
    if (this.#environment.claim === undefined) return result
    return result.catch((error) => {
      // It continues elsewhere: a runtime's runs are followed there.
      if (!isSuperstepError(error, "RUN_TAKEN")) throw error
      return this.#follow().result() as Promise<RunResult<Out, State>>
    })
  }

  /** The run here, or what follows it elsewhere. */
  #current(): RunHost | FollowedRun {
    if (this.#host === undefined || this.#host.isEvicted) return this.#follow()
    return this.#host
  }

  /** Awaiting a run returns its result, or throws a RunError when it failed, was cancelled or hit a limit. */
  // biome-ignore lint/suspicious/noThenProperty: a run is awaited like any other asynchronous work.
  override then<A = RunResult<Out, State>, B = never>(
    onResult?: ((result: RunResult<Out, State>) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.result.then((result) => {
      if (!hasFailed(result)) return typeof onResult === "function" ? onResult(result) : (result as A)
      const error = new RunError(result as RunResult)
      if (typeof onError === "function") return onError(error)
      throw error
    }, onError)
  }

  /** Ends the run at once; the signals of its handlers are aborted. A run that has ended stays as it is. */
  cancel(reason?: string): void {
    const cancel = () => {
      const current = this.#current()
      if (current instanceof RunHost) current.root.cancel(reason)
      // Awaiting the run shows the outcome.
      else current.cancel(reason).catch(() => undefined)
    }
    const begun = this.#hasBegun()
    if (begun === undefined) cancel()
    else begun.then(cancel, () => undefined)
  }

  /**
   * Cancels the run wherever it executes, and resolves when that is recorded. `stored`: the process that executes the run
   * did not answer within `timeout`; it cancels the run when it reads its mail.
   */
  async cancelled(reason?: string, options: CancelOptions = {}): Promise<Delivery> {
    await this.#hasBegun()
    return await this.#wherever(async (run) => {
      if (run instanceof FollowedRun) return await run.cancel(reason, options.timeout)
      await run.cancel(reason)
      return "taken"
    })
  }

  /**
   * Pauses the run, wherever it executes: it starts no task, step or sub-workflow until `resume`. What executes finishes and is
   * recorded. Resolves when the pause is recorded; awaiting the run then resolves once nothing executes. `stored`: the process
   * that executes the run did not answer within `timeout`; it pauses the run when it reads its mail.
   */
  async pause(options: PauseOptions & CancelOptions = {}): Promise<Delivery> {
    const { timeout, ...why } = options
    return await this.#changePause("RUN_PAUSED", async (run) => {
      if (run instanceof FollowedRun) return await run.pause(why, timeout)
      await run.pause(why)
      return "taken"
    })
  }

  /** Continues a paused run. Resolves when that is recorded. A run that is not paused stays as it is. */
  async resume(options: Pick<PauseOptions, "by"> & CancelOptions = {}): Promise<Delivery> {
    const { timeout, ...by } = options
    return await this.#changePause("RUN_NOT_PAUSED", async (run) => {
      if (run instanceof FollowedRun) return await run.unpause(by, timeout)
      await run.unpause(by)
      return "taken"
    })
  }

  async #changePause(
    done: string,
    change: (run: RunHost | FollowedRun) => Promise<Delivery>,
  ): Promise<Delivery> {
    await this.#hasBegun()
    try {
      return await this.#wherever(change)
    } catch (error) {
      if (isSuperstepError(error, done)) return "taken"
      throw error
    }
  }

  /**
   * Answers an open request. Rejects, and records nothing, if the id is unknown or answered or the value does not match the
   * schema. `stored`: no process executes the run, and the answer waits for one that does.
   */
  async respond(
    id: RequestId,
    value: unknown,
    options: { readonly by?: string | undefined } = {},
  ): Promise<Delivery> {
    // Copied before anything is awaited: the caller may reuse it. The process that takes it knows its size limit.
    const anySize = { runId: this.id, valueBytes: Number.POSITIVE_INFINITY }
    const owned = ownValue(value, anySize, () => `The answer to request "${id}"`)
    if (this.#begun !== undefined) await this.#hasBegun()
    return await this.#wherever(async (run) => (await run.respond(id, owned, options.by)) ?? "taken")
  }

  /**
   * Passes an open request on to another person. Its deadline stays as it is. `stored`: no process executes the run, and the
   * next one that does passes it on.
   */
  async escalate(id: RequestId, options: EscalateOptions): Promise<Delivery> {
    const command = escalateCommand(id, options)
    if (this.#begun !== undefined) await this.#hasBegun()
    return await this.#wherever(async (run) => (await run.escalate(command)) ?? "taken")
  }

  /**
   * Sends a signal to the run: the oldest `ctx.waitFor` with this name takes it, or the run buffers it. A signal that was
   * sent before with the same id changes nothing. `stored`: no process executes the run, and the signal waits for one.
   */
  async signal(name: string, value?: unknown, options: SignalOptions = {}): Promise<Delivery> {
    const signal = ownSignal(this.id, name, value, options)
    if (this.#begun !== undefined) await this.#hasBegun()
    return await this.#send(signal)
  }

  async #send(signal: OwnedSignal): Promise<Delivery> {
    return await this.#wherever(async (run) => {
      if (run instanceof FollowedRun) return await run.signal(signal)
      await run.signal(signal).catch((error) => {
        if (!isSuperstepError(error, "SIGNAL_KNOWN")) throw error
      })
      return "taken"
    })
  }

  /**
   * Sends a signal, and returns the reply of the handler that takes it with `ctx.waitForUpdate`. Sent again with the same
   * id, it returns the same reply.
   */
  async update<Reply = unknown>(name: string, value?: unknown, options: UpdateOptions = {}): Promise<Reply> {
    const signal = ownSignal(this.id, name, value, options)
    const deadline = deadlineOf(name, options, this.#environment.clock)
    if (this.#begun !== undefined) await this.#hasBegun()
    await this.#send(signal)
    return (await this.#wherever((run) => run.replyTo(signal.id, deadline))) as Reply
  }

  /** Retries at the new holder if the run was taken over during the call. */
  async #wherever<T>(ask: (run: RunHost | FollowedRun) => Promise<T>): Promise<T> {
    try {
      return await ask(this.#current())
    } catch (error) {
      const hasLeft = isSuperstepError(error, "RUN_TAKEN") || isSuperstepError(error, "RUN_EVICTED")
      if (!hasLeft || this.#keeper === undefined) throw error
      return await ask(this.#follow())
    }
  }

  /** Journaled and live events from now on; with `after`, first those that came after that number, from the journal. */
  async *events(
    options: { readonly after?: number | undefined } = {},
  ): AsyncGenerator<RunEvent, void, undefined> {
    await this.#hasBegun()
    const { after } = options
    const host = this.#current()
    if (host instanceof FollowedRun) {
      const from = after ?? (await this.#lastEvent())
      yield* host.events({ after: from, isFromNow: after === undefined, graph: this.#program?.graph })
      return
    }
    if (after === undefined) yield* host.watch()
    else yield* this.#eventsHere(host, after, () => this.#past(host, after))
  }

  /** Merges past events with new ones. */
  async *#eventsHere(
    host: RunHost,
    after: number,
    past: () => Promise<readonly RunEvent[]>,
  ): AsyncGenerator<RunEvent, void, undefined> {
    const merge = new EventMerge(after)
    for (const event of host.recentAfter(after)) merge.addLive(event)
    const stream = host.watch()
    try {
      const events = await past()
      let last = events.at(-1)?.seq ?? after
      merge.addJournaled(events, last)
      const add = (event: RunEvent) => {
        if (isLive(event)) merge.addLive(event)
        else if (event.seq > last) {
          last = event.seq
          merge.addJournaled([event], last)
        }
      }
      for (const event of stream.taken()) add(event)
      for (;;) {
        for (let event = merge.next(); event !== undefined; event = merge.next()) yield event
        const { value, done } = await stream.next()
        if (done) return
        add(value)
      }
    } finally {
      await stream.return()
    }
  }

  async #past(host: RunHost, after: number): Promise<RunEvent[]> {
    const { store } = host
    if (store === undefined) {
      throw new SuperstepError(
        "NO_STORE",
        `Run ${this.id} keeps no journal, so past events are gone; start it with a store.`,
      )
    }
    // Events that are not written yet would be missed.
    await host.durable()
    return replayEvents(store, await store.read(this.id, 0), after, this.#program?.graph)
  }

  async #lastEvent(): Promise<number> {
    const store = this.#keeper?.store
    const row = await store?.run(this.id)
    if (store === undefined || row === undefined) return 0
    const records = await store.read(this.id, row.seq - 1)
    return records.at(-1)?.events ?? 0
  }

  /** Every event from the first. A run without a store must be iterated before it is awaited: see `stream`. */
  [Symbol.asyncIterator](): AsyncIterator<RunEvent> {
    this.#host?.keepEarlyEvents()
    // A named run may already exist, and is then not the one that was watched.
    return this.#stream === undefined || this.#begun !== undefined ? this.#fromFirst() : this.#stream
  }

  async *#fromFirst(): AsyncGenerator<RunEvent, void, undefined> {
    await this.#hasBegun()
    const host = this.#host
    if (this.#stream !== undefined) yield* this.#stream
    else if (host === undefined || host.store !== undefined) yield* this.events({ after: 0 })
    else yield* this.#eventsHere(host, 0, () => host.earlyEvents())
  }
}

/** Whether the run failed, was cancelled or hit a limit. */
function hasFailed({ status }: Pick<RunResult, "status">): boolean {
  return status !== "completed" && status !== "waiting" && status !== "paused"
}

function reasonOf(signal: AbortSignal): string {
  return signal.reason instanceof Error ? signal.reason.message : String(signal.reason)
}
