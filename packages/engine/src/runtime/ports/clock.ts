/** Time as a port: a test drives its own clock, and no test sleeps. */

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Calls back once at or after `at`; the returned function cancels the timer. */
  setTimer(at: number, callback: () => void): () => void
  /** Milliseconds since an arbitrary moment, unaffected by changes of the system clock. Default: `now`. */
  monotonic?(): number
}

/** The longest delay that setTimeout supports; a longer one would fire at once. */
const MAX_DELAY = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(at, callback) {
    let handle: ReturnType<typeof setTimeout>
    const arm = () => {
      const delay = at - Date.now()
      handle = delay > MAX_DELAY ? setTimeout(arm, MAX_DELAY) : setTimeout(callback, Math.max(0, delay))
    }
    arm()
    return () => clearTimeout(handle)
  },
}
