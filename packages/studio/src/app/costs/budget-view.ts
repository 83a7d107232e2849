/** Budgets of keys: what is left, and when it is used up if spending continues as it does. Pure: the time is a parameter. */
import type { Key } from "@superstep/client"
import { count, duration, money } from "../ui/format.ts"

const DAY = 86_400_000

/** Of the time of the chart and of the budget, both from 0 to 1. */
export interface BurnPoint {
  readonly x: number
  readonly left: number
}

/** The share of a budget from which somebody should know. */
export const RUNNING_OUT = 0.8

export interface BudgetView {
  readonly id: string
  readonly name: string
  readonly isPaused: boolean
  readonly unit: "usd" | "tokens"
  readonly limit: number
  readonly used: number
  /** 1 and more: it is used up. */
  readonly share: number
  /** What was left, up to now. */
  readonly burn: readonly BurnPoint[]
  /** What will be left, from now on; empty: nothing is spent. */
  readonly forecast: readonly BurnPoint[]
  /** In words, when it is used up. */
  readonly words: string
}

/** What a key used on a day of UTC. */
export interface DaySpent {
  readonly day: string
  readonly usd: number
  readonly tokens: number
}

/** Days of the past that the burn-down of a budget in total shows, and from which its rate follows. */
export const PAST_DAYS = 14
const FUTURE_DAYS = 14

export function budgetView(key: Key, days: readonly DaySpent[], now: number): BudgetView | undefined {
  const { budget, used } = key
  if (budget === undefined || key.revokedAt !== undefined) return undefined
  // The part that is used up first counts.
  const units = (["usd", "tokens"] as const).filter((unit) => budget[unit] !== undefined)
  const share = (unit: "usd" | "tokens") => (used?.[unit] ?? 0) / (budget[unit] ?? 1)
  const unit = units.toSorted((a, b) => share(b) - share(a))[0] ?? "usd"
  const limit = budget[unit] ?? 0
  const spent = used?.[unit] ?? 0
  const common = {
    id: key.id,
    name: key.name,
    isPaused: key.pausedAt !== undefined,
    unit,
    limit,
    used: spent,
    share: limit === 0 ? 1 : spent / limit,
  }
  return budget.per === "day"
    ? { ...common, ...ofDay(spent, limit, now) }
    : {
        ...common,
        ...ofTotal(
          spent,
          limit,
          days.map((one) => one[unit]),
          now,
        ),
      }
}

type Burn = Pick<BudgetView, "burn" | "forecast" | "words">

/** From midnight to midnight of UTC, at the rate of today. */
function ofDay(used: number, limit: number, now: number): Burn {
  const passed = (now % DAY) / DAY
  const left = part(limit - used, limit)
  const burn = [
    { x: 0, left: 1 },
    { x: passed, left },
  ]
  if (used >= limit) return { burn, forecast: [], words: "Used up until midnight UTC." }
  if (used === 0 || passed === 0) return { burn, forecast: [], words: "Nothing is spent today." }
  const end = used / passed
  if (end <= limit) {
    return {
      burn,
      forecast: [
        { x: passed, left },
        { x: 1, left: part(limit - end, limit) },
      ],
      words: `Lasts the day: ${Math.round((100 * end) / limit)}% at this rate.`,
    }
  }
  const empty = (passed * limit) / used
  return {
    burn,
    forecast: [
      { x: passed, left },
      { x: empty, left: 0 },
    ],
    words: `Used up in ${duration((empty - passed) * DAY)} at the rate of today.`,
  }
}

/** Two weeks back, and two weeks ahead at their average. */
function ofTotal(used: number, limit: number, days: readonly number[], now: number): Burn {
  const past = days.slice(-PAST_DAYS)
  const whole = PAST_DAYS + FUTURE_DAYS
  let before = used - past.reduce((sum, one) => sum + one, 0)
  const burn: BurnPoint[] = [{ x: (PAST_DAYS - past.length) / whole, left: part(limit - before, limit) }]
  for (const [i, one] of past.entries()) {
    before += one
    burn.push({ x: (PAST_DAYS - past.length + i + 1) / whole, left: part(limit - before, limit) })
  }
  if (used >= limit) return { burn, forecast: [], words: "Used up." }
  // The last day is not over: it counts as the part that has passed.
  const time = Math.max(0.05, past.length - 1 + (now % DAY) / DAY)
  const rate = past.reduce((sum, one) => sum + one, 0) / time
  if (rate === 0) return { burn, forecast: [], words: "Nothing was spent in two weeks." }
  const left = (limit - used) / rate
  const start = { x: PAST_DAYS / whole, left: part(limit - used, limit) }
  const end =
    left <= FUTURE_DAYS
      ? { x: (PAST_DAYS + left) / whole, left: 0 }
      : { x: 1, left: part(limit - used - rate * FUTURE_DAYS, limit) }
  return { burn, forecast: [start, end], words: `Used up in ${duration(left * DAY)} at this rate.` }
}

function part(value: number, limit: number): number {
  return limit === 0 ? 0 : Math.min(1, Math.max(0, value / limit))
}

export function amountWords(value: number, unit: BudgetView["unit"]): string {
  return unit === "usd" ? money(value) : `${count(Math.round(value))} tokens`
}
