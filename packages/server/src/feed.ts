/**
 * One reader of a run's events for any number of watchers. The feed keeps the latest events; a watcher that is behind them
 * reads the store by itself until it has caught up. Live events that the feed no longer keeps are replaced by a `live.gap`.
 */
import type { RunEvent, Runtime } from "@superstep/engine"
import { isLive } from "@superstep/engine/protocol"

/** Events that a feed keeps. */
const MAX_KEPT = 2_000

interface Kept {
  readonly event: RunEvent
  /** The number of the last journaled event up to here. */
  readonly seq: number
}

export class Feeds {
  readonly #runtime: Runtime
  readonly #feeds = new Map<string, Feed>()

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  /** How many clients watch a run. */
  get watching(): number {
    let sum = 0
    for (const { watchers } of this.#feeds.values()) sum += watchers
    return sum
  }

  /** Events after the number `after`, until the run has ended or `signal` aborts. */
  async *watch(runId: string, after: number, signal: AbortSignal): AsyncGenerator<RunEvent> {
    let seq = after
    while (!signal.aborted) {
      const feed = this.#open(runId, seq)
      feed.watchers++
      try {
        // The run may be far ahead of this watcher: the store has what the feed no longer keeps.
        if (!feed.has(seq)) seq = yield* this.#past(runId, seq, feed, signal)
        if (signal.aborted) return
        const end = yield* feed.follow(seq, signal)
        if (end.over) return
        seq = end.seq
      } finally {
        if (--feed.watchers === 0) this.#close(runId, feed)
      }
    }
  }

  #open(runId: string, after: number): Feed {
    const existing = this.#feeds.get(runId)
    if (existing !== undefined) return existing
    const feed = new Feed(after)
    this.#feeds.set(runId, feed)
    void feed.read(this.#runtime.get(runId).events({ after })).finally(() => {
      if (this.#feeds.get(runId) === feed) this.#feeds.delete(runId)
    })
    return feed
  }

  #close(runId: string, feed: Feed): void {
    feed.stop()
    if (this.#feeds.get(runId) === feed) this.#feeds.delete(runId)
  }

  async *#past(
    runId: string,
    after: number,
    feed: Feed,
    signal: AbortSignal,
  ): AsyncGenerator<RunEvent, number> {
    let seq = after
    const events = this.#runtime.get(runId).events({ after })[Symbol.asyncIterator]()
    try {
      while (!signal.aborted && !feed.has(seq)) {
        const { done, value } = await events.next()
        if (done) break
        yield value
        seq = value.seq
      }
    } finally {
      await events.return?.()
    }
    return seq
  }
}

class Feed {
  watchers = 0
  /** Of the events that are kept, the first one follows the journaled event with this number. */
  #from: number
  /** Live events that followed that journaled event were dropped. */
  #hasGap = false
  #kept: Kept[] = []
  /** How many events were dropped before `#kept`. */
  #dropped = 0
  /** How many were dropped up to the last live one among them. */
  #droppedLive = 0
  #seq: number
  #isOver = false
  #failure: unknown
  #wake: (() => void)[] = []
  #events: AsyncIterator<RunEvent> | undefined

  constructor(after: number) {
    this.#from = after
    this.#seq = after
  }

  /** Whether the event after the number `seq` is kept, or still to come. */
  has(seq: number): boolean {
    return seq >= this.#from
  }

  async read(events: AsyncIterable<RunEvent>): Promise<void> {
    const iterator = events[Symbol.asyncIterator]()
    this.#events = iterator
    try {
      for (;;) {
        const { done, value } = await iterator.next()
        if (done) break
        this.#add(value)
      }
    } catch (error) {
      this.#failure = error
    }
    this.#isOver = true
    this.#wakeAll()
  }

  stop(): void {
    void this.#events?.return?.()
  }

  #add(event: RunEvent): void {
    this.#seq = Math.max(this.#seq, event.seq)
    this.#kept.push({ event, seq: this.#seq })
    if (this.#kept.length > 2 * MAX_KEPT) {
      const dropped = this.#kept.splice(0, MAX_KEPT)
      const lastLive = dropped.findLastIndex(({ event: one }) => isLive(one))
      if (lastLive !== -1) this.#droppedLive = this.#dropped + lastLive + 1
      this.#dropped += dropped.length
      const last = dropped.at(-1)?.seq ?? this.#from
      this.#hasGap =
        (this.#hasGap && last === this.#from) || dropped.some((one) => one.seq === last && isLive(one.event))
      this.#from = last
    }
    this.#wakeAll()
  }

  #wakeAll(): void {
    const wake = this.#wake
    this.#wake = []
    for (const one of wake) one()
  }

  /** Returns when the run has ended, or when this watcher is too slow for what the feed keeps. */
  async *follow(
    after: number,
    signal: AbortSignal,
  ): AsyncGenerator<RunEvent, { readonly over: boolean; readonly seq: number }> {
    const first = this.#kept.findIndex(({ event, seq }) => seq > after || (seq === after && isLive(event)))
    let at = this.#dropped + (first === -1 ? this.#kept.length : first)
    let seq = after
    const next = this.#kept[first]
    // Journaled events are read from the store again. Live ones are gone: the watcher learns that, not how many it has seen.
    if (after === this.#from && this.#hasGap && next !== undefined) yield gapAt(after, next.event)
    for (;;) {
      if (at < this.#dropped) {
        const [kept] = this.#kept
        // It continues in the store, which has no live events. If it can continue here, the next call reports the gap.
        if (at < this.#droppedLive && !this.has(seq) && kept !== undefined) yield gapAt(seq, kept.event)
        return { over: false, seq }
      }
      const kept = this.#kept[at - this.#dropped]
      if (kept !== undefined) {
        at++
        seq = kept.seq
        yield kept.event
      } else if (this.#failure !== undefined) throw this.#failure
      else if (this.#isOver || signal.aborted) return { over: true, seq }
      else await this.#next(signal)
    }
  }

  #next(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        signal.removeEventListener("abort", done)
        resolve()
      }
      signal.addEventListener("abort", done, { once: true })
      this.#wake.push(done)
    })
  }
}

function gapAt(seq: number, { runId, at }: RunEvent): RunEvent {
  return { type: "live.gap", runId, seq: Math.max(1, seq), at, path: [] }
}
