/**
 * Tracks whether a run executes something: tasks, steps of handlers, and its place if the process limits concurrency. The
 * row in the store agrees, so that other processes see which runs only wait.
 */
import type { RunStatus } from "../../core/index.ts"
import type { RunRow } from "../journal/run-row.ts"
import { deferred, isPromise, type MaybePromise } from "../ports/maybe-promise.ts"
import type { Store } from "../ports/store.ts"
import type { Idle, Lease } from "../ports/stored.ts"

/** The parts of the run that its activity depends on. */
interface ActiveRun {
  readonly store: Store | undefined
  readonly row: RunRow | undefined
  readonly lease: Lease | undefined
  readonly failure: unknown
  readonly isOver: boolean
  readonly status: RunStatus
  readonly isStored: boolean
  /** Effects are being carried out. */
  readonly isDraining: boolean
  /** Sub-workflows that were loaded and are not called again yet. */
  readonly restored: { readonly size: number } | undefined
  /** Whether it is paused, and everything that it had begun has ended or is held back. */
  readonly isHeld: boolean
  wakeAt(): number | undefined
  hasCaughtUp(): boolean
  /** Tasks whose handlers execute, or wait for a slot. */
  runningTasks(): number
  afterDurable(callback: () => void): void
}

/** A run that queues for a place, or waits for slots, executes nothing, and is due at once for another process. */
const QUEUED = { wakeAt: () => undefined }

/** Runs when every promise that follows from settled ones is settled. Taken at load time: tests may fake timers. */
const { nextTick } = process

export class Activity {
  readonly #run: ActiveRun
  readonly #places: Pick<Places, "take" | "leave"> | undefined
  #busyFrames = 0
  /** Steps in progress in handlers, parked ones too. */
  #steps = 0
  /** Set while the run queues for a place. */
  #queueing: ReturnType<typeof deferred> | undefined
  /** A check whether it still needs its place is scheduled. */
  #isLeaving = false
  /** Tasks that have waited for a slot for a while. */
  #slotWaits = 0

  constructor(run: ActiveRun, places: Pick<Places, "take" | "leave"> | undefined) {
    this.#run = run
    this.#places = places
  }

  get isBusy(): boolean {
    return this.#busyFrames > 0 && !this.#run.isHeld
  }
  get isQueued(): boolean {
    return this.#queueing !== undefined
  }
  /** Whether this process executes nothing of the run. */
  get isIdle(): boolean {
    if (this.#steps > 0) return false
    const { restored } = this.#run
    return (this.#busyFrames === 0 && (restored === undefined || restored.size === 0)) || this.#run.isHeld
  }

  /** Whether everything that the run executes waits for slots. */
  get isResting(): boolean {
    return this.#slotWaits > 0 && this.#steps === 0 && this.#run.runningTasks() === this.#slotWaits
  }

  /** A task has waited for a slot for a while, or waits no longer. */
  changeSlotWaits(by: 1 | -1): void {
    this.#slotWaits += by
    if (by === 1) this.restAgain()
    else if (this.#run.isStored && this.#run.row?.isIdle) this.#writeIdle(false)
  }

  /** If everything that it executes waits for slots, the run gives its place back, and its row says that it executes nothing. */
  restAgain(): void {
    if (!this.isResting) return
    if (this.#run.isStored && this.#run.row?.isIdle === false) this.#writeIdle({})
    this.leavePlaceLater()
  }

  changeBusy(by: 1 | -1): void {
    this.#busyFrames += by
    if (by === -1) this.leavePlaceLater()
  }

  /** No record shows a step next to a waiting task, so the row is updated: the run executes. */
  changeSteps(by: 1 | -1): void {
    const wasIdle = this.isIdle
    this.#steps += by
    if (wasIdle && by === 1 && this.#run.row?.isIdle) this.#writeIdle(false)
  }

  /** Updates the row for the next record. */
  follow(row: RunRow): void {
    const { isIdle } = this
    if (!isIdle && (this.isResting || this.place() !== undefined)) row.setIdle(true, QUEUED)
    else row.setIdle(isIdle, this.#run)
  }

  /**
   * A restored run that waits again has written nothing, or wrote its last record before all its handlers waited again: its
   * row still shows it as executing, or as running.
   */
  noteIdle(): MaybePromise<void> {
    const { row, isOver } = this.#run
    if (row?.isIdle === false && this.isIdle && !isOver && this.#run.hasCaughtUp()) {
      return this.#writeIdle({ wakeAt: this.#run.wakeAt() }, this.#run.status)
    }
  }

  #writeIdle(idle: Idle | false, status?: RunStatus): MaybePromise<void> {
    const { row, lease, failure, store } = this.#run
    if (lease === undefined || failure !== undefined) return
    row?.noteIdle(idle, status)
    const written = store?.setIdle(lease, idle, status)
    // A failure is harmless: the next record writes the same.
    if (isPromise(written)) return written.catch(() => undefined)
  }

  // Places

  /** Undefined when the run has a place, or needs none: it has ended, or the process executes any number of runs. */
  place(): Promise<void> | undefined {
    if (this.#places === undefined || this.#run.isOver || this.#run.failure !== undefined) return undefined
    if (this.#queueing === undefined) {
      if (this.#places.take(this, () => this.#gotPlace())) return undefined
      this.#queueing = deferred()
      if (this.#run.isStored && this.#run.row?.isIdle === false) this.#writeIdle({})
    }
    return this.#queueing.promise
  }

  #gotPlace(): void {
    const queueing = this.#queueing
    this.#queueing = undefined
    this.#run.afterDurable(() => {
      if (this.#run.row?.isIdle && !this.isIdle) this.#writeIdle(false)
    })
    queueing?.resolve()
  }

  /** Gives the place back; a run that queues, and has ended or stopped, is let through. */
  leavePlace(): void {
    this.#places?.leave(this)
    this.#queueing?.resolve()
    this.#queueing = undefined
  }

  /** A handler whose step ended may be about to begin another: the place is kept if it does. */
  leavePlaceLater(): void {
    if (this.#places === undefined || this.#isLeaving || !this.#executesNothing()) return
    this.#isLeaving = true
    nextTick(() => {
      this.#isLeaving = false
      if (this.#executesNothing()) this.leavePlace()
    })
  }

  #executesNothing(): boolean {
    return (!this.isBusy || this.isResting) && this.#steps === 0 && !this.#run.isDraining && !this.isQueued
  }
}

/**
 * How many runs may execute in a process at the same time. A run takes a place before it executes anything, and frees it
 * when it waits or has ended. Runs without a place queue in order. Sub-workflows execute in the place of their run.
 *
 * Invariants:
 * P1 Never more than `limit` runs have a place.
 * P2 Places are assigned in the order in which runs ask for them.
 */
export class Places {
  readonly #limit: number
  readonly #taken = new Set<object>()
  /** In order; a run is in it once. */
  readonly #queue = new Map<object, () => void>()
  #closed = false

  constructor(limit: number) {
    this.#limit = limit
  }

  /** True: the run has a place. False: it queues, and `onPlace` is called when it has one. */
  take(run: object, onPlace: () => void): boolean {
    if (this.#taken.has(run)) return true
    if (this.#queue.has(run)) return false
    if (this.#closed || this.#taken.size >= this.#limit || this.#queue.size > 0) {
      this.#queue.set(run, onPlace)
      return false
    }
    this.#taken.add(run)
    return true
  }

  /** The run needs no place any more, whether it has one or queues for one. */
  leave(run: object): void {
    this.#queue.delete(run)
    if (!this.#taken.delete(run)) return
    this.#fill()
  }

  #fill(): void {
    for (const [run, onPlace] of this.#queue) {
      if (this.#closed || this.#taken.size >= this.#limit) return
      this.#queue.delete(run)
      this.#taken.add(run)
      onPlace()
    }
  }

  get free(): number {
    return this.#limit - this.#taken.size
  }
  get queued(): number {
    return this.#queue.size
  }

  /** Stops assigning places. */
  close(): void {
    this.#closed = true
  }
}
