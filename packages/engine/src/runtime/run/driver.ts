/**
 * Drives the machines of one run with all its sub-workflows: one journal, one sequence of events, one set of timers. An
 * entry is journaled first; then its effects are carried out (M2) by the `EffectQueue`. Its `RunHost` serves those who
 * await, watch or hold the run.
 */
import {
  type Effect,
  type Entry,
  type RequestId,
  type RunId,
  type RunPaused,
  type RunResumed,
  type RunStarted,
  type RunStatus,
  SuperstepError,
  type Task,
  type TimerId,
  toErrorData,
} from "../../core/index.ts"
import { addMember, isIntent, NO_MEMBERS, removeMember, requestOfTimer } from "../../core/internal.ts"
import { Journal } from "../journal/journal.ts"
import type { FrameStart } from "../journal/journal-fold.ts"
import { type LoadedFrame, type LoadedRun, Snapshots, snapshotOf } from "../journal/load-run.ts"
import { EarlyRecords } from "../journal/replay-events.ts"
import { RunRow } from "../journal/run-row.ts"
import type { ThreadAtStart } from "../journal/thread.ts"
import { Watchers } from "../journal/watchers.ts"
import type { SlotKeeper } from "../lease/slot-keeper.ts"
import type { AgentReport } from "../ports/agent-report.ts"
import type { Clock } from "../ports/clock.ts"
import type { Dispatcher } from "../ports/dispatcher.ts"
import { type LiveEvent, outerId } from "../ports/events.ts"
import { Signal } from "../ports/maybe-promise.ts"
import type { Program } from "../ports/program.ts"
import type { Store } from "../ports/store.ts"
import type { Labels, Lease, RunCreated } from "../ports/stored.ts"
import type { RunTelemetry } from "../ports/telemetry.ts"
import { Activity } from "./activity.ts"
import { CatchUp } from "./catch-up.ts"
import type { DriverKeeper, DriverOptions, DriverOwner, RestoreOptions } from "./driver-options.ts"
import { abortHandlers, EffectQueue, type Work } from "./effect-queue.ts"
import { type Caller, Frame, type FrameHost } from "./frame.ts"
import { attachFrame, detachFrame, frameAt, framePath } from "./frame-tree.ts"
import { adopt } from "./graph-change.ts"
import { RestoredCalls, waitsForCall } from "./restored-calls.ts"
import { AgentReports } from "./result.ts"
import { RunRequests } from "./run-requests.ts"
import { RunSignals } from "./run-signals.ts"
import type { StepStart } from "./step-start.ts"

const NO_LABELS: Labels = Object.freeze({})

const ENDS_TASK: ReadonlySet<Entry["type"]> = new Set(["task.finished", "task.failed", "task.rejected"])

export class Driver implements FrameHost {
  readonly labels: Labels
  readonly clock: Clock
  readonly watchers: Watchers
  /** Sub-workflows that were loaded with the run. */
  restored: RestoredCalls | undefined
  early: EarlyRecords | undefined
  readonly activity: Activity
  readonly row: RunRow | undefined
  context: unknown
  #requests: RunRequests | undefined
  #signals: RunSignals | undefined
  #reports: AgentReports | undefined
  #catchUp: CatchUp | undefined
  readonly #options: DriverOptions
  readonly #owner: DriverOwner
  readonly #keeper: DriverKeeper | undefined
  readonly #journal: Journal<Work | (() => void)> | undefined
  #root: Frame | undefined
  /** Sub-workflows that are in progress, in the order in which they began. */
  #below: ReadonlySet<Frame> = NO_MEMBERS
  readonly #snapshots: Snapshots | undefined
  lease: Lease | undefined
  /** Whether the store has the run. */
  isStored = false
  readonly #effects: EffectQueue = new EffectQueue(this)
  /** Entries made by this process so far. */
  entries = 0
  /** Entries that are not intents, durable or not. */
  progress = 0
  /** Events counted so far. */
  #events = 0
  cuts = 0
  paidSteps: ReadonlySet<StepStart> = NO_MEMBERS
  /** Why the run cannot continue, and what to await before the error is reported. */
  #lost: { readonly error: unknown; readonly after: Promise<void> | undefined } | undefined
  #unpaused: Signal | undefined
  #isResuming = false
  /** Tasks that wait for the end of a pause before they begin a step or a call. */
  #heldTasks: ReadonlySet<Task> = NO_MEMBERS
  /** Reject the promises that wait for the journal if the run stops. */
  #rejects: ReadonlySet<(error: unknown) => void> = NO_MEMBERS

  constructor(options: DriverOptions, owner: DriverOwner) {
    const { store, keepsEarly = false } = options
    this.#options = options
    this.#owner = owner
    this.#keeper = options.keeper
    this.labels = options.labels === undefined ? NO_LABELS : Object.freeze({ ...options.labels })
    this.clock = options.clock
    this.context = options.context
    this.row = store && new RunRow()
    this.#snapshots = store && new Snapshots(store)
    this.activity = new Activity(this, options.keeper?.places)
    this.early = keepsEarly ? new EarlyRecords() : undefined
    this.watchers = new Watchers(this, options.keeper !== undefined, keepsEarly)
    this.#journal = store && new Journal(store, this.row, this)
  }

  get runId(): RunId {
    return this.#options.runId
  }
  get store(): Store | undefined {
    return this.#options.store
  }
  get isProbe(): boolean {
    return this.#options.probe !== undefined
  }
  get slots(): SlotKeeper | undefined {
    return this.isProbe ? undefined : this.#keeper?.slots
  }
  get dispatcher(): Dispatcher | undefined {
    return this.#keeper?.dispatcher
  }
  now(): number {
    return this.clock.now()
  }
  get root(): Frame {
    return this.#root as Frame
  }
  /** The largest single value that the run accepts. */
  get valueBytes(): number {
    return (this.#root as Frame).machine.valueBytes
  }
  get isObserved(): boolean {
    return this.watchers.any
  }
  /** The first watcher joined, or the last one left. */
  watchersChanged(): void {
    for (const [, { machine }] of this.frames()) machine.observe(this.isObserved)
  }
  /** Whether anybody can ever see what is recorded beside results. */
  get isInspectable(): boolean {
    return this.#journal !== undefined || this.isObserved || this.early !== undefined
  }
  get mayBeWatched(): boolean {
    return this.watchers.mayHaveAny
  }
  get requiresCalls(): boolean {
    return this.restored?.areRequired === true
  }
  get isOver(): boolean {
    return this.#root?.machine.isOver() === true
  }
  get failure(): unknown {
    return this.#lost?.error
  }
  frame(key: string): Frame | undefined {
    return frameAt(this.#root, key)
  }
  /** The run, once it has begun, and its sub-workflows that are in progress. */
  frames(): [string, Frame][] {
    const all = this.#root === undefined ? [...this.#below] : [this.#root, ...this.#below]
    return all.map((frame) => [frame.key, frame])
  }
  get requests(): RunRequests {
    this.#requests ??= new RunRequests(this)
    return this.#requests
  }
  get catchUp(): CatchUp {
    this.#catchUp ??= new CatchUp(this)
    return this.#catchUp
  }
  get signals(): RunSignals {
    this.#signals ??= new RunSignals(this)
    return this.#signals
  }

  // Beginning

  /** A new run, to be written under the lease. */
  create(lease: Lease, created: RunCreated, thread: ThreadAtStart | undefined): void {
    this.lease = lease
    this.row?.create(created, thread)
    this.#journal?.open(lease, created.forkOf?.seq ?? 0)
  }

  /** Continues a loaded run; without a lease it can only be inspected. */
  restore(program: Program, run: LoadedRun, { lease, status, thread }: RestoreOptions): void {
    const { seq, events, frames, answered } = run
    const { started, machine } = frames.get("") as LoadedFrame
    const adopted = adopt(machine, program.graph, this.#options.onGraphChange)
    this.lease = lease
    this.isStored = true
    if (lease !== undefined) this.#journal?.open(lease, seq)
    this.#snapshots?.resumeFrom(run.savedSeq)
    this.#events = events
    this.watchers.advanceTo(events)
    this.requests.rememberAnswered(answered)
    this.row?.resumeFrom(status, thread)
    const restored = new RestoredCalls(this.#options, this.#owner)
    this.restored = restored
    for (const [key, frame] of frames) {
      if (key !== "") restored.add(key, frame)
      for (const { id, memo } of frame.machine.tasks()) this.catchUp.begin(key, id, memo?.size ?? 0)
    }
    this.signals.restore(frames)
    this.together(() => Frame.restore(this, program, started, adopted, undefined).resume())
    if (lease !== undefined) this.signals.matchBuffered().catch((error) => this.stop(error))
  }

  /** Starts a sub-workflow, or continues it as the journal left it. */
  call(program: Program, entry: RunStarted, caller: Caller): void {
    const restored = this.restored?.take(caller.callee)
    if (restored !== undefined) {
      const frame = Frame.restore(this, program, restored.started, restored, caller)
      frame.resume()
      this.#pauseWithRun(frame)
      this.restored?.noteChange()
    } else if (!this.isProbe) this.#pauseWithRun(Frame.start(this, program, entry, caller))
  }

  /** Called just before the pause: it began with the run paused. */
  #pauseWithRun(frame: Frame): void {
    const { pause } = this.root.machine
    if (pause !== undefined) frame.pause({ reason: pause.reason, by: pause.by })
  }

  addReport(task: string, attempt: number, report: AgentReport): void {
    this.#reports ??= new AgentReports()
    this.#reports.add(task, attempt, report)
  }
  reports(): readonly AgentReport[] {
    return this.#reports?.list() ?? []
  }

  addFrame(frame: Frame): void {
    const { caller } = frame
    if (caller === undefined) this.#root = frame
    else {
      this.#below = addMember(this.#below, frame)
      attachFrame(frame, caller)
      this.early?.addGraph(frame.machine.graph)
    }
  }
  dropEarly(): void {
    if (this.early?.drop()) this.early = undefined
  }
  removeFrame(frame: Frame): void {
    removeMember(this.#below, frame)
    if (frame.caller !== undefined) detachFrame(frame.caller)
    this.requests.remember(frame)
  }

  startTelemetry(caller: Caller | undefined, entry: FrameStart, resumed: boolean): RunTelemetry | undefined {
    const { telemetry } = this.#options
    if (telemetry === undefined) return undefined
    const { workflow, trace: parent } = entry
    // A sub-workflow belongs to the conversation of its run.
    const thread = (this.#root?.started ?? entry).thread?.id
    const path = framePath(caller)
    return telemetry.startRun({ runId: this.runId, workflow, path, parent, resumed, thread })
  }

  // Pausing

  /** Nothing may start: it is paused, or its resumption is not durable yet (M2). */
  get isPaused(): boolean {
    return this.#isResuming || this.#root?.machine.pause !== undefined
  }

  /** Nothing new starts from now on, also in sub-workflows. What executes is recorded when it ends. */
  pause(why: Omit<RunPaused, "type" | "at">): void {
    const { mail: _, ...below } = why
    this.together(() => {
      for (const [key, frame] of [...this.frames()]) frame.pause(key === "" ? why : below)
    })
  }

  unpause(by: Omit<RunResumed, "type" | "at">): void {
    const { mail: _, ...below } = by
    this.#isResuming = true
    this.together(() => {
      for (const [key, frame] of [...this.frames()]) frame.unpause(key === "" ? by : below)
    })
    this.afterDurable(() => {
      this.#isResuming = false
      this.#effects.release()
      this.#unpaused?.notify()
    })
  }

  /** The task is about to begin something. Resolves when the run is resumed, or has ended or stopped here. */
  async unpaused(task: Task): Promise<void> {
    this.#heldTasks = addMember(this.#heldTasks, task)
    this.restPaused()
    this.#unpaused ??= new Signal()
    while (this.isPaused && this.#lost === undefined) await this.#unpaused.wait()
    removeMember(this.#heldTasks, task)
  }

  /** Whether nothing executes, because the run is paused: every task that has started is held back. */
  get isHeld(): boolean {
    if (!this.isPaused) return false
    const held = new Set([...this.#heldTasks, ...this.#effects.held()])
    for (const [, { machine }] of this.frames()) {
      for (const task of machine.tasks()) if (task.status === "running" && !held.has(task)) return false
    }
    return true
  }

  /** A paused run may have become idle without an entry. */
  restPaused(): void {
    if (!this.isHeld || this.isDraining) return
    this.#owner.checkResult()
    this.activity.leavePlaceLater()
    this.#owner.idle()
  }

  // Entries, and the effects that follow from them

  commit(frame: Frame, entry: Entry, effects: readonly Effect[], events: number): void {
    const eventsBefore = this.#events
    this.entries++
    this.#events += events
    const eventsAfter = this.#events
    if (this.#keeper !== undefined && this.activity.isQueued && this.isOver) this.activity.leavePlace()
    if (this.restored !== undefined && ENDS_TASK.has(entry.type)) this.#dropUnawaited(this.restored)
    if (this.early?.add(frame.key, entry, eventsAfter) === false) this.early = undefined
    if (this.row === undefined) this.#effects.follow(frame, effects, eventsBefore, eventsAfter, entry.at)
    else this.#write(this.row, entry, { frame, effects, eventsBefore, eventsAfter, at: entry.at, done: 0 })
  }

  #write(row: RunRow, entry: Entry, work: Work): void {
    const { frame, effects, eventsAfter } = work
    if (!isIntent(entry)) this.progress++
    row.follow(frame, entry, effects)
    row.setStatus(this.status, this.root.machine)
    this.activity.follow(row)
    this.#journal?.write(frame.key, entry, eventsAfter, work)
    this.#saveSnapshot(entry.at, row.isIdle)
  }

  enqueue(frame: Frame, effects: readonly Effect[]): void {
    const events = this.#events
    this.#effects.add({ frame, effects, eventsBefore: events, eventsAfter: events, at: this.now(), done: 0 })
  }

  /** Groups entries: they become durable together, and their effects are carried out after the last one. */
  together(act: () => void): void {
    const journal = this.#journal
    this.#effects.after(journal === undefined ? act : () => journal.group(act))
  }

  /** What was held back for an entry: the entry is durable. */
  follow(held: Work | (() => void)): void {
    if (typeof held === "function") held()
    else this.#effects.add(held)
  }

  /** Effects are being carried out. */
  get isDraining(): boolean {
    return this.#effects.isDraining
  }

  drained(): void {
    const { isBusy } = this.activity
    // While tasks are executing, only the end of the run is a result.
    if (!isBusy || this.isOver) this.#owner.checkResult()
    if (isBusy) return this.activity.restAgain()
    this.activity.leavePlaceLater()
    this.#owner.idle()
  }

  mayStart(task: Task): boolean {
    if (this.#lost !== undefined || (this.isProbe && !waitsForCall(task))) return false
    if (this.#keeper !== undefined) this.enter(task.node.id)
    return true
  }

  returnFrame(frame: Frame): void {
    const { onReturn } = this.#options
    if (onReturn === undefined || frame.caller === undefined) frame.finish()
    else onReturn(frame.key, () => frame.finish())
  }

  // Timers

  clearTimer(frame: Frame, timer: TimerId): void {
    this.#effects.clearTimer(frame, timer)
  }
  answering(frame: string, timer: TimerId): Promise<void> | undefined {
    const request = requestOfTimer(timer)
    return request && this.#keeper?.answering(this.runId, outerId(frame, request))
  }
  /** A timer that is not part of the run's state: an attempt's time limit. */
  armTimer(at: number, callback: () => void): () => void {
    return this.clock.setTimer(at, callback)
  }
  /** When it continues by itself. */
  wakeAt(): number | undefined {
    if (this.root.machine.pause !== undefined) return undefined
    let next: number | undefined
    for (const [, { machine }] of this.#allFrames()) {
      const at = machine.nextTimer()
      if (at !== undefined && (next === undefined || at < next)) next = at
    }
    return next
  }

  // The journal, and the row of the run

  afterDurable(callback: () => void): void {
    if (this.#journal !== undefined) this.#journal.afterwards(callback)
    else if (this.#lost === undefined) callback()
  }
  get isDurable(): boolean {
    return this.#journal === undefined || this.#journal.isIdle
  }
  /** Resolves when everything so far is durable; rejects when it will never be. */
  durable(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#lost !== undefined) return reject(this.#lost.error)
      this.#rejects = addMember(this.#rejects, reject)
      this.afterDurable(() => {
        removeMember(this.#rejects, reject)
        resolve()
      })
    })
  }

  /** The first record is written: once it is durable, the store has the run. */
  noteStored(): void {
    this.afterDurable(() => {
      this.isStored = true
    })
  }

  /** A run that is over has nothing to resume: a snapshot would only take space. */
  #saveSnapshot(at: number, isAtRest: boolean): void {
    const seq = this.#journal?.seq ?? 0
    if (!this.#snapshots?.isDue(seq, isAtRest) || this.isOver) return
    const snapshot = snapshotOf(at, this.#events, this.#allFrames(), this.requests.answeredBelow())
    this.#snapshots.save(this.lease as Lease, seq, snapshot, isAtRest, (then) => this.afterDurable(then))
  }

  /** With those that were loaded and are not called again yet. */
  #allFrames(): [string, Pick<LoadedFrame, "started" | "machine">][] {
    return [...this.frames(), ...(this.restored ?? [])]
  }

  /** A handler of another version may end without calling a sub-workflow again: that sub-workflow is dropped. */
  #dropUnawaited(restored: RestoredCalls): void {
    if (restored.size === 0) return
    for (const [key, { machine }] of restored.dropUnawaited(this.frames())) {
      this.row?.withdraw({ key, machine }, this.now())
    }
  }

  /** The status of the run with all its sub-workflows. */
  get status(): RunStatus {
    const { machine } = this.root
    if (machine.isOver() || machine.pause !== undefined) return machine.status
    if (this.activity.isBusy) return "running"
    for (const [, { machine }] of this.frames()) if (machine.status === "waiting") return "waiting"
    return "running"
  }

  withdrawRequests(frame: Frame): void {
    this.row?.withdraw(frame, this.now())
  }

  // What executes now

  changeBusy(by: 1 | -1): void {
    this.activity.changeBusy(by)
  }
  runningTasks(): number {
    let count = 0
    for (const [, { machine }] of this.frames()) count += machine.running
    return count
  }
  changeSteps(by: 1 | -1): void {
    this.activity.changeSteps(by)
    if (by === 1) return
    this.checkResult()
    this.activity.leavePlaceLater()
  }

  /** The run executes nothing, and everything so far is durable. */
  get isAtRest(): boolean {
    return this.activity.isIdle && this.isQuiet && this.#root !== undefined && !this.isOver
  }
  /** Whether a caller waits until everything so far is durable. */
  get isAwaited(): boolean {
    return this.#rejects.size > 0
  }
  /** Everything so far is carried out, and durable. */
  get isQuiet(): boolean {
    return !this.isDraining && this.isDurable
  }
  hasCaughtUp(): boolean {
    // Its handlers continue when it is resumed.
    if (this.isHeld) return true
    for (const [, frame] of this.frames()) if (!frame.hasCaughtUp()) return false
    return true
  }

  /**
   * Undefined while new work may start: the process holds the run (K4), and the run has a place. Otherwise resolves when
   * that may have changed.
   */
  sure(): Promise<void> | undefined {
    return this.#keeper === undefined ? undefined : (this.#keeper.sure() ?? this.activity.place())
  }
  enter(node: string): void {
    this.#keeper?.enter(this.runId, node)
  }

  // Watchers and people

  emitLive(frame: Frame, event: LiveEvent): void {
    this.watchers.emitLive(frame, this.now(), event)
  }

  report(frame: Frame, task: Task, error: SuperstepError): void {
    const { message } = error
    this.emitLive(frame, { type: "log", task: task.id, node: task.node.id, level: "error", message })
    this.#keeper?.report(this.runId, error)
  }

  respond(id: RequestId, value: unknown, by: string | undefined, mail?: string): Promise<void> {
    return this.requests.respond(id, value, by, mail)
  }

  checkResult(): void {
    this.#owner.checkResult()
  }

  // The end

  /** The root frame has ended, or the run stopped. */
  finish(): void {
    // First: the keeper of a script closes the channel with its last run.
    this.watchers.end()
    this.#owner.finished()
    this.#effects.clearTimers()
    this.restored?.noteChange()
    this.#signals?.noteEnd()
    this.#isResuming = false
    this.#unpaused?.notify()
    this.activity.leavePlace()
  }

  /** Why the run stopped, once it may be reported. */
  async lostError(): Promise<unknown> {
    await this.#lost?.after
    return this.#lost?.error
  }

  /** The journal rejected a write. */
  lose(cause: unknown, dropped: readonly (Work | (() => void))[]): void {
    for (const held of dropped) if (typeof held !== "function") abortHandlers(held.effects)
    const text = `Run ${this.runId} stopped: its journal could not be written.`
    this.stop(cause instanceof SuperstepError ? cause : new SuperstepError("JOURNAL_LOST", text, { cause }))
  }

  /** Stops the run: no more effects, and all waiting callers get the error once `after` has resolved. */
  stop(error: unknown, after?: Promise<void>): void {
    if (this.#lost !== undefined) return
    this.#lost = { error, after }
    for (const [, frame] of this.frames()) frame.stop(toErrorData(error))
    this.#effects.dropWork()
    this.watchers.fail(error)
    this.finish()
    const waiting = this.#rejects
    this.#rejects = NO_MEMBERS
    const rejectAll = () => {
      for (const reject of waiting) reject(error)
      this.#owner.failed(error)
    }
    if (after === undefined) rejectAll()
    else after.then(rejectAll)
  }

  /** Drops everything in memory, as if the process had died: handlers that wait are not resumed here. */
  drop(error: unknown): void {
    this.#lost = { error, after: undefined }
    this.#journal?.close()
    this.#effects.dropWork()
    this.watchers.leave()
    this.#effects.clearTimers()
    this.activity.leavePlace()
    this.#signals?.noteEnd()
  }
}
