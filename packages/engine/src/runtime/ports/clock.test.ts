import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { systemClock } from "./clock.ts"

const MONTH = 30 * 24 * 3_600_000

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000 })
})
afterEach(() => {
  vi.useRealTimers()
})

test("a timer fires once, at its time", () => {
  const fired: number[] = []
  systemClock.setTimer(1_500, () => fired.push(systemClock.now()))
  vi.advanceTimersByTime(499)
  expect(fired).toEqual([])
  vi.advanceTimersByTime(10_000)
  expect(fired).toEqual([1_500])
})

test("a timer of the past fires at the next turn, not within the call", () => {
  let fired = false
  systemClock.setTimer(0, () => {
    fired = true
  })
  expect(fired).toBe(false)
  vi.advanceTimersByTime(0)
  expect(fired).toBe(true)
})

test("a timer months ahead does not fire early, though setTimeout cannot hold that long", () => {
  let fired = false
  systemClock.setTimer(1_000 + 3 * MONTH, () => {
    fired = true
  })
  vi.advanceTimersByTime(3 * MONTH - 1)
  expect(fired).toBe(false)
  vi.advanceTimersByTime(1)
  expect(fired).toBe(true)
})

test("a timer that is taken back does not fire, also months ahead", () => {
  let fired = 0
  const takeBack = [2_000, 1_000 + 3 * MONTH].map((at) => systemClock.setTimer(at, () => fired++))
  vi.advanceTimersByTime(500)
  for (const undo of takeBack) undo()
  vi.advanceTimersByTime(4 * MONTH)
  expect(fired).toBe(0)
  expect(vi.getTimerCount()).toBe(0)
})
