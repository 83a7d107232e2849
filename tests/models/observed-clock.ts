/** A clock to drive, that tells when a timer is set: real sockets take their own time to get there. */
import { type ManualClock, manualClock } from "@superstep/engine/testing"

export interface ObservedClock extends ManualClock {
  /** Resolves when a timer of this length has been set. */
  timerOf(milliseconds: number): Promise<void>
}

export function observedClock(): ObservedClock {
  const clock = manualClock(1_000_000)
  const set = new Set<number>()
  const expected = new Map<number, () => void>()
  return {
    now: clock.now,
    set: clock.set,
    advance: clock.advance,
    advanceToNext: clock.advanceToNext,
    get pending() {
      return clock.pending
    },
    setTimer(at, callback) {
      const length = at - clock.now()
      set.add(length)
      expected.get(length)?.()
      return clock.setTimer(at, callback)
    },
    timerOf(milliseconds) {
      if (set.has(milliseconds)) return Promise.resolve()
      return new Promise((resolve) => expected.set(milliseconds, resolve))
    },
  }
}
