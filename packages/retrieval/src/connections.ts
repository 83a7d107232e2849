/** How connections and processes are shared: a bounded number at a time, opened when they are first needed. */

/** A limited number of slots, and a queue of callers that wait for one. */
export class Turns {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(places: number) {
    this.#free = places
  }

  /** Runs work when there is a place for it. */
  async take<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    signal?.throwIfAborted()
    if (this.#free > 0) this.#free -= 1
    else await this.#wait(signal)
    try {
      // It may have been aborted just after the place was free.
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

/** Opens something when it is first needed. A failure is tried again by the next caller. */
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

  /** The next caller opens another. Gives what was open. */
  async forget(): Promise<T | undefined> {
    const opened = this.current()
    this.#opened = undefined
    return await opened
  }
}
