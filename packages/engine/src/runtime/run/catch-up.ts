/**
 * Tracks attempts that replay their records after a restart or a retry. A limit that another task reaches meanwhile waits
 * for them: otherwise it would end them with less work than is recorded.
 */
import type { TaskId } from "../../core/index.ts"
import { NO_ENTRIES, NO_ITEMS, pushSized, putEntry, removeEntry } from "../../core/internal.ts"

interface CatchUpHost {
  now(): number
  armTimer(at: number, callback: () => void): () => void
}

/** Milliseconds after which handlers that do not read their records are not waited for: their code may have changed. */
const PATIENCE = 5_000

export class CatchUp {
  readonly #host: CatchUpHost
  /** By task: how many of its records its handler has not read. */
  #behind: ReadonlyMap<string, number> = NO_ENTRIES
  #waiting: readonly (() => void)[] = NO_ITEMS
  #disarm: (() => void) | undefined

  constructor(host: CatchUpHost) {
    this.#host = host
  }

  get isBehind(): boolean {
    return this.#behind.size > 0
  }

  begin(frame: string, task: TaskId, records: number): void {
    if (records > 0) this.#behind = putEntry(this.#behind, `${frame} ${task}`, records)
  }

  read(frame: string, task: TaskId): void {
    if (!this.isBehind) return
    const key = `${frame} ${task}`
    const left = this.#behind.get(key)
    if (left === undefined) return
    if (left > 1) this.#behind = putEntry(this.#behind, key, left - 1)
    else this.#end(key)
  }

  /** The attempt has ended. */
  end(frame: string, task: TaskId): void {
    if (this.isBehind) this.#end(`${frame} ${task}`)
  }

  #end(key: string): void {
    if (removeEntry(this.#behind, key) && this.#behind.size === 0) this.#release()
  }

  /** Acts once every handler has replayed its records and completed its synchronous follow-up work. */
  afterwards(act: () => void): void {
    this.#waiting = pushSized(this.#waiting, act)
    this.#disarm ??= this.#host.armTimer(this.#host.now() + PATIENCE, () => {
      this.#behind = NO_ENTRIES
      this.#release()
    })
  }

  #release(): void {
    this.#disarm?.()
    this.#disarm = undefined
    const waiting = this.#waiting
    this.#waiting = NO_ITEMS
    if (waiting.length > 0) setImmediate(() => waiting.forEach((act) => act()))
  }
}
