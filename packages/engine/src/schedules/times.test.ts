/** Planned times in real zones: every instant once, in order, through both changes of the clock. */
import * as fc from "fast-check"
import { describe, expect, inject, test } from "vitest"
import { plannedTimes } from "./times.ts"

const iso = (time: number | undefined) =>
  time === undefined ? undefined : new Date(time).toISOString().replace(":00.000Z", "Z")

/** The next times after a moment. */
function next(cron: string, timeZone: string, from: string, count: number) {
  const times = plannedTimes("s", { cron, timeZone })
  const found: (string | undefined)[] = []
  for (let time: number | undefined = Date.parse(from); time !== undefined && found.length < count; ) {
    time = times.after(time)
    found.push(iso(time))
  }
  return found
}

describe("a time that the clock skips", () => {
  test.each([
    [
      "Europe/Berlin",
      "30 2 * * *",
      "2026-03-28T00:00Z",
      "2026-03-28T01:30Z",
      "2026-03-29T01:00Z",
      "2026-03-30T00:30Z",
    ],
    [
      "America/New_York",
      "30 2 * * *",
      "2026-03-07T00:00Z",
      "2026-03-07T07:30Z",
      "2026-03-08T07:00Z",
      "2026-03-09T06:30Z",
    ],
    [
      "Australia/Lord_Howe",
      "15 2 * * *",
      "2026-10-02T00:00Z",
      "2026-10-02T15:45Z",
      "2026-10-03T15:30Z",
      "2026-10-04T15:15Z",
    ],
  ])("in %s (%s) is planned for the first moment after the gap", (zone, cron, from, ...expected) => {
    expect(next(cron, zone, from, 3)).toEqual(expected)
  })

  test("of a day that a zone skipped is not planned, and the days around it are", () => {
    // Samoa went from December 29 to December 31, 2011.
    expect(next("0 12 * * *", "Pacific/Apia", "2011-12-29T00:00Z", 3)).toEqual([
      "2011-12-29T22:00Z",
      "2011-12-30T22:00Z",
      "2011-12-31T22:00Z",
    ])
    expect(next("0 12 30 12 *", "Pacific/Apia", "2011-12-01T00:00Z", 1)).toEqual(["2012-12-29T22:00Z"])
  })
})

describe("a time that the clock repeats", () => {
  test.each([
    [
      "Europe/Berlin",
      "30 2 * * *",
      "2026-10-24T00:00Z",
      "2026-10-24T00:30Z",
      "2026-10-25T00:30Z",
      "2026-10-26T01:30Z",
    ],
    [
      "America/New_York",
      "30 1 * * *",
      "2026-10-31T00:00Z",
      "2026-10-31T05:30Z",
      "2026-11-01T05:30Z",
      "2026-11-02T06:30Z",
    ],
    [
      "Australia/Lord_Howe",
      "45 1 * * *",
      "2026-04-03T00:00Z",
      "2026-04-03T14:45Z",
      "2026-04-04T14:45Z",
      "2026-04-05T15:15Z",
    ],
  ])("in %s (%s) is planned once", (zone, cron, from, ...expected) => {
    expect(next(cron, zone, from, 3)).toEqual(expected)
  })

  test("is planned twice by a pattern that repeats within the hour: every real half-hour has its run", () => {
    expect(next("*/30 * * * *", "Europe/Berlin", "2026-10-24T23:59Z", 6)).toEqual([
      "2026-10-25T00:00Z",
      "2026-10-25T00:30Z",
      "2026-10-25T01:00Z",
      "2026-10-25T01:30Z",
      "2026-10-25T02:00Z",
      "2026-10-25T02:30Z",
    ])
  })
})

const ZONES = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "Australia/Lord_Howe",
  "Pacific/Apia",
  "Asia/Kathmandu",
]
const CRONS = [
  "30 2 * * *",
  "*/20 1-3 * * *",
  "15 45 1 * * *",
  "0 0 1 * *",
  "0 3 * * 0",
  "*/30 * * * *",
  "@daily",
]
/** Around changes of the clock. */
const MOMENTS = [
  "2026-03-29T00:00Z",
  "2026-10-25T00:00Z",
  "2026-03-08T06:00Z",
  "2026-11-01T05:00Z",
  "2026-04-04T14:00Z",
  "2026-10-03T15:00Z",
  "2011-12-30T09:00Z",
]

test("times rise strictly, and looking back finds exactly what looking ahead planned", () => {
  const arbitrary = fc.tuple(
    fc.constantFrom(...CRONS),
    fc.constantFrom(...ZONES),
    fc.constantFrom(...MOMENTS).map(Date.parse),
    fc.integer({ min: -172_800_000, max: 172_800_000 }),
  )
  fc.assert(
    fc.property(arbitrary, ([cron, timeZone, moment, shift]) => {
      const times = plannedTimes("s", { cron, timeZone })
      const ahead: number[] = []
      let time = moment + shift
      for (let i = 0; i < 12; i++) {
        const following = times.after(time) as number
        expect(following).toBeGreaterThan(time)
        ahead.push(following)
        time = following
      }
      const last = ahead.at(-1) as number
      expect(times.upTo(last, 12)).toEqual([...ahead].reverse())
      // Also from a moment in between.
      expect(times.upTo(last - 1, 11)).toEqual(ahead.slice(0, 11).reverse())
      expect(times.upTo(last + 999, 1)).toEqual([last])
    }),
    { seed: inject("seed"), numRuns: 150 },
  )
})

describe("an interval", () => {
  test("has the multiples since 1970, or those from its start on", () => {
    const hourly = plannedTimes("s", { every: 3_600_000 })
    expect(iso(hourly.after(Date.parse("2026-01-01T10:20Z")))).toBe("2026-01-01T11:00Z")
    expect(hourly.upTo(3_600_000, 3)).toEqual([3_600_000, 0, -3_600_000])
    const own = plannedTimes("s", { every: 1_000, startAt: 5_500 })
    expect(own.after(0)).toBe(5_500)
    expect(own.after(5_500)).toBe(6_500)
    expect(own.upTo(7_000, 5)).toEqual([6_500, 5_500])
    expect(own.upTo(5_000, 5)).toEqual([])
  })
})

test("a single time is planned once", () => {
  const once = plannedTimes("s", { at: 50 })
  expect([once.after(49), once.after(50)]).toEqual([50, undefined])
  expect([once.upTo(49, 3), once.upTo(50, 3)]).toEqual([[], [50]])
})

describe("what cannot be planned is refused", () => {
  test.each([
    ["0 0 30 2 *", 'cron "0 0 30 2 *" never fires: no day has this date.'],
    ["61 * * * *", 'cron "61 * * * *": Invalid value for minute: 61.'],
    ["* * *", 'cron "* * *" has 3 fields; write 5 (minute hour day month weekday), or 6 with seconds first.'],
    ["2026-01-01T00:00:00", "has 1 field; write 5"],
    ["0 0 0 1 1 * 2020", "has 7 fields"],
    ["@fortnightly", "has 1 field"],
  ])("%s", (cron, message) => {
    expect(() => plannedTimes("s", { cron, timeZone: "UTC" })).toThrow(message)
  })

  test("a time zone that nobody knows", () => {
    expect(() => plannedTimes("s", { cron: "0 0 * * *", timeZone: "Europe/Bonn" })).toThrow(
      'Schedule "s": timeZone "Europe/Bonn" is unknown; write a name such as "Europe/Berlin".',
    )
  })
})
