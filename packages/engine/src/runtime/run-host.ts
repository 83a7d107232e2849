/**
 * Drives one run with all its sub-workflows: one journal, one sequence of events, one set of timers. Effects are
 * carried out one after another, never nested, however deep handlers and sub-workflows go.
 */
import { isIntent } from "../core/entries.ts"
import { Fifo } from "../core/fifo.ts"
import {
  type Effect,
  type Entry,
  graphData,
  type Json,
  type OpenRequest,
  type RequestId,
  type RunId,
  type RunStarted,
  type RunStatus,
  SuperstepError,
  type Task,
  type TimerId,
  toErrorData,
} from "../core/index.ts"
import { LazyMap, LazySet } from "../core/lazy.ts"
import { checkJson } from "./check-json.ts"
import type { Clock } from "./clock.ts"
import type { EventStream, LiveEvent } from "./events.ts"
import { type Caller, Frame, frameKey } from "./frame.ts"
import { type Adopted, adopt, type GraphChangePolicy } from "./graph-change.ts"
import { Journal } from "./journal.ts"
import type { Keeper } from "./keeper.ts"
import type { FrameStart, LoadedFrame, LoadedRun, RunSnapshot, SavedFrame } from "./loaded-run.ts"
import { isPromise } from "./maybe-promise.ts"
import type { RunResult } from "./options.ts"
import type { Program } from "./program.ts"
import { RunRequests } from "./run-requests.ts"
import { resultOf } from "./run-result.ts"
import { RunRow } from "./run-row.ts"
import { Snapshots } from "./snapshots.ts"
import type { Store } from "./store.ts"
import type { Idle, Lease, RunCreated } from "./stored.ts"
import { TaskRun } from "./task-run.ts"
import type { RunTelemetry, Telemetry } from "./telemetry-port.ts"
import type { ThreadAtStart } from "./thread.ts"
import { Watchers } from "./watchers.ts"

interface Work {
  readonly frame: Frame
  readonly effects: readonly Effect[]
  /** The numbers of the event before the first of these, and of the last one. */
  readonly eventsBefore: number
  readonly eventsAfter: number
  readonly at: number
  /** How many of the effects are carried out already. */
  readonly done: number
}

/** After this many tasks in one turn, timers and IO get their turn: a busy run can be cancelled and times out. */
const TASKS_PER_TURN = 2_000

export interface HostOptions {
  readonly runId: RunId
  readonly store: Store | undefined
  readonly clock: Clock
  readonly telemetry?: Telemetry | undefined
  readonly onGraphChange?: GraphChangePolicy | undefined
  /** Who holds the run, where it has a store. */
  readonly keeper?: Keeper | undefined
  /** Decides when a sub-workflow that is over gives its caller what it came to; at once where absent. */
  readonly onReturn?: ((frame: string, giveBack: () => void) => void) | undefined
}

export class RunHost {
  readonly runId: RunId
  readonly store: Store | undefined
  readonly #clock: Clock
  readonly #telemetry: Telemetry | undefined
  readonly #journal: Journal<Work | (() => void)>
  readonly #frames = new Map<string, Frame>()
  #root: Frame | undefined
  readonly #row: RunRow | undefined
  readonly #onGraphChange: GraphChangePolicy | undefined
  readonly #onReturn: HostOptions["onReturn"]
  #lease: Lease | undefined
  readonly #keeper: Keeper | undefined
  #stored = false
  #progress = 0
  /** Sub-workflows that were read back and whose callers have not called again yet. */
  readonly #unclaimed = new LazyMap<string, { started: FrameStart } & Adopted>()
  readonly #timers = new LazyMap<string, () => void>()
  readonly #work = new Fifo<Work>()
  /** Work that made way for timers and IO half way. */
  #interrupted: Work | undefined
  readonly #watchers: Watchers
  #waiters: ((result: RunResult) => void)[] = []
  /** Rejects what waits for the run, should it not be able to go on. */
  readonly #losers = new LazySet<(error: unknown) => void>()
  readonly #requests: RunRequests
  #finishers: (() => void)[] = []
  #lost: { readonly error: unknown } | undefined
  #draining = false
  #tasksThisTurn = 0
  #busyFrames = 0
  /** Events counted so far. */
  #events = 0
  /** Steps under way in handlers, parked ones too. */
  #steps = 0
  readonly #snapshots: Snapshots | undefined
  #onIdle: (() => void) | undefined
  #evicted = false

  constructor({ runId, store, clock, telemetry, onGraphChange, keeper, onReturn }: HostOptions) {
    this.runId = runId
    this.store = store
    this.#keeper = keeper
    this.#clock = clock
    this.#telemetry = telemetry
    this.#onGraphChange = onGraphChange
    this.#onReturn = onReturn
    this.#row = store && new RunRow(store)
    this.#snapshots = store && new Snapshots(store)
    this.#requests = new RunRequests(runId, this.#frames)
    this.#watchers = new Watchers(runId, () => this.#observe())
    this.#journal = new Journal(
      store,
      this.#row,
      (held) => this.#follow(held),
      (error, dropped) => this.#lose(error, dropped),
    )
  }

  now(): number {
    return this.#clock.now()
  }
  get clock(): Clock {
    return this.#clock
  }
  get root(): Frame {
    return this.#root as Frame
  }
  /** The largest single value that the run takes. */
  get valueBytes(): number {
    return this.root.machine.valueBytes
  }
  get isObserved(): boolean {
    return this.#watchers.any
  }
  frame(key: string): Frame | undefined {
    return this.#frames.get(key)
  }

  /** Starts a sub-workflow, or finds it as the journal left it. */
  call(program: Program, entry: RunStarted, caller: Caller): void {
    const key = frameKey(caller)
    const unclaimed = this.#unclaimed.get(key)
    if (unclaimed === undefined) {
      Frame.start(this, program, entry, caller)
      return
    }
    this.#unclaimed.delete(key)
    Frame.restore(this, program, unclaimed.started, unclaimed, caller).resume()
  }

  /** A sub-workflow that was under way goes on as the one that is called now, or GRAPH_CHANGED is thrown. */
  prepareCall(caller: Caller, program: Program): void {
    const key = frameKey(caller)
    const found = this.#unclaimed.get(key)
    if (found === undefined || found.changed !== undefined) return
    this.#unclaimed.set(key, { ...found, ...adopt(found.machine, program.graph, this.#onGraphChange) })
  }

  /** A new run, to be written under the lease. */
  create(lease: Lease, created: RunCreated, thread: ThreadAtStart | undefined): void {
    this.#lease = lease
    this.#row?.create(created, thread)
    this.#journal.open(lease, created.forkOf?.seq ?? 0)
  }
  /** Its first record is durable. */
  wasStored(): void {
    this.#stored = true
  }

  /** Goes on with a run that was read back; without a lease it can only be looked at. */
  restore(
    program: Program,
    run: LoadedRun,
    {
      lease,
      standing,
      thread,
    }: { lease?: Lease | undefined; standing: RunStatus; thread?: ThreadAtStart | undefined },
  ): void {
    const { seq, events, frames, answered } = run
    const { started, machine } = frames.get("") as LoadedFrame
    const adopted = adopt(machine, program.graph, this.#onGraphChange)
    this.#lease = lease
    this.#stored = true
    if (lease !== undefined) this.#journal.open(lease, seq)
    this.#snapshots?.continueAfter(run.savedSeq)
    this.#events = events
    this.#watchers.gaveUpTo(events)
    this.#requests.rememberAnswered(answered)
    this.#row?.continueAs(standing, thread)
    for (const [key, frame] of frames) if (key !== "") this.#unclaimed.set(key, frame)
    this.together(() => Frame.restore(this, program, started, adopted, undefined).resume())
  }

  addFrame(frame: Frame): void {
    this.#frames.set(frame.key, frame)
    if (frame.caller === undefined) this.#root = frame
  }
  removeFrame(frame: Frame): void {
    this.#frames.delete(frame.key)
    this.#requests.remember(frame)
  }
  changeBusy(by: 1 | -1): void {
    this.#busyFrames += by
  }

  startTelemetry(path: readonly string[], entry: FrameStart, resumed: boolean): RunTelemetry | undefined {
    return this.#telemetry?.startRun({
      runId: this.runId,
      workflow: entry.workflow,
      path,
      parent: entry.trace,
      resumed,
    })
  }

  /** Makes an entry durable, then carries out what follows from it (M2). */
  commit(frame: Frame, entry: Entry, effects: readonly Effect[], events: number): void {
    const eventsBefore = this.#events
    this.#events += events
    const eventsAfter = this.#events
    if (this.#row !== undefined) {
      if (!isIntent(entry)) this.#progress++
      this.#row.follow(frame, entry, effects)
      this.#row.stand(this.#status(), this.root.machine)
      this.#row.rest(this.#isIdle(), this)
      const work = { frame, effects, eventsBefore, eventsAfter, at: entry.at, done: 0 }
      this.#journal.write(frame.key, entry, eventsAfter, work)
      if (this.#snapshots?.isDue(this.#journal.seq)) this.#saveSnapshot(this.#snapshots, entry.at)
    } else if (this.#draining) {
      this.#work.push({ frame, effects, eventsBefore, eventsAfter, at: entry.at, done: 0 })
    } else {
      this.#draining = true
      if (this.#perform(frame, effects, eventsBefore, eventsAfter, entry.at, 0)) this.#drain()
    }
  }

  /** Where the run stands with all its sub-workflows. */
  #status(): RunStatus {
    const { machine } = this.root
    if (machine.isOver()) return machine.status
    if (this.#busyFrames > 0) return "running"
    for (const frame of this.#frames.values()) if (frame.machine.status === "waiting") return "waiting"
    return "running"
  }

  /** Whether nothing of it executes, as far as is known here. */
  #isIdle(): boolean {
    return this.#busyFrames === 0 && this.#steps === 0 && this.#unclaimed.size === 0
  }

  /** The questions of a sub-workflow that nobody waits for any more. */
  withdrawRequests(frame: Frame): void {
    this.#row?.withdraw(frame, this.now())
  }

  #saveSnapshot(snapshots: Snapshots, at: number): void {
    const frames: SavedFrame[] = [...this.#frames.values()].map(saved)
    for (const [key, { started, machine }] of this.#unclaimed) frames.push(saved({ key, started, machine }))
    const answered = this.#requests.answeredBelow()
    const snapshot: RunSnapshot = { version: 1, at, events: this.#events, frames, answered }
    snapshots.save(this.#lease as Lease, this.#journal.seq, snapshot, (then) => this.afterDurable(then))
  }

  /** Does several things as one: durable together, and what follows is carried out when all are done. */
  together(act: () => void): void {
    if (this.#draining) return this.#journal.group(act)
    this.#draining = true
    this.#journal.group(act)
    this.#drain()
  }

  afterDurable(callback: () => void): void {
    this.#journal.afterwards(callback)
  }

  get isDurable(): boolean {
    return this.#journal.isIdle
  }
  /** Resolves when everything so far is durable; rejects when it will never be. */
  durable(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#lost !== undefined) return reject(this.#lost.error)
      this.#losers.add(reject)
      this.#journal.afterwards(() => {
        this.#losers.delete(reject)
        resolve()
      })
    })
  }

  enqueue(frame: Frame, effects: readonly Effect[]): void {
    const events = this.#events
    this.#follow({ frame, effects, eventsBefore: events, eventsAfter: events, at: this.now(), done: 0 })
  }

  #follow(held: Work | (() => void)): void {
    if (typeof held === "function") return held()
    this.#work.push(held)
    if (this.#draining) return
    this.#draining = true
    this.#drain()
  }

  /** Carries out one piece of work after another: what comes of one is queued behind it. */
  #drain(): void {
    for (;;) {
      const work = this.#interrupted ?? this.#work.shift()
      this.#interrupted = undefined
      if (work === undefined) break
      if (!this.#perform(work.frame, work.effects, work.eventsBefore, work.eventsAfter, work.at, work.done))
        return
    }
    this.#draining = false
    if (this.#waiters.length > 0) this.checkSettled()
    if (this.#busyFrames === 0) this.#onIdle?.()
  }

  /** False when it stopped half way, to let timers and IO have their turn; it goes on by itself. */
  #perform(
    frame: Frame,
    effects: readonly Effect[],
    eventsBefore: number,
    eventsAfter: number,
    at: number,
    done: number,
  ): boolean {
    let seq = eventsBefore
    for (let i = done; i < effects.length; i++) {
      const effect = effects[i] as Effect
      if (effect.type === "emit") this.#watchers.emit(frame, ++seq, at, effect.event)
      else if (effect.type === "finish" && this.#onReturn !== undefined && frame.caller !== undefined)
        this.#onReturn(frame.key, () => frame.perform(effect))
      else if (effect.type !== "start") frame.perform(effect)
      else if (this.#tasksThisTurn < TASKS_PER_TURN && this.sure() === undefined)
        this.#startTask(frame, effect.task)
      else {
        this.#interrupted = { frame, effects, eventsBefore: seq, eventsAfter, at, done: i }
        this.#drainLater()
        return false
      }
    }
    this.#watchers.gaveUpTo(eventsAfter)
    return true
  }

  /** After timers and IO; and not before the lease is known to be good (K4). */
  #drainLater(): void {
    const drain = () => {
      this.#tasksThisTurn = 0
      this.#drain()
    }
    const sure = this.sure()
    if (sure === undefined) setImmediate(drain)
    else sure.then(drain)
  }

  /** K4. Undefined while the run is known to be this process's; else resolves when that is clear. */
  sure(): Promise<void> | undefined {
    return this.#keeper?.sure()
  }

  /** A handler or step of the node is called now. */
  enter(node: string): void {
    this.#keeper?.enter(this, node)
  }

  /** Unless it was dropped, or its caller was, between the decision and now. */
  #startTask(frame: Frame, task: Task): void {
    if (this.#lost !== undefined || task.status === "over") return
    if (frame.caller !== undefined && frame.isAbandoned()) return
    this.#tasksThisTurn++
    if (this.#keeper !== undefined) this.enter(task.node.id)
    new TaskRun(frame, task).start()
  }

  setTimer(frame: Frame, timer: TimerId, at: number): void {
    const key = `${frame.key} ${timer}`
    const cancel = this.#clock.setTimer(at, () => {
      this.#timers.delete(key)
      frame.fireTimer(timer)
    })
    this.#timers.set(key, cancel)
  }
  clearTimer(frame: Frame, timer: TimerId): void {
    const key = `${frame.key} ${timer}`
    this.#timers.get(key)?.()
    this.#timers.delete(key)
  }
  /** A timer that is nobody's state: an attempt's time limit. */
  armTimer(at: number, callback: () => void): () => void {
    return this.#clock.setTimer(at, callback)
  }

  // Watching

  watch(): EventStream {
    const stream = this.#watchers.add()
    if (this.#lost !== undefined) this.#watchers.fail(this.#lost.error)
    else if (this.#root?.machine.isOver()) this.#watchers.end()
    return stream
  }

  #observe(): void {
    for (const frame of this.#frames.values()) frame.machine.observe(this.isObserved)
  }

  emitLive(frame: Frame, event: LiveEvent): void {
    this.#watchers.emitLive(frame, this.now(), event)
  }

  // People

  requests(): OpenRequest[] {
    return this.#requests.list()
  }

  /** Takes an answer, if it fits; `mail` brought it. Resolves when it is durable. */
  async respond(id: RequestId, value: unknown, by: string | undefined, mail?: string): Promise<void> {
    if (this.#lost !== undefined) throw this.#lost.error
    checkJson(value, this, () => `The answer to request "${id}"`)
    // An answer on its way is work under way: whoever awaits the run now gets what comes of it.
    this.changeBusy(1)
    try {
      await this.#requests.answer(id, value as Json, by, mail)
    } finally {
      this.changeBusy(-1)
      this.checkSettled()
    }
    await this.durable()
  }

  /** Ends the run; `mail` asked for it. Resolves when that is durable. */
  async cancel(reason: string | undefined, mail?: string): Promise<void> {
    if (this.#lost !== undefined) throw this.#lost.error
    if (this.isOver) {
      const { status } = this.root.machine
      throw new SuperstepError("RUN_OVER", `Run "${this.runId}" is over: ${status}.`, { run: this.runId })
    }
    this.root.cancel(reason, mail)
    await this.durable()
  }

  // The end

  /** The result, once the run is over or waits for a person. Rejects only when the run could not go on at all. */
  settled(): Promise<RunResult> {
    return new Promise((resolve, reject) => {
      if (this.#lost !== undefined) reject(this.#lost.error)
      else if (this.#isSettled()) resolve(this.#result())
      else {
        this.#losers.add(reject)
        this.#waiters.push((result) => {
          this.#losers.delete(reject)
          resolve(result)
        })
      }
    })
  }

  #isSettled(): boolean {
    const over = this.#root?.machine.isOver()
    if (over === undefined || (!over && this.#busyFrames > 0)) return false
    if (this.#draining || !this.#journal.isIdle) return false
    return over || this.requests().length > 0
  }

  /** Tells those who wait when the run is over or waits for a person. */
  checkSettled(): void {
    if (this.#waiters.length === 0 || !this.#isSettled()) return
    const waiters = this.#waiters
    this.#waiters = []
    const result = this.#result()
    for (const resolve of waiters) resolve(result)
  }

  onFinish(callback: () => void): void {
    this.#finishers.push(callback)
  }

  /** The root frame is over: timers go, streams end. */
  finish(): void {
    for (const callback of this.#finishers) callback()
    this.#finishers = []
    for (const cancel of this.#timers.values()) cancel()
    this.#timers.clear()
    this.#watchers.end()
  }

  // Being evicted

  /** Called whenever nothing is left to do but to wait. */
  onIdle(callback: () => void): void {
    this.#onIdle = callback
  }

  /** A step is under way, or no longer. One beside a task that waits is on no record: the row says that it executes. */
  changeSteps(by: 1 | -1): void {
    const wasIdle = this.#isIdle()
    this.#steps += by
    if (wasIdle && by === 1 && this.#row?.isIdle) this.#setIdle(false)
  }

  /** A run that was restored and has come to wait again has written nothing: its row says that it executes. */
  noteIdle(): void {
    if (this.#row?.isIdle === false && this.#isIdle() && !this.isOver && this.hasCaughtUp()) {
      this.#setIdle({ wakeAt: this.wakeAt() })
    }
  }

  #setIdle(idle: Idle | false): void {
    if (this.#lease === undefined || this.#lost !== undefined) return
    this.#row?.saidIdle(idle)
    const said = this.store?.setIdle(this.#lease, idle)
    // Nothing hangs on it: the next record says the same.
    if (isPromise(said)) said.catch(() => undefined)
  }

  /** Whether every handler has come to where it waits: after a restart they run up to there again. */
  hasCaughtUp(): boolean {
    for (const frame of this.#frames.values()) if (!frame.hasCaughtUp()) return false
    return true
  }

  /** Whether it does nothing but wait, and nobody here waits for it. */
  isDormant(): boolean {
    if (this.#root === undefined || this.#lost !== undefined || this.#root.machine.isOver()) return false
    if (this.#busyFrames > 0 || this.#steps > 0 || this.#draining || !this.#journal.isIdle) return false
    if (this.#unclaimed.size > 0 || !this.hasCaughtUp()) return false
    return this.#waiters.length === 0 && this.#losers.size === 0 && !this.#watchers.any
  }

  /** When it goes on by itself. */
  wakeAt(): number | undefined {
    let next: number | undefined
    for (const { machine } of [...this.#frames.values(), ...this.#unclaimed.values()]) {
      const at = machine.nextTimer()
      if (at !== undefined && (next === undefined || at < next)) next = at
    }
    return next
  }

  get lease(): Lease | undefined {
    return this.#lease
  }
  /** The store has its first record. */
  get isStored(): boolean {
    return this.#stored
  }
  /** How many records came of it here that are no intents, durable or not. */
  get progress(): number {
    return this.#progress
  }
  get isOver(): boolean {
    return this.#root?.machine.isOver() === true
  }
  get isBusy(): boolean {
    return this.#busyFrames > 0
  }
  get isEvicted(): boolean {
    return this.#evicted
  }
  /** Why it cannot go on, if so. */
  get failure(): unknown {
    return this.#lost?.error
  }

  /**
   * Lets go of everything in memory, as if the process had died: handlers that wait never hear of it. The run goes on
   * from its journal, here or elsewhere.
   */
  evict(): void {
    const text = `Run ${this.runId} was put aside while it waited; it goes on from its journal.`
    this.#evicted = true
    this.#lost = { error: new SuperstepError("RUN_EVICTED", text) }
    this.#journal.close()
    this.#work.clear()
    for (const cancel of this.#timers.values()) cancel()
    this.#timers.clear()
  }

  #lose(cause: unknown, dropped: readonly (Work | (() => void))[]): void {
    // Handlers that an entry ended are told, though the entry is lost: nobody else knows them any more.
    for (const held of dropped) {
      if (typeof held === "function") continue
      for (const effect of held.effects) if (effect.type === "abort") held.frame.perform(effect)
    }
    const text = `Run ${this.runId} stopped: its journal could not be written.`
    this.stop(cause instanceof SuperstepError ? cause : new SuperstepError("JOURNAL_LOST", text, { cause }))
  }

  /** The run cannot go on: nothing more may follow, and everyone who waits is told. */
  stop(error: unknown): void {
    if (this.#lost !== undefined) return
    this.#lost = { error }
    for (const frame of this.#frames.values()) frame.stop(toErrorData(error))
    this.#work.clear()
    this.#watchers.fail(error)
    this.finish()
    for (const reject of this.#losers) reject(error)
    this.#losers.clear()
    this.#waiters = []
  }

  #result(): RunResult {
    return resultOf(this.runId, this.root.machine, this.requests(), this.root.thrown)
  }
}

function saved({ key, started, machine }: Pick<Frame, "key" | "started" | "machine">): SavedFrame {
  return { key, graph: graphData(machine.graph).hash, started, machine: machine.snapshot() }
}
