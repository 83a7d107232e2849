/** Shares connections and processes: a bounded number at a time, opened on first use. */

/** A limited number of slots, and a queue of callers that wait for one. */
export class Semaphore {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(places: number) {
    this.#free = places
  }

  /** Runs work when a slot is free. */
  async take<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    signal?.throwIfAborted()
    if (this.#free > 0) this.#free -= 1
    else await this.#wait(signal)
    try {
      // The signal may have been aborted just after the slot became free.
      signal?.throwIfAborted()
      return await work()
    } finally {
      this.#give()
    }
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const come = () => {
        signal?.removeEventListener("abort", leave)
        resolve()
      }
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(come), 1)
        reject(signal?.reason)
      }
      signal?.addEventListener("abort", leave, { once: true })
      this.#waiting.push(come)
    })
  }

  #give(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free += 1
    else next()
  }
}

/** Opens a resource on first use. After a failure, the next caller tries again. */
export class OpenOnce<T> {
  readonly #open: () => Promise<T>
  #opened: Promise<T> | undefined

  constructor(open: () => Promise<T>) {
    this.#open = open
  }

  get(): Promise<T> {
    if (this.#opened !== undefined) return this.#opened
    const opened = this.#open()
    this.#opened = opened
    opened.catch(() => {
      if (this.#opened === opened) this.#opened = undefined
    })
    return opened
  }

  /** Undefined if nothing is open. */
  async current(): Promise<T | undefined> {
    return await this.#opened?.catch(() => undefined)
  }

  /** Returns what was open. The next caller opens another one. */
  async forget(): Promise<T | undefined> {
    const opened = this.current()
    this.#opened = undefined
    return await opened
  }
}
