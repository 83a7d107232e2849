/**
 * The events of a run that this process does not execute: journaled events from the store, live events from the process that
 * executes the run, if any. The store is polled at an interval, and at once when the channel signals progress.
 */
import type { Graph, RunId } from "../../core/index.ts"
import { EventMerge } from "../journal/event-merge.ts"
import { gapAt } from "../journal/event-stream.ts"
import { EventReplay } from "../journal/replay-events.ts"
import type { Clock } from "../ports/clock.ts"
import type { RunEvent } from "../ports/events.ts"
import type { LiveListener, LiveSignal, LiveSubscription } from "../ports/live-channel.ts"
import { hasEnded, type StoredRun } from "../ports/stored.ts"
import type { Keeper } from "./keeper.ts"

/** Milliseconds between two polls. */
export const LOOK = 250
/** Milliseconds for which journaled events wait for a silent channel. */
const PATIENCE = 1_000

export interface FollowedEventsOptions {
  /** Events after this number. */
  readonly after: number
  /** Only live events from now on; otherwise also recent ones after that number. */
  readonly isFromNow: boolean
  readonly graph?: Graph | undefined
}

export class FollowedEvents {
  readonly #runId: RunId
  readonly #keeper: Keeper
  readonly #clock: Clock
  readonly #options: FollowedEventsOptions
  readonly #merge: EventMerge
  #link: Link | undefined
  /** The last link that was open. */
  #opened: Link | undefined
  #wake: (() => void) | undefined
  #isOver = false
  /** The channel was closed since the last poll. */
  #hasClosed = false
  /** The number of the last journaled event up to which live events were seen. */
  #seen = 0
  /** Live events may be missing, and the watcher was notified. */
  #isBlind = true
  /** Since when the channel is waited for. */
  #waitingSince: number | undefined

  constructor(runId: RunId, keeper: Keeper, clock: Clock, options: FollowedEventsOptions) {
    this.#runId = runId
    this.#keeper = keeper
    this.#clock = clock
    this.#options = options
    this.#merge = new EventMerge(options.after)
  }

  /** Until the run has ended. `row` reads the run's row, and throws for an unknown run. */
  async *events(row: () => Promise<StoredRun>): AsyncGenerator<RunEvent, void, undefined> {
    const { store } = this.#keeper
    const replay = new EventReplay(store, this.#options.graph)
    let seq = 0
    try {
      for (;;) {
        this.#hasClosed = false
        const found = await row()
        this.#connect(found)
        if (found.seq > seq) {
          const records = await store.read(this.#runId, seq)
          seq = records.at(-1)?.seq ?? seq
          this.#merge.addJournaled(await replay.add(records, this.#options.after), replay.seq)
          this.#checkSeen(replay.seq)
        }
        this.#isOver = hasEnded(found)
        yield* this.#due()
        if (this.#isOver && this.#link?.isClosed !== false) return
        yield* this.#untilNextLook()
      }
    } finally {
      this.#link?.leave()
    }
  }

  *#due(): Generator<RunEvent> {
    for (let event = this.#merge.next(); event !== undefined; event = this.#merge.next()) yield event
    this.#checkPatience()
  }

  /** Events from the channel, until the next poll. */
  async *#untilNextLook(): AsyncGenerator<RunEvent> {
    let isDue = false
    const cancel = this.#clock.setTimer(this.#clock.now() + LOOK, () => {
      isDue = true
      this.#wake?.()
    })
    try {
      for (;;) {
        yield* this.#due()
        if (isDue || this.#merge.isBehind || this.#hasClosed) return
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
      }
    } finally {
      this.#wake = undefined
      cancel()
    }
  }

  // The channel

  /** Subscribes to the process that executes the run, unless it is subscribed already. */
  #connect(row: StoredRun): void {
    const { holder } = row
    const link = this.#link
    if (holder === undefined || hasEnded(row)) {
      // A run that no process executes has no live events. The last ones of an ended run may be in transit.
      if (holder === undefined && !hasEnded(row)) this.#leave()
      return
    }
    if (link?.holder === holder && (!link.isClosed || this.#clock.now() < link.tryAgainAt)) return
    this.#leave()
    const next = new Link(holder, this.#clock.now() + LOOK)
    this.#link = next
    // An unreachable holder is retried; the journal does not wait for it.
    if (link?.holder !== holder || link.isOpen) this.#merge.open()
    const query = { runId: this.#runId, from: this.#from(holder) }
    const listener: LiveListener = (signal) => this.#take(next, signal)
    const { live } = this.#keeper.store
    if (holder === this.#keeper.id) next.subscribed(this.#keeper.follow(query, listener))
    else if (live !== undefined) next.subscribed(live.subscribe(holder, query, listener))
    else this.#take(next, { type: "closed", reason: "lost" })
  }

  /** Events of a later holder are all new. Those of the same holder may be known already. */
  #from(holder: string): number | undefined {
    const before = this.#opened
    if (before === undefined) return this.#options.isFromNow ? undefined : this.#options.after + 1
    return before.holder === holder && !before.hasLeft ? undefined : this.#merge.delivered
  }

  #leave(): void {
    this.#link?.leave()
    this.#merge.close()
  }

  #take(link: Link, signal: LiveSignal): void {
    if (link !== this.#link) return
    const merge = this.#merge
    this.#waitingSince = undefined
    switch (signal.type) {
      case "opened":
        if (signal.missed > 0) this.#addGap(this.#countMissed(signal.missed))
        link.isOpen = true
        this.#opened = link
        this.#isBlind = false
        merge.open()
        break
      case "event":
        this.#seen = signal.event.seq
        merge.addLive(signal.event)
        break
      case "reached":
        this.#seen = signal.seq
        merge.reach(signal.seq)
        break
      case "closed":
        this.#hasClosed = true
        link.isClosed = true
        link.hasLeft = signal.reason === "left"
        // Events in transit are lost with the process that sent them.
        if (signal.reason === "lost" && link.isOpen) this.#goBlind()
        merge.close()
    }
    this.#wake?.()
  }

  /** A watcher that rejoins has seen an unknown number of the dropped events. */
  #countMissed(forgotten: number): number | undefined {
    return this.#opened === undefined && this.#options.after > 0 ? undefined : forgotten
  }

  /** The run was executed where it could not be watched, perhaps only between two polls. */
  #checkSeen(read: number): void {
    if (read > this.#seen && this.#link?.isClosed !== false) this.#goBlind()
  }

  /** One gap replaces everything that is missing until a channel is open again. */
  #goBlind(): void {
    if (!this.#isBlind) this.#addGap(undefined)
    this.#isBlind = true
  }

  #addGap(lost: number | undefined): void {
    const seq = Math.max(1, this.#seen, this.#merge.delivered)
    this.#merge.addLive(gapAt({ runId: this.#runId, seq, at: this.#clock.now() }, lost))
  }

  /** A stopped holder is silent, and its run may have ended: events of the store are delivered anyway. */
  #checkPatience(): void {
    if (!this.#merge.isHolding && !this.#isOver) {
      this.#waitingSince = undefined
      return
    }
    this.#waitingSince ??= this.#clock.now()
    if (this.#clock.now() - this.#waitingSince >= PATIENCE) this.#leave()
  }
}

/** The subscription with one holder. */
class Link {
  readonly holder: string
  readonly tryAgainAt: number
  isOpen = false
  isClosed = false
  /** The holder did not execute the run any more. */
  hasLeft = false
  #subscription: LiveSubscription | undefined

  constructor(holder: string, tryAgainAt: number) {
    this.holder = holder
    this.tryAgainAt = tryAgainAt
  }

  subscribed(subscription: LiveSubscription): void {
    this.#subscription = subscription
  }

  leave(): void {
    this.isClosed = true
    this.#subscription?.leave()
  }
}
