interface Timing {
  now(): number
  /** Returns the function that disarms it. */
  armTimer(at: number, fire: () => void): () => void
}

/** The time limit of an attempt. Time spent waiting for something external does not count. */
export class AttemptTimeLimit {
  readonly #host: Timing
  readonly #onUp: () => void
  #left: number
  #since = 0
  #disarm: (() => void) | undefined

  constructor(host: Timing, milliseconds: number, onUp: () => void) {
    this.#host = host
    this.#left = milliseconds
    this.#onUp = onUp
    this.go()
  }

  go(): void {
    if (this.#disarm !== undefined) return
    this.#since = this.#host.now()
    this.#disarm = this.#host.armTimer(this.#since + this.#left, this.#onUp)
  }

  stop(): void {
    if (this.#disarm === undefined) return
    this.#disarm()
    this.#disarm = undefined
    this.#left = Math.max(0, this.#left - Math.max(0, this.#host.now() - this.#since))
  }
}
