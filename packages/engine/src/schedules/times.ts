/**
 * The times that a schedule plans: pure functions of its timing, the same in every process.
 *
 * A cron pattern is matched against the clock on the wall of its time zone. Where the clock is put forward, a time that does
 * not exist is planned for the first moment after the gap; where it is put back, a fixed time is planned once, the first
 * time, and a pattern that repeats within the hour continues through the repeated hour. An interval is of real time.
 */
import { Cron } from "croner"
import { type ScheduleTiming, scheduleInvalid } from "./spec.ts"

export interface PlannedTimes {
  /** The first time after this one. */
  after(time: number): number | undefined
  /** The last times up to this one, at most `count` of them; the latest first. */
  upTo(time: number, count: number): number[]
}

const NICKNAMES = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"]

/** Throws SCHEDULE_INVALID for a pattern that is none or never fires, and for an unknown time zone. */
export function plannedTimes(id: string, timing: ScheduleTiming): PlannedTimes {
  const { cron, timeZone = "UTC", every, startAt, at } = timing
  if (cron !== undefined) return cronTimes(id, cron, timeZone)
  if (every !== undefined) return everyTimes(every, startAt)
  const once = at as number
  return {
    after: (time) => (time < once ? once : undefined),
    upTo: (time, count) => (once <= time && count > 0 ? [once] : []),
  }
}

function everyTimes(every: number, startAt: number | undefined): PlannedTimes {
  const origin = startAt ?? 0
  const first = startAt ?? Number.NEGATIVE_INFINITY
  const last = (time: number) => origin + Math.floor((time - origin) / every) * every
  return {
    after: (time) => Math.max(first, last(time) + every),
    upTo(time, count) {
      const times = Array.from({ length: count }, (_, i) => last(time) - i * every)
      return times.filter((one) => one >= first)
    },
  }
}

function cronTimes(id: string, pattern: string, timeZone: string): PlannedTimes {
  checkZone(id, timeZone)
  const cron = parsed(id, pattern, timeZone)
  // Without a year, a pattern has fired before if it ever fires.
  if (cron.nextRun(new Date(0)) === null) {
    throw scheduleInvalid(id, `cron "${pattern}" never fires: no day has this date`)
  }
  return {
    after: (time) => cron.nextRun(new Date(time))?.getTime(),
    upTo: (time, count) =>
      // Those before the next full second.
      cron.previousRuns(count, new Date(Math.floor(time / 1_000) * 1_000 + 1_000)).map(Number),
  }
}

function parsed(id: string, pattern: string, timeZone: string): Cron {
  const fields = pattern.split(" ").length
  // The library also takes dates and years: `at` is for one time.
  if (!NICKNAMES.includes(pattern.toLowerCase()) && fields !== 5 && fields !== 6) {
    const problem = `cron "${pattern}" has ${fields === 1 ? "1 field" : `${fields} fields`}; write 5 (minute hour day month weekday), or 6 with seconds first`
    throw scheduleInvalid(id, problem)
  }
  try {
    return new Cron(pattern, { timezone: timeZone, paused: true })
  } catch (error) {
    const reason = (error as Error).message.replace(/^\w+: /, "")
    throw scheduleInvalid(id, `cron "${pattern}": ${reason.replace(/\.$/, "")}`, error)
  }
}

function checkZone(id: string, timeZone: string): void {
  try {
    new Intl.DateTimeFormat("en", { timeZone })
  } catch (error) {
    throw scheduleInvalid(
      id,
      `timeZone "${timeZone}" is unknown; write a name such as "Europe/Berlin"`,
      error,
    )
  }
}
