/**
 * Merges the journaled events of a run, read from the store, with its live events, which arrive through a channel, into the
 * order in which they happened.
 *
 * Invariants:
 * E1 Journaled events are delivered in the order of their numbers, each once.
 * E2 A live event is delivered after the journaled event whose number it has and before the next one. A live event that
 *    arrives too late is dropped and replaced by a gap.
 * E3 While a channel is open, a journaled event waits until the channel has reached it, since a live event before it may
 *    still be in transit.
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
  /** The number of the last journaled event that was delivered, or was not requested. */
  #delivered: number
  /** The number that the open channel has reached; undefined if no channel is open. */
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

  /** Adds the next events of the journal; `read` is the number up to which the journal was read. */
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

  /** The next event, or undefined if it is not known yet. */
  next(): RunEvent | undefined {
    const journaled = this.#journaled.peek()
    const live = this.#live.peek()
    if (live !== undefined && (journaled === undefined || live.seq < journaled.seq)) {
      // The event before it is not read yet, and no later event can be delivered first.
      if (live.seq > this.#read) return undefined
      this.#live.shift()
      return live.seq >= this.#delivered ? live : this.#late(live)
    }
    if (journaled === undefined || this.isHolding) return undefined
    this.#journaled.shift()
    this.#delivered = journaled.seq
    return journaled
  }

  /** E2. One gap replaces all late events. */
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
