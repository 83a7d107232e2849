/** Hints that there is something to do before the next look: mail for a holder, or a run that is free. They may be lost. */
import type { LiveChannel } from "@superstep/engine"
import type { Signals } from "./signals.ts"

/** Milliseconds between two hints of one process, so that releasing a thousand runs does not wake every process a thousand times. */
const APART = 50

const ALL = "hints"

function addressOf(holder: string): string {
  return `hints ${holder}`
}

export interface Hints {
  readonly listen: NonNullable<LiveChannel["hints"]>
  to(holder: string): void
  /** To every process that listens. */
  toAll(): void
}

export function hintsOn(signals: Signals): Hints {
  const sentAt = new Map<string, number>()

  function send(address: string): void {
    const now = performance.now()
    if (now - (sentAt.get(address) ?? Number.NEGATIVE_INFINITY) < APART) return
    for (const [other, at] of sentAt) if (now - at >= APART) sentAt.delete(other)
    sentAt.set(address, now)
    // Later than the time that it keeps others from: what was written meanwhile is meant too.
    const timer = setTimeout(() => signals.send(address, true), APART)
    timer.unref()
  }

  return {
    listen(holder, onHint) {
      const stops = [ALL, addressOf(holder)].map((address) => signals.listen(address, onHint))
      return {
        close() {
          for (const stop of stops) stop()
        },
      }
    },
    to: (holder) => send(addressOf(holder)),
    toAll: () => send(ALL),
  }
}
