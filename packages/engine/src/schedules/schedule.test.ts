/** What is to be done when: F1 … F3, and times that were missed. */
import { describe, expect, test } from "vitest"
import type { ScheduleOptions } from "../runtime/index.ts"
import {
  changedState,
  dueAt,
  firesAt,
  isSame,
  keyOf,
  newState,
  nextStep,
  restarted,
  type ScheduleState,
} from "./schedule.ts"
import { scheduleSpec } from "./spec.ts"
import { plannedTimes } from "./times.ts"

const HOUR = 3_600_000
const hourly = { id: "s", every: HOUR } as const

function made(options: Partial<ScheduleOptions> = {}, now = 0): ScheduleState {
  const spec = scheduleSpec({ ...hourly, ...options })
  return newState(spec, false, now, plannedTimes("s", spec))
}

/** Carries out all steps at one moment: the times that get a run, and the state after them. */
function firedAt(now: number, before: ScheduleState) {
  const times = plannedTimes("s", before.spec)
  const fired: (number | undefined)[] = []
  let state = before
  for (
    let step = nextStep("s", state, now, times);
    step !== undefined;
    step = nextStep("s", state, now, times)
  ) {
    if (step.type === "fire") fired.push(step.plannedAt)
    state = step.after
  }
  return { fired, state }
}

const hours = (...numbers: number[]) => numbers.map((number) => number * HOUR)

describe("a schedule that is looked at in time", () => {
  test("fires each time once, and is due at the next", () => {
    const state = made()
    expect(dueAt("s", state)).toBe(HOUR)
    expect(firedAt(HOUR - 1, state).fired).toEqual([])
    const after = firedAt(HOUR + 5, state)
    expect(after.fired).toEqual([HOUR])
    expect(firedAt(HOUR + 5, after.state).fired).toEqual([])
    expect(dueAt("s", after.state)).toBe(2 * HOUR)
  })

  test("fires nothing again when the clock goes back (F1)", () => {
    const { state } = firedAt(5 * HOUR, made({}, 4.5 * HOUR))
    expect(firedAt(2 * HOUR, state)).toEqual({ fired: [], state })
    expect(state.next).toBe(6 * HOUR)
  })

  test("makes up for a short delay, whatever its catch-up policy is", () => {
    const state = made({ every: 10_000, catchUp: "none" })
    expect(firedAt(35_000, state).fired).toEqual([10_000, 20_000, 30_000])
  })
})

describe("after a downtime", () => {
  const five = 5.5 * HOUR
  test.each([
    ["none", {}, [], hours(1, 6)],
    ["last", {}, hours(5), hours(1, 5)],
    ["all", {}, hours(1, 2, 3, 4, 5), undefined],
    ["all", { maxCatchUp: 2 }, hours(4, 5), hours(1, 4)],
  ] as const)("catch-up %s %j fires %j", (catchUp, more, expected, missed) => {
    const { fired, state } = firedAt(five, made({ catchUp, ...more }))
    expect(fired).toEqual(expected)
    expect(state.next).toBe(6 * HOUR)
    expect(state.missed && [state.missed.from, state.missed.to]).toEqual(missed)
    expect(firedAt(6 * HOUR, state).fired).toEqual([6 * HOUR])
  })

  test("what is due at that moment is not missed", () => {
    expect(firedAt(5 * HOUR, made({ catchUp: "none" })).fired).toEqual([5 * HOUR])
    expect(firedAt(5 * HOUR, made({ catchUp: "last" })).fired).toEqual([5 * HOUR])
  })

  test("of years is bounded, and takes no time", () => {
    const year = 366 * 24 * HOUR
    const { fired, state } = firedAt(5 * year, made({ every: 1_000, catchUp: "all", maxCatchUp: 1_000 }))
    expect(fired).toHaveLength(1_000)
    expect(fired.at(-1)).toBe(5 * year)
    expect(state.missed?.from).toBe(1_000)
  })

  test("a single time that was missed is fired, unless catch-up is none", () => {
    const single = { every: undefined, at: HOUR }
    expect(firedAt(9 * HOUR, made(single)).fired).toEqual([HOUR])
    const { fired, state } = firedAt(9 * HOUR, made({ ...single, catchUp: "none" }))
    expect(fired).toEqual([])
    expect(dueAt("s", state)).toBeUndefined()
  })
})

describe("jitter", () => {
  test("delays each time by an amount of its own, always the same", () => {
    const { spec } = made({ jitter: 60_000 })
    const delays = Array.from({ length: 50 }, (_, i) => firesAt("s", spec, i * HOUR) - i * HOUR)
    expect(delays).toEqual(Array.from({ length: 50 }, (_, i) => firesAt("s", spec, i * HOUR) - i * HOUR))
    expect(new Set(delays).size).toBeGreaterThan(40)
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...delays)).toBeLessThanOrEqual(60_000)
    expect(firesAt("other", spec, HOUR)).not.toBe(firesAt("s", spec, HOUR))
  })

  test("is waited for, and keeps no time from firing", () => {
    const state = made({ jitter: 600_000, catchUp: "none" })
    const due = dueAt("s", state) as number
    expect(firedAt(due - 1, state).fired).toEqual([])
    expect(firedAt(due, state).fired).toEqual([HOUR])
    expect(firedAt(HOUR + 600_000 + 30_000, state).fired).toEqual([HOUR])
  })
})

describe("a change", () => {
  test("of anything but the timing keeps the next time", () => {
    const state = made()
    const spec = scheduleSpec({ ...hourly, input: 5, overlap: "allow" })
    const times = plannedTimes("s", spec)
    expect(isSame(state, spec, false)).toBe(false)
    expect(changedState(state, spec, false, 10 * HOUR, times).next).toBe(HOUR)
    expect(isSame(state, scheduleSpec(hourly), false)).toBe(true)
    expect(isSame(state, scheduleSpec(hourly), true)).toBe(false)
  })

  test("of the timing, and a resumption after a pause, begin anew from now on", () => {
    const state = { ...made({ catchUp: "all" }), catchUpTo: 9 * HOUR }
    const spec = scheduleSpec({ id: "s", every: 2 * HOUR })
    const times = plannedTimes("s", spec)
    expect(changedState(state, spec, false, 10.5 * HOUR, times)).toMatchObject({ next: 12 * HOUR })
    expect(restarted(state, 10.5 * HOUR, plannedTimes("s", state.spec))).toMatchObject({ next: 11 * HOUR })
  })
})

test("a paused schedule is due only for what was asked for", () => {
  const paused = { ...made(), isPaused: true, updatedAt: 7 }
  expect(dueAt("s", paused)).toBeUndefined()
  expect(firedAt(9 * HOUR, paused).fired).toEqual([])
  const asked = { ...paused, demands: [{ runId: "r" }, { runId: "q", plannedAt: HOUR }] }
  expect(dueAt("s", asked)).toBe(7)
  expect(firedAt(9 * HOUR, asked).fired).toEqual([undefined, HOUR])
})

test("a run has its planned time in its key (F3)", () => {
  expect(keyOf("daily", Date.parse("2026-03-29T01:00Z"))).toBe("schedule:daily:2026-03-29T01:00:00.000Z")
})
