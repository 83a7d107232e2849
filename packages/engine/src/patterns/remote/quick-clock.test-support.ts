/** A clock on which short waits take no time, and long ones never end, for polls and timeouts over real connections. */
import type { Clock } from "../../runtime/index.ts"

export function quickClock(short = 10_000): Clock {
  let now = 0
  return {
    now: () => now,
    setTimer(at, callback) {
      if (at - now > short) return () => undefined
      const soon = setImmediate(() => {
        now = Math.max(now, at)
        callback()
      })
      return () => clearImmediate(soon)
    },
  }
}

/** The same, but waits of one length end when the test releases them, current and later ones. */
export function gatedClock(length: number): Clock & { endWaits(): void; endNextWaits(): void } {
  const quick = quickClock()
  const waiting = new Set<() => void>()
  let isOpen = false
  return {
    now: () => quick.now(),
    setTimer(at, callback) {
      if (isOpen || at - quick.now() !== length) return quick.setTimer(at, callback)
      waiting.add(callback)
      return () => waiting.delete(callback)
    },
    endWaits() {
      isOpen = true
      for (const callback of waiting) callback()
    },
    endNextWaits() {
      isOpen = true
    },
  }
}
