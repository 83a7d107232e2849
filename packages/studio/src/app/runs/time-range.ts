/** When a run was created, as the address says it: "24h" before now, or a local time. Pure: the current time is a parameter. */

export interface Times {
  /** "1h", "24h", "7d", or a local time such as "2026-11-18T09:30". */
  readonly since?: string | undefined
  /** A local time. */
  readonly until?: string | undefined
}

/** What the list offers; "between" takes two times. */
export const RANGES = [
  ["", "Any time"],
  ["1h", "Last hour"],
  ["24h", "Last 24 hours"],
  ["7d", "Last 7 days"],
  ["between", "Between…"],
] as const

const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, d: 86_400_000 }

/** Milliseconds since 1970; undefined if the text names none. */
function timeOf(text: string | undefined, now: number): number | undefined {
  const [, amount, unit] = /^(\d{1,4})([hd])$/.exec(text ?? "") ?? []
  if (amount !== undefined) return now - Number(amount) * (UNITS[unit as string] as number)
  const at = Date.parse(text ?? "")
  return Number.isNaN(at) ? undefined : at
}

/** What the API takes. */
export function timesAt({ since, until }: Times, now: number): { since?: number; until?: number } {
  const [from, to] = [timeOf(since, now), timeOf(until, now)]
  return { ...(from !== undefined && { since: from }), ...(to !== undefined && { until: to }) }
}

/** Which of the ranges it is. */
export function rangeOf({ since, until }: Times): string {
  if (since === undefined && until === undefined) return ""
  const isOffered = until === undefined && RANGES.some(([id]) => id === since)
  return isOffered ? (since ?? "") : "between"
}
