/** A number of places, and those who wait for one, in order. */
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
