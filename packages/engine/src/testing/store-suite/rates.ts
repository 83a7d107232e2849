/** What a rate limit means: in no window of time `w` are there more than `burst + w / every` starts. */
import type { LaneRate } from "../../runtime/index.ts"

/** A start whose moment is known to lie between two others. */
export interface Start {
  readonly earliest: number
  readonly latest: number
}

/** For the rounding of fractions of milliseconds. */
const ROUNDING = 1e-3

/** A window with more starts than the rate admits, in words; undefined: there is none, wherever between its bounds each start was. */
export function rateExcess(starts: readonly Start[], { every, burst }: LaneRate): string | undefined {
  for (const { earliest: from } of starts) {
    const after = starts.filter(({ earliest }) => earliest >= from).sort((a, b) => a.latest - b.latest)
    for (const [i, { latest }] of after.entries()) {
      const most = burst + (latest - from) / every
      if (i + 1 <= most + ROUNDING) continue
      const window = after.slice(0, i + 1).map((start) => `${start.earliest - from}–${start.latest - from}`)
      return `${i + 1} starts in ${latest - from} ms from ${from} on, at most ${most}: ${window.join(", ")}`
    }
  }
  return undefined
}

/** Of starts whose moments are known. */
export function startsAt(times: readonly number[]): Start[] {
  return times.map((at) => ({ earliest: at, latest: at }))
}

export function later(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
