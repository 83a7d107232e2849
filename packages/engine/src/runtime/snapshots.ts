/**
 * When a run's state is saved, so that recovery reads little: every so many entries, if what was journaled since the last
 * time is at least twice the state. All snapshots together are a fraction of the journal, and a state that only grows,
 * which is as quick to read from its journal, costs none.
 */
import type { Json } from "../core/index.ts"
import type { RunSnapshot } from "./loaded-run.ts"
import type { Store } from "./store.ts"
import type { Lease } from "./stored.ts"

/** Entries between snapshots, at the least. */
const EVERY = 250
/** How often over its own size must have been journaled: to read it back must be less than to read that. */
const SHARE = 2

const intervals = new WeakMap<Store, number>()

/** For tests of recovery: the runs of this store are saved every so many entries, whatever that costs. */
export function saveEvery(store: Store, entries: number): void {
  intervals.set(store, entries)
}

export class Snapshots {
  readonly #store: Store
  readonly #every: number
  readonly #share: number
  /** The last one: after which record, and how large the journal was then, as far as that is known. */
  #last = { seq: 0, journal: 0 }
  #next: number
  #saving = false

  constructor(store: Store) {
    const interval = intervals.get(store)
    this.#store = store
    this.#every = interval ?? EVERY
    this.#share = interval === undefined ? SHARE : 0
    this.#next = this.#every
  }

  /** The run was saved after this record; 0: never. */
  continueAfter(seq: number): void {
    this.#last = { seq, journal: 0 }
    this.#next = seq + this.#every
  }

  isDue(seq: number): boolean {
    return seq >= this.#next && !this.#saving
  }

  /** Saves the state after the record `seq`, once that is durable, if it pays. What fails is tried again later. */
  save(lease: Lease, seq: number, snapshot: RunSnapshot, afterDurable: (then: () => void) => void): void {
    this.#saving = true
    this.#next = seq + this.#every
    afterDurable(() => {
      this.#write(lease, seq, snapshot)
        .catch(() => undefined)
        .finally(() => {
          this.#saving = false
        })
    })
  }

  async #write(lease: Lease, seq: number, snapshot: RunSnapshot): Promise<void> {
    const size = JSON.stringify(snapshot).length * this.#share
    const run = size === 0 ? undefined : await this.#store.run(lease.runId)
    const grown = (run?.bytes ?? 0) - this.#last.journal
    const { seq: before } = this.#last
    const perRecord = grown / Math.max(seq - before, 1)
    if (size > grown) return this.#wait(seq, before, size, perRecord)
    const { journal } = await this.#store.saveSnapshot(lease, { seq, data: snapshot as unknown as Json })
    this.#last = { seq, journal }
    this.#wait(seq, seq, size, perRecord)
  }

  /** Until the journal since `from` has grown by so much, going by what a record adds. */
  #wait(seq: number, from: number, size: number, perRecord: number): void {
    const needed = perRecord > 0 ? Math.ceil(size / perRecord) : 0
    this.#next = Math.max(seq + this.#every, from + needed)
  }
}
