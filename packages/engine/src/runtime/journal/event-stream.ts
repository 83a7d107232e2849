/** Delivers the events of a run to one watcher in the process that executes it. */

import { Fifo, freezeData } from "../../core/internal.ts"
import { isLive, type RunEvent } from "../ports/events.ts"

/** Events for one watcher, in order, from its first call until the run has ended or it leaves. */
export class EventStream implements AsyncIterableIterator<RunEvent> {
  readonly #buffer = new EventBuffer()
  readonly #onLeave: () => void
  #waiting: { resolve: (result: IteratorResult<RunEvent>) => void; reject: (error: unknown) => void }[] = []
  #ended = false
  #failure: { readonly error: unknown } | undefined

  constructor(onLeave: () => void) {
    this.#onLeave = onLeave
  }

  push(event: RunEvent, live: boolean): void {
    if (this.#ended) return
    const next = this.#waiting.shift()
    if (next === undefined) this.#buffer.push(event, live)
    else next.resolve({ value: event, done: false })
  }

  /** Events that have arrived and were not consumed. */
  *taken(): Generator<RunEvent> {
    for (let event = this.#buffer.shift(); event !== undefined; event = this.#buffer.shift()) yield event
  }

  end(): void {
    this.#ended = true
    for (const next of this.#waiting) next.resolve({ value: undefined, done: true })
    this.#waiting = []
  }

  /** The run could not start, or not continue: the watcher gets the error after all earlier events. */
  fail(error: unknown): void {
    if (this.#ended) return
    this.#ended = true
    const [first, ...others] = this.#waiting
    this.#waiting = []
    if (first === undefined) this.#failure = { error }
    else first.reject(error)
    for (const next of others) next.resolve({ value: undefined, done: true })
  }

  next(): Promise<IteratorResult<RunEvent>> {
    const event = this.#buffer.shift()
    if (event !== undefined) return Promise.resolve({ value: event, done: false })
    const failure = this.#failure
    this.#failure = undefined
    if (failure !== undefined) return Promise.reject(failure.error)
    if (this.#ended) return Promise.resolve({ value: undefined, done: true })
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
  }

  /** Stops watching. The run continues. */
  return(): Promise<IteratorResult<RunEvent>> {
    this.#onLeave()
    this.#buffer.clear()
    this.end()
    return Promise.resolve({ value: undefined, done: true })
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}

const MAX_LIVE = 10_000

/**
 * Events that a watcher has not taken yet, in order. It keeps a bounded number of live events, so that a slow watcher costs
 * the run neither time nor memory: further ones are dropped, and a `live.gap` event with their number replaces them.
 */
export class EventBuffer {
  readonly #events = new Fifo<RunEvent>()
  readonly #maxLive: number
  #live = 0
  /** The gap after the last event, if any. */
  #gap: (RunEvent & { readonly type: "live.gap" }) | undefined

  constructor(maxLive: number = MAX_LIVE) {
    this.#maxLive = maxLive
  }

  get isEmpty(): boolean {
    return this.#events.size === 0 && this.#gap === undefined
  }

  push(event: RunEvent, live: boolean = isLive(event)): void {
    if (live && this.#live >= this.#maxLive) {
      this.#gap = gapAt(this.#gap ?? event, lostWith(this.#gap === undefined ? 0 : this.#gap.lost, event))
      return
    }
    if (this.#gap !== undefined) {
      this.#events.push(this.#gap)
      this.#live++
      this.#gap = undefined
    }
    if (live) this.#live++
    this.#events.push(event)
  }

  peek(): RunEvent | undefined {
    return this.#events.peek() ?? this.#gap
  }

  shift(): RunEvent | undefined {
    const event = this.#events.shift()
    if (event === undefined) {
      const gap = this.#gap
      this.#gap = undefined
      return gap
    }
    if (this.#live > 0 && isLive(event)) this.#live--
    return event
  }

  clear(): void {
    this.#events.clear()
    this.#live = 0
    this.#gap = undefined
  }
}

/** A gap in place of the event; `lost` is undefined if the number of missing events is unknown. */
export function gapAt(
  { runId, seq, at }: Pick<RunEvent, "runId" | "seq" | "at">,
  lost: number | undefined,
): RunEvent & { readonly type: "live.gap" } {
  return freezeData({ runId, seq, at, path: [], type: "live.gap", ...(lost === undefined ? {} : { lost }) })
}

/** How many events are missing after one more is dropped; undefined if unknown. A gap counts as the events it replaces. */
export function lostWith(lost: number | undefined, dropped: RunEvent): number | undefined {
  const more = dropped.type === "live.gap" ? dropped.lost : 1
  return lost === undefined || more === undefined ? undefined : lost + more
}
