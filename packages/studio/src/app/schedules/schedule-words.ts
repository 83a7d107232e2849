/** When schedules fire, in words, and what comes next on which day. Pure: the current time is a parameter. */
import type { Schedule } from "@superstep/client"
import { day, duration, plural } from "../ui/format.ts"

/** What happens to a time at which an earlier run is still in flight. */
export const OVERLAPS = [
  ["skip", "Skip the time"],
  ["queue", "Start when the earlier run has ended"],
  ["cancel-previous", "Cancel the earlier run"],
  ["allow", "Let both execute"],
] as const

/** What happens to times at which no server was up. */
export const CATCH_UPS = [
  ["last", "Run the latest missed time"],
  ["all", "Run every missed time"],
  ["none", "Drop missed times"],
] as const

type Timing = Pick<Schedule, "cron" | "timeZone" | "every" | "at">

const ONE: Readonly<Record<number, string>> = { 60000: "minute", 3600000: "hour", 86400000: "day" }

/** Simple patterns as people say them, others as they are. */
export function timingWords({ cron, every, at }: Timing): string {
  if (every !== undefined) return `Every ${ONE[every] ?? duration(every)}`
  if (at !== undefined) return "Once"
  return cronWords(cron ?? "")
}

const DAYS = ["Sundays", "Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays"]
const NAMED: Readonly<Record<string, string>> = {
  "@yearly": "Every year on January 1 at 00:00",
  "@annually": "Every year on January 1 at 00:00",
  "@monthly": "Every month on day 1 at 00:00",
  "@weekly": "Sundays at 00:00",
  "@daily": "Every day at 00:00",
  "@midnight": "Every day at 00:00",
  "@hourly": "Every hour at :00",
}

export function cronWords(cron: string): string {
  const named = NAMED[cron.trim().toLowerCase()]
  if (named !== undefined) return named
  const fields = cron.trim().split(/\s+/)
  if (fields.length !== 5) return cron
  const [minute = "", hour = "", date, month, weekday = ""] = fields
  if (month !== "*") return cron
  const isDaily = date === "*" && weekday === "*"
  const step = /^\*\/(\d+)$/.exec(minute)?.[1]
  if (isDaily && hour === "*" && minute === "*") return "Every minute"
  if (isDaily && hour === "*" && step !== undefined) return `Every ${plural(Number(step), "minute")}`
  if (!/^\d+$/.test(minute)) return cron
  if (isDaily && hour === "*") return `Every hour at :${minute.padStart(2, "0")}`
  if (!/^\d+$/.test(hour)) return cron
  const time = `at ${hour.padStart(2, "0")}:${minute.padStart(2, "0")}`
  if (isDaily) return `Every day ${time}`
  if (date === "*" && weekday === "1-5") return `Weekdays ${time}`
  if (date === "*" && /^[0-7]$/.test(weekday)) return `${DAYS[Number(weekday) % 7]} ${time}`
  if (weekday === "*" && date !== undefined && /^\d+$/.test(date)) return `Every month on day ${date} ${time}`
  return cron
}

interface CalendarEntry {
  readonly schedule: Schedule
  /** The first time of the day, and how many there are. */
  readonly at: number
  readonly times: number
}

export interface CalendarDay {
  /** As 2026-01-31. */
  readonly date: string
  readonly isToday: boolean
  readonly isPast: boolean
  readonly entries: readonly CalendarEntry[]
}

/** Whole weeks from the Monday of this one, in the time zone of this browser. A schedule is once in a day, with a count. */
export function calendar(schedules: readonly Schedule[], now: number, weeks: number): readonly CalendarDay[] {
  const today = new Date(now)
  const monday = new Date(today.getFullYear(), today.getMonth(), today.getDate() - ((today.getDay() + 6) % 7))
  const byDay = new Map<string, Map<string, CalendarEntry>>()
  for (const schedule of schedules) {
    for (const { plannedAt } of schedule.next ?? []) {
      const date = day(plannedAt)
      const entries = byDay.get(date) ?? new Map<string, CalendarEntry>()
      const known = entries.get(schedule.id)
      const at = Math.min(plannedAt, known?.at ?? plannedAt)
      entries.set(schedule.id, { schedule, at, times: (known?.times ?? 0) + 1 })
      byDay.set(date, entries)
    }
  }
  return Array.from({ length: 7 * weeks }, (_, i) => {
    const date = day(new Date(monday.getFullYear(), monday.getMonth(), monday.getDate() + i).getTime())
    return {
      date,
      isToday: date === day(now),
      isPast: date < day(now),
      entries: [...(byDay.get(date)?.values() ?? [])].sort((a, b) => a.at - b.at),
    }
  })
}

/** Schedules whose times end before the calendar does, because the server sends so many at most. */
export function cutOff(schedules: readonly Schedule[], most: number, until: number): readonly Schedule[] {
  return schedules.filter(({ next = [] }) => next.length >= most && (next.at(-1)?.plannedAt ?? 0) < until)
}
