/** How long an attempt may take. The time stands still while the task waits for the outside. */
import type { RunHost } from "./run-host.ts"

export class TimeLimit {
  readonly #host: RunHost
  readonly #onUp: () => void
  #left: number
  #since = 0
  #disarm: (() => void) | undefined

  constructor(host: RunHost, milliseconds: number, onUp: () => void) {
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
