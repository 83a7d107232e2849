/**
 * A run in this process: the interface to await, watch, answer or cancel it, and for the keeper that holds it. Its `Driver`
 * executes it.
 */
import {
  type Entry,
  type Json,
  type Machine,
  type OpenRequest,
  type RequestId,
  type RunId,
  type RunStarted,
  type SignalId,
  SuperstepError,
  type TimerId,
} from "../../core/index.ts"
import { NO_ITEMS, omitUndefined, pushSized } from "../../core/internal.ts"
import type { EventStream } from "../journal/event-stream.ts"
import { gapAt } from "../journal/event-stream.ts"
import type { LoadedRun } from "../journal/load-run.ts"
import { eventsGone } from "../journal/replay-events.ts"
import type { ThreadAtStart } from "../journal/thread.ts"
import type { RunEvent } from "../ports/events.ts"
import type { LiveListener, LiveQuery, LiveSubscription } from "../ports/live-channel.ts"
import { deferred, type MaybePromise } from "../ports/maybe-promise.ts"
import type { Program } from "../ports/program.ts"
import { runNotPaused, runOver, runPaused, runTaken, type Store } from "../ports/store.ts"
import type { EscalateCommand, Lease, RunCreated } from "../ports/stored.ts"
import { Driver } from "./driver.ts"
import type { DriverKeeper, DriverOptions, DriverOwner, RestoreOptions } from "./driver-options.ts"
import { Frame } from "./frame.ts"
import type { OpenWait, PauseOptions, RunResult } from "./options.ts"
import { resultOf, waitsOf } from "./result.ts"
import type { IncomingSignal } from "./run-signals.ts"

export interface HostOptions extends DriverOptions {
  readonly keeper?: HostKeeper | undefined
}

/** The keeper of the process, as a run uses it. */
export interface HostKeeper extends DriverKeeper {
  /** The run has stopped here with the error, and another process may continue it. */
  releaseStopped(host: RunHost, error: unknown): Promise<void>
}

/** A workflow of the run, as others use it. */
interface HostedFrame {
  readonly machine: Machine
  readonly program: Program
  apply(entry: Entry): void
  fireTimer(timer: TimerId): void
  cancel(reason: string | undefined, mail?: string): void
}

/** A caller that awaits the run. */
interface Waiter {
  readonly resolve: (result: RunResult) => void
  readonly reject: (error: unknown) => void
}

/** Runs when every promise that follows from settled ones is settled. Taken at load time: tests may fake timers. */
const { nextTick } = process

export class RunHost implements DriverOwner {
  readonly #driver: Driver
  readonly #keeper: HostKeeper | undefined
  #waiters: readonly Waiter[] = NO_ITEMS
  /** A check whether it waits for a person is scheduled. */
  #isChecking = false
  #finishers: readonly (() => void)[] = NO_ITEMS
  #onIdle: (() => void) | undefined
  #evicted = false
  #settled: ReturnType<typeof deferred> | undefined
  #wasObserved = false
  #hasFinished = false

  constructor(options: HostOptions) {
    this.#keeper = options.keeper
    this.#driver = new Driver(options, this)
  }

  get runId(): RunId {
    return this.#driver.runId
  }
  get store(): Store | undefined {
    return this.#driver.store
  }
  get root(): HostedFrame {
    return this.#driver.root
  }
  get lease(): Lease | undefined {
    return this.#driver.lease
  }
  /** The store has its first record. */
  get isStored(): boolean {
    return this.#driver.isStored
  }
  /** How many records other than intents it made here, durable or not. */
  get progress(): number {
    return this.#driver.progress
  }
  get isPaused(): boolean {
    return this.#driver.isPaused
  }
  get isOver(): boolean {
    return this.#driver.isOver
  }
  /** Whether it waits for a place to execute in. */
  get isQueued(): boolean {
    return this.#driver.activity.isQueued
  }
  get isBusy(): boolean {
    return this.#driver.activity.isBusy
  }
  /** Whether everything that it executes waits for slots. */
  get isResting(): boolean {
    return this.#driver.activity.isResting
  }
  get isDurable(): boolean {
    return this.#driver.isDurable
  }
  /** Whether this process has awaited or watched it. */
  get wasObserved(): boolean {
    return this.#wasObserved
  }
  get isEvicted(): boolean {
    return this.#evicted
  }
  /** Why it cannot continue, if so. */
  get failure(): unknown {
    return this.#driver.failure
  }
  now(): number {
    return this.#driver.now()
  }
  frame(key: string): HostedFrame | undefined {
    return this.#driver.frame(key)
  }
  /** Resolves when everything so far is durable; rejects when it will never be. */
  durable(): Promise<void> {
    return this.#driver.durable()
  }

  // Beginning

  /** A new run, to be written under the lease. */
  create(lease: Lease, created: RunCreated, thread?: ThreadAtStart): void {
    this.#driver.create(lease, created, thread)
  }

  /** `state`: initial values from the thread. `cancelled`: why no handler may run. */
  start(program: Program, entry: RunStarted, state?: RunStarted["state"], cancelled?: string): void {
    const driver = this.#driver
    const begin = () => Frame.start(driver, program, entry, undefined, state)
    if (cancelled === undefined) begin()
    else driver.together(() => begin().cancel(cancelled))
    if (this.store !== undefined) driver.noteStored()
  }

  /** Continues a loaded run. */
  restore(program: Program, run: LoadedRun, options: RestoreOptions): void {
    this.#driver.restore(program, run, options)
  }

  /** What its handlers read as `context`. */
  setContext(context: unknown): void {
    this.#driver.context = context
  }

  // Watching

  watch(): EventStream {
    this.#wasObserved = true
    const { watchers, failure, isOver } = this.#driver
    const stream = watchers.add()
    if (failure !== undefined) watchers.fail(failure)
    else if (isOver) watchers.end()
    return stream
  }

  /** Recent live events after this number; a gap replaces dropped ones. */
  recentAfter(after: number): readonly RunEvent[] {
    const { watchers, runId } = this.#driver
    const recent = watchers.recent(after + 1)
    const missed = watchers.missedSince(after + 1)
    if (missed === 0) return recent
    // A watcher that rejoins has seen an unknown number of the dropped events.
    const lost = after > 0 ? undefined : missed
    return [gapAt({ runId, seq: Math.max(1, after), at: this.now() }, lost), ...recent]
  }

  /** Keeps early events: the run is about to be iterated from its first event. */
  keepEarlyEvents(): void {
    this.#driver.early?.read()
  }

  /** The journaled events so far of a run without a store; throws NO_STORE if they are gone. */
  async earlyEvents(): Promise<readonly RunEvent[]> {
    const { early } = this.#driver
    if (early === undefined) throw eventsGone(this.runId)
    return await early.events(this.runId, this.root.machine.graph)
  }

  /** Watches from another process: live events, and the numbers that the journal has reached. */
  follow(query: LiveQuery, listener: LiveListener): LiveSubscription {
    const { watchers, failure } = this.#driver
    const subscription = watchers.follow(query, listener)
    if (failure !== undefined) watchers.leave()
    // A run whose last record is not durable yet has events to come.
    else if (this.#hasFinished) watchers.end()
    return subscription
  }

  // People, signals

  requests(): OpenRequest[] {
    return this.#driver.requests.list()
  }

  /** Accepts a valid answer, which `mail` may have delivered. Resolves when it is durable. */
  respond(id: RequestId, value: unknown, by: string | undefined, mail?: string): Promise<void> {
    return this.#driver.respond(id, value, by, mail)
  }

  /** Passes a question on, perhaps on request of `mail`. Resolves when that is durable. */
  escalate(command: EscalateCommand, mail?: string): Promise<void> {
    return this.#driver.requests.escalate(command, mail)
  }

  /** Accepts a signal. Resolves when it is durable. */
  signal(signal: IncomingSignal): Promise<void> {
    return this.#driver.signals.receive(signal)
  }

  replyTo(id: SignalId, deadline: number | undefined): Promise<Json> {
    return this.#driver.signals.replyTo(id, deadline)
  }

  /** Cancels the run, perhaps on request of `mail`. Resolves when that is durable. */
  async cancel(reason: string | undefined, mail?: string): Promise<void> {
    this.#checkLive()
    this.root.cancel(reason, mail)
    await this.durable()
  }

  /** Pauses the run, perhaps on request of `mail`. Resolves when that is durable. Rejects if it is paused already. */
  async pause(why: PauseOptions, mail?: string): Promise<void> {
    this.#checkLive()
    if (this.root.machine.pause !== undefined) throw runPaused(this.runId)
    this.#driver.pause(omitUndefined({ ...why, mail }))
    await this.durable()
    this.#driver.restPaused()
  }

  /** Resumes a paused run, perhaps on request of `mail`. Resolves when that is durable. Rejects if it is not paused. */
  async unpause({ by }: Pick<PauseOptions, "by">, mail?: string): Promise<void> {
    this.#checkLive()
    if (this.root.machine.pause === undefined) throw runNotPaused(this.runId, this.#driver.status)
    this.#driver.unpause(omitUndefined({ by, mail }))
    await this.durable()
  }

  #checkLive(): void {
    if (this.failure !== undefined) throw this.failure
    if (this.isOver) throw runOver({ runId: this.runId, status: this.root.machine.status })
  }

  // The result

  /** The result, once the run has ended or waits for a person or a signal. Rejects only when the run could not continue at all. */
  result(): Promise<RunResult> {
    this.#wasObserved = true
    const { failure, early } = this.#driver
    early?.await()
    if (failure !== undefined) {
      return this.#driver.lostError().then((error) => {
        throw error
      })
    }
    return new Promise((resolve, reject) => {
      if (this.#hasEnded()) return resolve(this.#currentResult())
      this.#waiters = pushSized(this.#waiters, { resolve, reject })
      this.checkResult()
    })
  }

  #hasEnded(): boolean {
    return this.isOver && this.#driver.isQuiet
  }

  /**
   * The run is paused, or waits for a person or a signal, and nothing else is in progress: no task, no step, no
   * sub-workflow.
   */
  #isWaiting(): boolean {
    const { pause } = this.root.machine
    if (!this.#driver.isAtRest) return false
    return pause !== undefined || this.requests().length > 0 || this.#waits().length > 0
  }

  #waits(): readonly OpenWait[] {
    return waitsOf(this.#driver.frames())
  }

  /**
   * Resolves those who await the run once it has ended or waits for a person or a signal. A handler that asks, or whose step ends, may
   * be about to ask again or to begin a step: only after that does the run count as waiting.
   */
  checkResult(): void {
    if (this.#waiters.length === 0 || this.failure !== undefined || !this.#driver.isQuiet) return
    if (this.isOver) this.#resolveWaiters()
    else if (!this.#isChecking && this.#isWaiting()) {
      this.#isChecking = true
      const { entries } = this.#driver
      nextTick(() => {
        this.#isChecking = false
        if (this.#driver.entries === entries && this.#isWaiting()) this.#resolveWaiters()
        else this.checkResult()
      })
    }
  }

  #resolveWaiters(): void {
    const waiters = this.#waiters
    this.#waiters = NO_ITEMS
    this.#driver.dropEarly()
    for (const { resolve } of waiters) resolve(this.#currentResult())
  }

  #currentResult(): RunResult {
    // A run that has ended waits for nothing.
    const open = this.isOver
      ? { requests: [], waits: [] }
      : { requests: this.requests(), waits: this.#waits() }
    return resultOf(this.runId, this.root.machine, open, this.#driver.reports())
  }

  // The end

  onFinish(callback: () => void): void {
    this.#finishers = pushSized(this.#finishers, callback)
  }

  finished(): void {
    this.#hasFinished = true
    for (const callback of this.#finishers) callback()
    this.#finishers = NO_ITEMS
  }

  failed(error: unknown): void {
    const waiters = this.#waiters
    this.#waiters = NO_ITEMS
    for (const { reject } of waiters) reject(error)
  }

  /** Stops a run that cannot continue: no more effects, and all waiting callers get the error. */
  stop(error: unknown): void {
    this.#driver.stop(error)
  }

  /** Releases a run that cannot continue in this process; waiting callers get the error once it is released. */
  release(error: unknown): void {
    const { promise, resolve } = deferred()
    this.#driver.stop(error, promise)
    const release = async () => this.#keeper?.releaseStopped(this, error)
    release().then(resolve, resolve)
  }

  // Unloading

  /** Called whenever the run can only wait. */
  onIdle(callback: () => void): void {
    this.#onIdle = callback
  }

  idle(): void {
    this.#onIdle?.()
  }

  /** Records in the row that a restored run is idle again. */
  noteIdle(): MaybePromise<void> {
    return this.#driver.activity.noteIdle()
  }

  /** Whether every handler waits again for what its task waits for, after a restart. */
  hasCaughtUp(): boolean {
    return this.#driver.hasCaughtUp()
  }

  /** The keys of sub-workflows whose callers have not called them again yet, after a restart. */
  uncalled(): string[] {
    return [...(this.#driver.restored ?? [])].map(([key]) => key)
  }

  /** When it continues by itself. */
  wakeAt(): number | undefined {
    return this.#driver.wakeAt()
  }

  #onlyWaits(): boolean {
    const { failure, isAtRest } = this.#driver
    return failure === undefined && isAtRest && this.hasCaughtUp()
  }

  /** Whether the run only waits, and no caller in this process awaits it. */
  isDormant(): boolean {
    const { isAwaited, watchers } = this.#driver
    return this.#onlyWaits() && this.#waiters.length === 0 && !isAwaited && !watchers.hasStreams
  }

  /** Whether the run only waits, and for others: it does not continue by itself. */
  isResigned(): boolean {
    return this.#onlyWaits() && this.wakeAt() === undefined
  }

  /** Whether another process has taken the run, as it may while the run only waits here. The run stops then. */
  async isTaken(): Promise<boolean> {
    const row = await this.store?.run(this.runId)
    if (row?.token === this.lease?.token) return false
    this.stop(runTaken(this.runId))
    return true
  }

  /** Resolves when the run has left this process, or only waits for others here. */
  settled(): Promise<void> {
    this.#settled ??= deferred()
    return this.#settled.promise
  }

  settle(): void {
    this.#settled?.resolve()
    this.#settled = undefined
  }

  /** Drops everything in memory, as if the process had died. The run continues from its journal, here or elsewhere. */
  evict(): void {
    const text = `Run ${this.runId} was unloaded while it waited; it continues from its journal.`
    this.#evicted = true
    this.#driver.drop(new SuperstepError("RUN_EVICTED", text))
  }
}
