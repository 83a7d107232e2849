/** How starts are timed where the clock of the store is set back. */
import * as fc from "fast-check"
import { expect, test } from "vitest"
import { paidAt, rateAdmitsAt } from "../../packages/engine/src/runtime/ports/run-flow.ts"
import { rateExcess, startsAt } from "../../packages/engine/src/testing/store-suite/rates.ts"
import { neverSetBack } from "./start-log.ts"

const RATE = { every: 25, burst: 6 }

/** The readings at which the rate admitted a start, of a clock that moves by each of the steps. */
function admitted(steps: readonly number[]): number[] {
  const starts: number[] = []
  let [now, paid] = [0, 0]
  for (const step of steps) {
    now += step
    if (now < rateAdmitsAt(RATE, paidAt(RATE, paid, now))) continue
    starts.push(now)
    paid = Math.max(paid, now) + RATE.every
  }
  return starts
}

test("times after the clock was set back continue from the time before it", () => {
  expect(neverSetBack([5, 7, 7, 6, 6, 8])).toEqual([5, 7, 7, 7, 7, 9])
})

test("a rate admits no more starts than it may by a clock that is never set back", () => {
  const steps = fc.array(fc.oneof(fc.integer({ min: 0, max: 30 }), fc.integer({ min: -3, max: 3 })), {
    minLength: 50,
    maxLength: 300,
  })
  fc.assert(
    fc.property(steps, (moves) => {
      expect(rateExcess(startsAt(neverSetBack(admitted(moves))), RATE)).toBeUndefined()
    }),
  )
})

test("a burst that was read just before and after the clock was set back is no excess", () => {
  const readings = [1_000, ...Array<number>(RATE.burst).fill(999)]
  const starts = ([earliest, ...latest]: readonly number[]) =>
    latest.map((at) => ({ earliest: earliest as number, latest: at }))
  expect(rateExcess(starts(readings), RATE)).toMatch(/^6 starts in -1 ms from 1000 on, at most 5.96/)
  expect(rateExcess(starts(neverSetBack(readings)), RATE)).toBeUndefined()
})
