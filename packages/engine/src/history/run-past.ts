/**
 * The past of a run for many readers: its events, its outline and its view at any event. It is read from the journal once
 * and continued when the run has grown, so that a page of events or another point in time costs what it returns.
 *
 * Invariants:
 * P1 `viewAt(n)` is the fold of the first n events, without what has ended.
 * P2 a view costs at most `INTERVAL` events, however long the run is.
 */
import type { RunId } from "../core/index.ts"
import {
  type EventFilter,
  emptyView,
  matchesEvent,
  RunFold,
  RunOutline,
  type RunView,
  withoutEnded,
} from "../protocol/internal.ts"
import { type RunEvent, runUnknown, type Store } from "../runtime/index.ts"
import { EventReplay } from "../runtime/internal.ts"

const INTERVAL = 256

export interface EventPage {
  readonly events: readonly RunEvent[]
  /** How many events the run has so far. */
  readonly length: number
  /** More events match, in the direction that was read. */
  readonly more: boolean
}

export interface PageOptions extends EventFilter {
  /** Those that follow this number: the first ones. */
  readonly after?: number | undefined
  /** Those below this number: the last ones. */
  readonly before?: number | undefined
  readonly limit: number
}

export class RunPast {
  readonly outline = new RunOutline()
  readonly #store: Store
  readonly #runId: RunId
  readonly #replay: EventReplay
  readonly #events: RunEvent[] = []
  readonly #snapshots: RunView[] = [emptyView()]
  #fold = new RunFold()
  #records = 0
  #reading: Promise<void> | undefined

  constructor(store: Store, runId: RunId) {
    this.#store = store
    this.#runId = runId
    this.#replay = new EventReplay(store)
  }

  get length(): number {
    return this.#events.length
  }

  /** Reads what the run has recorded since. Rejects with RUN_UNKNOWN. */
  refresh(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  viewAt(seq: number): RunView {
    if (seq >= this.length) return withoutEnded(this.#fold.view)
    const base = Math.floor(seq / INTERVAL)
    const fold = new RunFold(this.#snapshots[base])
    for (let i = base * INTERVAL; i < seq; i++) fold.add(this.#events[i] as RunEvent)
    return withoutEnded(fold.view)
  }

  page({ after, before, limit, ...filter }: PageOptions): EventPage {
    const isBackward = before !== undefined
    const found: RunEvent[] = []
    let more = false
    let at = isBackward ? Math.min(before - 1, this.length) - 1 : (after ?? 0)
    for (; at >= 0 && at < this.length; at += isBackward ? -1 : 1) {
      const event = this.#events[at] as RunEvent
      if (isBackward && after !== undefined && event.seq <= after) break
      if (!matchesEvent(event, filter)) continue
      if (found.length === limit) {
        more = true
        break
      }
      found.push(event)
    }
    return { events: isBackward ? found.reverse() : found, length: this.length, more }
  }

  async #read(): Promise<void> {
    const records = await this.#store.read(this.#runId, this.#records)
    if (records.length === 0) {
      if (this.#records === 0) throw runUnknown(this.#runId)
      return
    }
    const events = await this.#replay.add(records, this.length)
    this.#records = records.at(-1)?.seq ?? this.#records
    for (const event of events) {
      this.#events.push(event)
      this.outline.add(event)
      this.#fold.add(event)
      if (this.length % INTERVAL > 0) continue
      const view = withoutEnded(this.#fold.view)
      this.#snapshots.push(view)
      this.#fold = new RunFold(view)
    }
  }
}
