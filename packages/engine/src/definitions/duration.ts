/** Durations in definitions: seconds, or a string with a unit. */
import { z } from "zod"

export const durationShape = z
  .union([
    z.number().min(0),
    z.string().regex(/^\s*\d+(\.\d+)?\s*(ms|s|m|h)?\s*$/, "a duration, such as 90s or 5m"),
  ])
  .describe('Seconds, or a string such as "90s" or "5m".')

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

export function milliseconds(duration: number | string): number {
  if (typeof duration === "number") return Math.round(duration * 1_000)
  const [, amount = "0", unit = "s"] = /([\d.]+)\s*(ms|s|m|h)?/.exec(duration) ?? []
  return Math.round(Number(amount) * (UNITS[unit] ?? 1_000))
}
