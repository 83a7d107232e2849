/**
 * A clock that stands still until a test moves it. Timers fire in the order of their times; timers with equal times in the
 * order they were set. Runs react to each timer before anything else happens.
 */
import { SuperstepError } from "../core/index.ts"
import { modulesLoaded } from "../core/internal.ts"
import type { Clock } from "../runtime/index.ts"

export interface ManualClock extends Clock {
  /** Advances the clock and fires every timer that becomes due, including timers set meanwhile. */
  advance(milliseconds: number): Promise<void>
  /** Advances the clock to the next timer and fires all that are due. False if there is none. */
  advanceToNext(): Promise<boolean>
  /** Sets the clock, also backwards, like a change of the system clock. Fires no timers: `advance(0)` does. */
  set(time: number): void
  /** The number of pending timers. */
  readonly pending: number
}

interface Timer {
  readonly at: number
  readonly callback: () => void
}

export function manualClock(start = 0): ManualClock {
  /** In the order in which they fire. */
  const timers: Timer[] = []
  let now = start
  /** The total time advanced, without `set`. */
  let passed = 0
  let moves: Promise<unknown> = Promise.resolve()

  /** Moves are serialized: a test may forget to await one. */
  const move = <T>(make: () => Promise<T>): Promise<T> => {
    const made = moves.then(make)
    moves = made.catch(() => undefined)
    return made
  }

  const moveTo = (time: number): void => {
    passed += Math.max(0, time - now)
    now = Math.max(now, time)
  }

  const fireUntil = async (end: number): Promise<void> => {
    for (let next = timers[0]; next !== undefined && next.at <= end; next = timers[0]) {
      timers.shift()
      moveTo(next.at)
      next.callback()
      await settled()
    }
    moveTo(end)
  }

  return {
    now: () => now,
    monotonic: () => passed,

    setTimer(at, callback) {
      const timer = { at, callback }
      const place = timers.findLastIndex((other) => other.at <= at) + 1
      timers.splice(place, 0, timer)
      return () => {
        const index = timers.indexOf(timer)
        if (index >= 0) timers.splice(index, 1)
      }
    },

    advance(milliseconds) {
      if (!(milliseconds >= 0)) {
        throw new SuperstepError(
          "CLOCK_INVALID",
          `advance() needs 0 or more milliseconds, not ${milliseconds}. Use set(time) to go back.`,
        )
      }
      return move(async () => {
        await settled()
        await fireUntil(now + milliseconds)
      })
    },

    advanceToNext: () =>
      move(async () => {
        await settled()
        const next = timers[0]
        if (next === undefined) return false
        await fireUntil(Math.max(now, next.at))
        return true
      }),

    set(time) {
      now = time
    },

    get pending() {
      return timers.length
    },
  }
}

/** Captured at load time, so that a test framework's fake timers do not stop it. */
const nextTurn = setImmediate

/**
 * Resolves when everything that can happen by itself has happened: every promise that follows from settled ones is settled,
 * and modules that the engine loads on first use are loaded. Code that waits for a clock, a person or real IO still waits.
 */
export async function settled(): Promise<void> {
  for (;;) {
    await new Promise<void>((resolve) => nextTurn(resolve))
    const loading = modulesLoaded()
    if (loading === undefined) return
    await loading
  }
}
