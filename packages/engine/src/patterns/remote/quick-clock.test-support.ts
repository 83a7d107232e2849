/** A clock on which short waits take no time, and long ones never end: for polls and time-outs over real connections. */
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
