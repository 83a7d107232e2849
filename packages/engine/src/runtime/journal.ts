/**
 * Write-ahead: entries become durable in order, and what follows from an entry is released after it (M2).
 * Entries that come while a write is under way go together in the next one. Without a store, or with one that
 * answers at once, nothing is ever queued.
 */
import type { Entry, RunId } from "../core/index.ts"
import { isPromise } from "./maybe-promise.ts"
import type { JournalRecord, Store } from "./store.ts"

export class Journal {
  readonly #store: Store | undefined
  readonly #runId: RunId
  readonly #onLost: (error: unknown) => void
  #seq = 0
  #pending: JournalRecord[] = []
  #held: (() => void)[] = []
  #writing = false
  #lost = false

  constructor(store: Store | undefined, runId: RunId, onLost: (error: unknown) => void) {
    this.#store = store
    this.#runId = runId
    this.#onLost = onLost
  }

  /** Goes on after records that were read back. */
  continueAfter(seq: number): void {
    this.#seq = seq
  }

  /** Whether an entry can be followed up at once, without being written anywhere. */
  get isVolatile(): boolean {
    return this.#store === undefined
  }

  get isIdle(): boolean {
    return !this.#writing && this.#pending.length === 0
  }

  write(frame: string, entry: Entry, events: number, whenDurable: () => void): void {
    if (this.#lost) return
    this.#pending.push({ seq: ++this.#seq, frame, entry, events })
    this.#held.push(whenDurable)
    if (!this.#writing) this.#flush()
  }

  /** Calls back once everything written so far is durable. */
  afterwards(callback: () => void): void {
    if (this.isIdle) callback()
    else if (!this.#lost) this.#held.push(callback)
  }

  #flush(): void {
    while (this.#pending.length > 0 && !this.#lost) {
      const records = this.#pending
      const held = this.#held
      this.#pending = []
      this.#held = []
      let written: Promise<void> | undefined
      this.#writing = true
      try {
        written = this.#store?.append(this.#runId, (records[0] as JournalRecord).seq - 1, records)
      } catch (error) {
        return this.#lose(error)
      }
      if (isPromise(written)) {
        written.then(
          () => {
            this.#writing = false
            for (const release of held) release()
            this.#flush()
          },
          (error) => this.#lose(error),
        )
        return
      }
      this.#writing = false
      for (const release of held) release()
    }
  }

  /** The store took no more: nothing that followed may happen. */
  #lose(error: unknown): void {
    this.#lost = true
    this.#held = []
    this.#onLost(error)
  }
}
