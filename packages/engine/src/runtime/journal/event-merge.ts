/**
 * Merges the journaled events of a run, read from the store, with its live events, which come through a channel, into the
 * order in which they happened.
 *
 * Invariants:
 * E1 Journaled events are delivered in the order of their numbers, each once.
 * E2 A live event is delivered after the journaled event whose number it has and before the next one. One that comes too
 *    late for that is dropped, and a gap stands in its place.
 * E3 While a channel is open, a journaled event waits until the channel has reached it, since a live event before it may
 *    still be on its way.
 */
import { Fifo } from "../../core/internal.ts"
import type { RunEvent } from "../ports/events.ts"
import { EventBuffer, gapAt, lostWith } from "./event-stream.ts"

export class EventMerge {
  readonly #journaled = new Fifo<RunEvent>()
  readonly #live: EventBuffer
  readonly #after: number
  /** The number of the last journaled event that was read, delivered or not. */
  #read = 0
  /** The number of the last journaled event that was delivered, or was not asked for. */
  #delivered: number
  /** How far the open channel has come; undefined: none is open. */
  #reached: number | undefined

  constructor(after: number, maxLive?: number) {
    this.#after = after
    this.#delivered = after
    this.#live = new EventBuffer(maxLive)
  }

  get delivered(): number {
    return this.#delivered
  }

  /** The channel is ahead of what was read from the store. */
  get isBehind(): boolean {
    return (this.#reached ?? 0) > this.#read
  }

  /** Journaled events wait for the channel. */
  get isHolding(): boolean {
    return this.#reached !== undefined && (this.#journaled.peek()?.seq ?? 0) > this.#reached
  }

  /** Events of the journal that follow on those before; `read` is the number up to which it was read. */
  addJournaled(events: readonly RunEvent[], read: number): void {
    for (const event of events) this.#journaled.push(event)
    this.#read = read
  }

  /** From now on journaled events wait for a channel. */
  open(): void {
    this.#reached ??= 0
  }

  reach(seq: number): void {
    if (this.#reached !== undefined && seq > this.#reached) this.#reached = seq
  }

  addLive(event: RunEvent): void {
    this.reach(event.seq)
    if (event.seq >= this.#after) this.#live.push(event)
  }

  /** Journaled events wait for no channel. */
  close(): void {
    this.#reached = undefined
  }

  /** The next event, or undefined when the next one is not known yet. */
  next(): RunEvent | undefined {
    const journaled = this.#journaled.peek()
    const live = this.#live.peek()
    if (live !== undefined && (journaled === undefined || live.seq < journaled.seq)) {
      // What it follows on is not read yet, and nothing later can come before it.
      if (live.seq > this.#read) return undefined
      this.#live.shift()
      return live.seq >= this.#delivered ? live : this.#late(live)
    }
    if (journaled === undefined || this.isHolding) return undefined
    this.#journaled.shift()
    this.#delivered = journaled.seq
    return journaled
  }

  /** E2. One gap for all that are late. */
  #late(first: RunEvent): RunEvent {
    let lost = lostWith(0, first)
    for (
      let one = this.#live.peek();
      one !== undefined && one.seq < this.#delivered;
      one = this.#live.peek()
    ) {
      this.#live.shift()
      lost = lostWith(lost, one)
    }
    return gapAt({ ...first, seq: this.#delivered }, lost)
  }
}
