import type { Schedule } from "@superstep/client"
import { expect, test } from "vitest"
import { draftOf, optionsOf, spanOf, spanText, timingOf } from "./schedule-draft.ts"
import { calendar, cutOff, timingWords } from "./schedule-words.ts"

const schedule = (more: Partial<Schedule>): Schedule => ({
  id: "nightly",
  workflow: "report",
  overlap: "skip",
  catchUp: "last",
  maxCatchUp: 100,
  isDeclared: false,
  isPaused: false,
  pending: 0,
  createdAt: 0,
  updatedAt: 0,
  ...more,
})

test("timings read as people say them, and patterns that are not simple stay as they are", () => {
  const words = (cron: string) => timingWords({ cron })
  expect(
    ["0 3 * * *", "30 9 * * 1-5", "5 * * * *", "*/15 * * * *", "0 8 * * 7", "0 0 1 * *", "@daily"].map(words),
  ).toEqual([
    "Every day at 03:00",
    "Weekdays at 09:30",
    "Every hour at :05",
    "Every 15 minutes",
    "Sundays at 08:00",
    "Every month on day 1 at 00:00",
    "Every day at 00:00",
  ])
  for (const cron of ["0 9-17 * * *", "30 0 9 * * 1-5", "0 3 1 1 *", "1,2 3 * * *"])
    expect(words(cron)).toBe(cron)
  expect([
    timingWords({ every: 5_400_000 }),
    timingWords({ every: 3_600_000 }),
    timingWords({ at: 1 }),
  ]).toEqual(["Every 1 h 30 min", "Every hour", "Once"])
})

test("an interval that was stored is the same after it was edited", () => {
  expect([spanOf("90 s"), spanOf("1h 30min"), spanOf("15m"), spanOf("1.5 h")]).toEqual([
    90_000, 5_400_000, 900_000, 5_400_000,
  ])
  expect([spanOf("soon"), spanOf("5"), spanOf(""), spanOf("5 min x")]).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ])
  for (const ms of [1_000, 61_001, 86_400_000 + 5_400_000]) expect(spanOf(spanText(ms))).toBe(ms)
})

test("the form of a schedule keeps what it does not show, and says what is missing", () => {
  const before = schedule({ every: 60_000, startAt: 5, queue: "slow", priority: 3, labels: { team: "a" } })
  expect(optionsOf(draftOf(before, "UTC"), { a: 1 }, before)).toEqual({
    every: 60_000,
    startAt: 5,
    workflow: "report",
    input: { a: 1 },
    overlap: "skip",
    catchUp: "last",
    maxCatchUp: 100,
    queue: "slow",
    priority: 3,
    labels: { team: "a" },
  })
  const empty = { ...draftOf(undefined, "Europe/Berlin"), cron: "often" }
  const problems = optionsOf(empty, null, undefined)
  expect([...(problems as ReadonlyMap<string, string>).keys()]).toEqual(["cron", "id", "workflow"])
  expect(timingOf({ ...empty, cron: " 0 9 * * 1-5 ", jitter: "30 s" })).toEqual({
    cron: "0 9 * * 1-5",
    timeZone: "Europe/Berlin",
    jitter: 30_000,
  })
})

test("the calendar has whole weeks from Monday, and a schedule once in each day", () => {
  // A Wednesday.
  const noon = new Date(2026, 0, 7, 12).getTime()
  const at = (hours: number) => ({ plannedAt: noon + hours * 3_600_000, startsAt: 0 })
  const list = [
    schedule({ id: "a", next: [at(2), at(3), at(24)] }),
    schedule({ id: "b", next: [at(1), at(72)] }),
  ]
  const days = calendar(list, noon, 2)
  expect(days.map(({ date }) => date).filter((_, i) => i % 7 === 0)).toEqual(["2026-01-05", "2026-01-12"])
  expect(days).toHaveLength(14)
  expect(days.filter(({ isPast }) => isPast).map(({ date }) => date)).toEqual(["2026-01-05", "2026-01-06"])
  const shown = days.flatMap(({ date, entries }) => entries.map((one) => [date, one.schedule.id, one.times]))
  expect(shown).toEqual([
    ["2026-01-07", "b", 1],
    ["2026-01-07", "a", 2],
    ["2026-01-08", "a", 1],
    ["2026-01-10", "b", 1],
  ])
  expect(cutOff(list, 3, at(48).plannedAt).map(({ id }) => id)).toEqual(["a"])
  expect(cutOff(list, 3, at(12).plannedAt)).toEqual([])
})
