import { describe, expect, test } from "vitest"
import type { ScheduleOptions } from "../runtime/index.ts"
import { scheduleSpec } from "./spec.ts"

describe("the options of a schedule", () => {
  test("become data with every default", () => {
    expect(scheduleSpec({ id: "s", cron: " 0  9 * * * " })).toEqual({
      cron: "0 9 * * *",
      timeZone: "UTC",
      input: null,
      overlap: "skip",
      catchUp: "last",
      maxCatchUp: 100,
      jitter: 0,
    })
    const at = new Date(5_000)
    expect(scheduleSpec({ id: "s", at, input: [1], labels: { a: "b" }, priority: 3 })).toMatchObject({
      at: 5_000,
      input: [1],
      labels: { a: "b" },
      priority: 3,
    })
  })

  test.each<[unknown, string]>([
    [3, "Bad schedule: it must be an object such as { id, cron }, not 3."],
    [{ cron: "* * * * *" }, "Bad schedule: id must be a string of 1 to 500 characters, not undefined."],
    [{ id: "s" }, 'Schedule "s": set one of cron, every and at: it says when it runs.'],
    [{ id: "s", cron: "* * * * *", every: 1_000 }, 'Schedule "s": cron and every exclude each other.'],
    [{ id: "s", corn: "* * * * *" }, 'Schedule "s": unknown option "corn"; did you mean "cron"?'],
    [{ id: "s", every: 0 }, "every must be whole milliseconds, at least 1000, not 0."],
    [{ id: "s", every: 1_000, timeZone: "UTC" }, "timeZone is for cron."],
    [{ id: "s", at: 5, startAt: 3 }, "startAt is for every."],
    [{ id: "s", at: "tomorrow" }, 'at must be a Date, or milliseconds since 1970, not "tomorrow".'],
    [{ id: "s", at: new Date("no") }, "at must be a Date"],
    [
      { id: "s", every: 1_000, overlap: "never" },
      "overlap must be one of skip, queue, cancel-previous, allow",
    ],
    [{ id: "s", every: 1_000, catchUp: "some" }, "catchUp must be one of none, last, all"],
    [
      { id: "s", every: 1_000, maxCatchUp: 5_000 },
      "maxCatchUp must be a whole number, at least 1 and at most 1000",
    ],
    [
      { id: "s", every: 1_000, jitter: -1 },
      "jitter must be whole milliseconds, at least 0 and at most 86400000",
    ],
    [{ id: "s", every: 1_000, input: () => 1 }, "input: "],
    [{ id: "s", every: 1_000, labels: { a: 1 } }, "labels.a must be a string"],
    [{ id: "s", every: 1_000, labels: { schedule: "x" } }, "labels.schedule is set by the schedule itself."],
  ])("are checked: %j", (options, message) => {
    expect(() => scheduleSpec(options as ScheduleOptions)).toThrow(message)
  })
})
