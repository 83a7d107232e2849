/**
 * Attempts that read their records again, after a restart or a retry. A limit that another task reaches meanwhile waits
 * for them: otherwise it would end them with less work than the journal has.
 */
import type { TaskId } from "../../core/index.ts"

interface CatchUpHost {
  now(): number
  armTimer(at: number, callback: () => void): () => void
}

/** Milliseconds after which handlers that do not read their records are not waited for: their code may have changed. */
const PATIENCE = 5_000

export class CatchUp {
  readonly #host: CatchUpHost
  /** By task: how many of its records its handler has not read. */
  readonly #behind = new Map<string, number>()
  #waiting: (() => void)[] = []
  #disarm: (() => void) | undefined

  constructor(host: CatchUpHost) {
    this.#host = host
  }

  get isBehind(): boolean {
    return this.#behind.size > 0
  }

  begin(frame: string, task: TaskId, records: number): void {
    if (records > 0) this.#behind.set(`${frame} ${task}`, records)
  }

  read(frame: string, task: TaskId): void {
    const key = `${frame} ${task}`
    const left = this.#behind.get(key)
    if (left === undefined) return
    if (left > 1) this.#behind.set(key, left - 1)
    else this.#end(key)
  }

  /** The attempt is over. */
  end(frame: string, task: TaskId): void {
    this.#end(`${frame} ${task}`)
  }

  #end(key: string): void {
    if (this.#behind.delete(key) && this.#behind.size === 0) this.#release()
  }

  /** Acts when every handler has read its records, and has done what follows from them at once. */
  afterwards(act: () => void): void {
    this.#waiting.push(act)
    this.#disarm ??= this.#host.armTimer(this.#host.now() + PATIENCE, () => {
      this.#behind.clear()
      this.#release()
    })
  }

  #release(): void {
    this.#disarm?.()
    this.#disarm = undefined
    const waiting = this.#waiting
    this.#waiting = []
    if (waiting.length > 0) setImmediate(() => waiting.forEach((act) => act()))
  }
}
