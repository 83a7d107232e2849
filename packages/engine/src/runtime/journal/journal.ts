/**
 * Write-ahead: entries become durable in order, and an entry's effects are released after it is durable (M2). Entries
 * that arrive during a write are batched into the next one. With a synchronous store, nothing is ever queued.
 */
import type { Entry } from "../../core/index.ts"
import { freezeData } from "../../core/internal.ts"
import { fromUser, isPromise, type MaybePromise } from "../ports/maybe-promise.ts"
import type { Store } from "../ports/store.ts"
import type { JournalRecord, Lease, RunChange } from "../ports/stored.ts"
import type { RunRow } from "./run-row.ts"

/** The owner of the journal. */
interface JournalOwner<Held> {
  /** Releases what was held back for an entry: the entry is durable. */
  follow(held: Held): void
  /** The store rejected a write. What is still held back is dropped. */
  lose(error: unknown, dropped: readonly Held[]): void
}

export class Journal<Held> {
  readonly #store: Store
  #lease: Lease | undefined
  readonly #row: RunRow | undefined
  readonly #owner: JournalOwner<Held>
  #seq = 0
  #pending: JournalRecord[] = []
  #held: Held[] = []
  /** What the write in progress releases. */
  #inFlight: Held[] = []
  #writing = false
  #grouping = false
  #lost = false

  constructor(store: Store, row: RunRow | undefined, owner: JournalOwner<Held>) {
    this.#store = store
    this.#row = row
    this.#owner = owner
  }

  /** Opens the journal for writes under the lease, after the record with this number. */
  open(lease: Lease, seq: number): void {
    this.#lease = lease
    this.#seq = seq
  }

  /** The number of the last entry that was written, durable or not. */
  get seq(): number {
    return this.#seq
  }

  /** Accepts and releases nothing more. */
  close(): void {
    this.#lost = true
    this.#held = []
    this.#inFlight = []
  }

  get isIdle(): boolean {
    return !this.#writing && this.#pending.length === 0
  }

  /** Stores an entry, and releases what is held back for it once it is durable. */
  write(frame: string, entry: Entry, events: number, held: Held): void {
    if (this.#lost) return
    // A store is code outside, and all runs of a workflow share its routes.
    if (entry.type === "task.finished") for (const { route } of entry.sends) freezeData(route)
    this.#pending.push({ seq: ++this.#seq, frame, entry, events })
    this.#held.push(held)
    if (!this.#writing && !this.#grouping) this.#flush()
  }

  /** Everything that `write` writes becomes durable together, or not at all. */
  group(write: () => void): void {
    if (this.#grouping) return write()
    this.#grouping = true
    try {
      write()
    } finally {
      this.#grouping = false
    }
    if (!this.#writing) this.#flush()
  }

  /** Releases `held` once everything written so far is durable. */
  afterwards(held: Held): void {
    if (this.#lost) return
    if (this.isIdle) this.#owner.follow(held)
    else if (this.#pending.length === 0) this.#inFlight.push(held)
    else this.#held.push(held)
  }

  #flush(): void {
    while (this.#pending.length > 0 && !this.#lost && !this.#writing) {
      const records = this.#pending
      this.#inFlight = this.#held
      this.#pending = []
      this.#held = []
      let written: MaybePromise<unknown>
      let change: RunChange | undefined
      this.#writing = true
      try {
        const before = (records[0] as JournalRecord).seq - 1
        change = this.#row?.take()
        written = fromUser<unknown>(this.#store.append(this.#lease as Lease, before, records, change))
      } catch (error) {
        return this.#lose(error)
      }
      if (isPromise(written)) {
        written.then(
          () => {
            this.#wrote(change)
            if (!this.#writing) this.#flush()
          },
          (error) => this.#lose(error),
        )
        return
      }
      this.#wrote(change)
    }
  }

  #wrote(change: RunChange | undefined): void {
    if (change !== undefined) this.#row?.wrote(change)
    const held = this.#inFlight
    this.#inFlight = []
    this.#writing = false
    for (const one of held) this.#owner.follow(one)
  }

  /** The store rejected a write: none of the later effects may happen. */
  #lose(error: unknown): void {
    this.#lost = true
    const dropped = [...this.#inFlight, ...this.#held]
    this.#held = []
    this.#inFlight = []
    this.#owner.lose(error, dropped)
  }
}
