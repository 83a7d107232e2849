/** Runs over time: as many equal parts as a small chart can show. Pure. */
import type { Run } from "@superstep/client"

export interface Bucket {
  readonly from: number
  readonly to: number
  readonly good: number
  readonly bad: number
  readonly other: number
}

const PARTS = 36
/** The shortest time that the chart shows. */
const MIN_SPAN = 60 * 60_000

export function activity(runs: readonly Pick<Run, "createdAt" | "status">[], now: number): readonly Bucket[] {
  const first = Math.min(now - MIN_SPAN, ...runs.map(({ createdAt }) => createdAt))
  const width = Math.max(1, (now - first) / PARTS)
  const buckets = Array.from({ length: PARTS }, (_, i) => ({
    from: first + i * width,
    to: first + (i + 1) * width,
    good: 0,
    bad: 0,
    other: 0,
  }))
  for (const { createdAt, status } of runs) {
    const bucket = buckets[Math.min(PARTS - 1, Math.max(0, Math.floor((createdAt - first) / width)))]
    if (bucket === undefined) continue
    if (status === "completed") bucket.good++
    else if (status === "failed" || status === "limit") bucket.bad++
    else bucket.other++
  }
  return buckets
}
