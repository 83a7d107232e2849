/**
 * Which models have asked, with `Retry-After`, to be left alone for a while: known to all calls of the process that share a
 * clock. A call with several models asks the others first.
 */
import type { Clock } from "../../runtime/index.ts"

interface Window {
  readonly from: number
  readonly until: number
}

const windows = new WeakMap<Clock, RetryWindows>()

/** Times of different clocks cannot be compared. */
export function retryWindows(clock: Clock): RetryWindows {
  let own = windows.get(clock)
  if (own === undefined) {
    own = new RetryWindows(clock)
    windows.set(clock, own)
  }
  return own
}

class RetryWindows {
  readonly #clock: Clock
  readonly #byModel = new Map<string, Window>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  open(model: string, milliseconds: number): void {
    const from = this.#clock.now()
    this.#byModel.set(model, { from, until: from + milliseconds })
  }

  close(model: string): void {
    this.#byModel.delete(model)
  }

  /** When the model may be asked again; undefined where that is now. A clock that was set back keeps nobody out. */
  until(model: string): number | undefined {
    const window = this.#byModel.get(model)
    if (window === undefined) return undefined
    const now = this.#clock.now()
    if (now >= window.from && now < window.until) return window.until
    this.#byModel.delete(model)
    return undefined
  }
}
