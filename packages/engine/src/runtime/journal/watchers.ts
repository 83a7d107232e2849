/** The watchers of a run: each gets every event in order, numbered across the whole run. */
import type { MachineEvent, RunId } from "../../core/index.ts"
import { freezeData } from "../../core/internal.ts"
import { type LiveEvent, type RunEvent, withOuterIds } from "../ports/events.ts"
import type { LiveListener, LiveQuery, LiveSubscription } from "../ports/live-channel.ts"
import { EventStream } from "./event-stream.ts"

/** Where an event comes from: a run, or a workflow nested in it. */
interface Source {
  readonly key: string
  readonly path: readonly string[]
}

/** The run that is watched. */
interface WatchedRun {
  readonly runId: RunId
  /** The first watcher joined, or the last one left. */
  watchersChanged(): void
}

export class Watchers {
  readonly #run: WatchedRun
  #streams: Set<EventStream> | undefined
  /** Absent if only the host can watch the run. */
  readonly #audience: LiveAudience | undefined
  /** Live events are also created for watchers that join a little later. */
  readonly keepsRecent: boolean
  #recent: RecentEvents | undefined
  /** The number of the last event that was due, watched or not. */
  #last = 0

  /** `isShared`: others than its caller can watch the run. `keepsRecent`: somebody may begin to watch a little later. */
  constructor(run: WatchedRun, isShared: boolean, keepsRecent: boolean) {
    this.#run = run
    this.keepsRecent = isShared || keepsRecent
    if (isShared) this.#audience = new LiveAudience(run)
  }

  /** The run has a watcher: journaled events are created. */
  get any(): boolean {
    return this.hasStreams || this.#audience?.any === true
  }

  /** The run has a watcher, or another process may begin to watch at any time: live events are created. */
  get mayHaveAny(): boolean {
    return this.#audience !== undefined || this.hasStreams
  }

  get hasStreams(): boolean {
    return this.#streams !== undefined && this.#streams.size > 0
  }

  /** Adds a follower that reads journaled events from the store. */
  follow(query: LiveQuery, listener: LiveListener): LiveSubscription {
    if (this.#audience !== undefined) return this.#audience.add(query, listener, this.#last, this)
    listener({ type: "closed", reason: "left" })
    return { leave: () => undefined }
  }

  add(): EventStream {
    const stream: EventStream = new EventStream(() => {
      this.#streams?.delete(stream)
      this.#run.watchersChanged()
    })
    this.#streams ??= new Set()
    this.#streams.add(stream)
    this.#run.watchersChanged()
    return stream
  }

  emit({ key, path }: Source, seq: number, at: number, event: MachineEvent): void {
    this.#last = seq
    this.#push({ runId: this.#run.runId, seq, at, path, ...withOuterIds(key, event) }, false)
    this.#audience?.reached(seq)
  }

  /** Live events are not numbered: they have the number of the last one that was. */
  emitLive({ path }: Source, at: number, event: LiveEvent): void {
    if (!this.hasStreams && !this.keepsRecent) return
    const made: RunEvent = { runId: this.#run.runId, seq: this.#last, at, path, ...event }
    this.#push(made, true)
    if (this.keepsRecent) {
      this.#recent ??= new RecentEvents()
      this.#recent.push(made)
    }
    this.#audience?.event(made)
  }

  /** Recent live events with this number or a higher one. */
  recent(seq: number): readonly RunEvent[] {
    return this.#recent?.since(seq) ?? []
  }

  /** How many live events are forgotten, if one of those has this number or a higher one. */
  missedSince(seq: number): number {
    return this.#recent?.missedSince(seq) ?? 0
  }

  /** Events up to this number were emitted, watched or not. */
  advanceTo(seq: number): void {
    if (seq <= this.#last) return
    this.#last = seq
    this.#audience?.reached(seq)
  }

  end(): void {
    if (this.#streams !== undefined) for (const stream of this.#streams) stream.end()
    this.#streams = undefined
    this.#audience?.close("over")
  }

  fail(error: unknown): void {
    for (const stream of this.#streams ?? []) stream.fail(error)
    this.#streams = undefined
    this.leave()
  }

  /** The run is no longer executed here: its followers look for it elsewhere. */
  leave(): void {
    this.#audience?.close("left")
  }

  /** All watchers get the same event, and parts of it are the machine's: none of them can change either (V1). */
  #push(event: RunEvent, live: boolean): void {
    if (this.#streams?.size === 1 && HAS_OWNED_PARTS.has(event.type)) {
      if (event.type === "task.finished") {
        freezeData(event.sends)
        freezeData(event.settled)
      }
    } else freezeData(event)
    for (const stream of this.#streams ?? []) stream.push(event, live)
  }
}

/**
 * Events that a run creates for every task. Apart from a task's messages and error, their parts are frozen values that the
 * run owns, so a single watcher gets the event itself, unfrozen. Freezing an event costs as much as creating it.
 */
const HAS_OWNED_PARTS: ReadonlySet<RunEvent["type"]> = new Set<RunEvent["type"]>([
  "task.started",
  "task.finished",
  "superstep.started",
  "superstep.committed",
])

/** Followers in this and other processes. They read journaled events from the store, and get live events from here. */
class LiveAudience {
  readonly #listeners = new Set<LiveListener>()
  readonly #run: WatchedRun

  constructor(run: WatchedRun) {
    this.#run = run
  }

  get any(): boolean {
    return this.#listeners.size > 0
  }

  /** `reached` is the number of the last journaled event. */
  add(
    { from }: LiveQuery,
    listener: LiveListener,
    reached: number,
    past: Pick<Watchers, "recent" | "missedSince">,
  ): LiveSubscription {
    listener({ type: "opened", missed: from === undefined ? 0 : past.missedSince(from) })
    if (from !== undefined) for (const event of past.recent(from)) listener({ type: "event", event })
    listener({ type: "reached", seq: reached })
    this.#listeners.add(listener)
    this.#run.watchersChanged()
    return {
      leave: () => {
        if (this.#listeners.delete(listener)) this.#run.watchersChanged()
      },
    }
  }

  event(event: RunEvent): void {
    for (const listener of this.#listeners) listener({ type: "event", event })
  }

  reached(seq: number): void {
    for (const listener of this.#listeners) listener({ type: "reached", seq })
  }

  close(reason: "over" | "left"): void {
    const listeners = [...this.#listeners]
    this.#listeners.clear()
    for (const listener of listeners) listener({ type: "closed", reason })
  }
}

/** At least this many are kept, at most twice as many, so that trimming is amortized. */
const RECENT = 128

/** The last live events of a run, for watchers that join after the run began. */
class RecentEvents {
  #events: RunEvent[] = []
  #forgotten = 0
  /** The number of the last one that was forgotten. */
  #forgottenAt = -1

  push(event: RunEvent): void {
    this.#events.push(event)
    if (this.#events.length <= 2 * RECENT) return
    const cut = this.#events.splice(0, this.#events.length - RECENT)
    this.#forgotten += cut.length
    this.#forgottenAt = cut.at(-1)?.seq ?? this.#forgottenAt
  }

  /** Those with this number or a higher one. */
  since(seq: number): readonly RunEvent[] {
    return this.#events.filter((event) => event.seq >= seq)
  }

  /** How many are forgotten, if one of those has this number or a higher one. */
  missedSince(seq: number): number {
    return this.#forgottenAt >= seq ? this.#forgotten : 0
  }
}
