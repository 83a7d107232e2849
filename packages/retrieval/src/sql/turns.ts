/** A number of places, and those who wait for one, in order. */
import { untilAborted } from "@superstep/engine/tools"

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
      return await work()
    } finally {
      this.#give()
    }
  }

  async #wait(signal: AbortSignal | undefined): Promise<void> {
    const place = new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      await untilAborted(place, signal)
    } catch (error) {
      // The place may come still: it is for the next.
      void place.then(() => this.#give())
      throw error
    }
  }

  #give(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free += 1
    else next()
  }
}
