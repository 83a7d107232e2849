/**
 * When a run's state is saved, so that recovery reads little. A snapshot is written after at least its own size, four
 * times over, in journal: all of them together are a fraction of the journal, however large the state grows.
 */
import type { Json } from "../core/index.ts"
import type { RunSnapshot } from "./loaded-run.ts"
import type { Store } from "./store.ts"
import type { Lease } from "./stored.ts"

/** Entries between snapshots, at the least. */
const EVERY = 250
const SHARE = 4

const intervals = new WeakMap<Store, number>()

/** For tests of recovery: the runs of this store are saved every so many entries, whatever that costs. */
export function saveEvery(store: Store, entries: number): void {
  intervals.set(store, entries)
}

export class Snapshots {
  readonly #store: Store
  readonly #every: number
  readonly #share: number
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
    this.#next = seq + this.#every
  }

  isDue(seq: number): boolean {
    return seq >= this.#next && !this.#saving
  }

  /** Saves the state after the record `seq`, once `durable` says that it is there. What fails is tried again later. */
  save(lease: Lease, seq: number, snapshot: RunSnapshot, afterDurable: (then: () => void) => void): void {
    this.#saving = true
    this.#next = seq + this.#every
    afterDurable(() => {
      this.#write(lease, seq, snapshot).then(
        ({ bytes, journal }) => {
          this.#next = Math.max(
            this.#next,
            seq + Math.ceil((this.#share * bytes * seq) / Math.max(journal, 1)),
          )
          this.#saving = false
        },
        () => {
          this.#saving = false
        },
      )
    })
  }

  async #write(
    lease: Lease,
    seq: number,
    snapshot: RunSnapshot,
  ): Promise<{ bytes: number; journal: number }> {
    return await this.#store.saveSnapshot(lease, { seq, data: snapshot as unknown as Json })
  }
}
