import { expect, test } from "vitest"
import { type PoolState, SlotAdmission, type SlotLane } from "./slots.ts"

const EMPTY: PoolState = { paid: new Map() }
const lane = (burst: number, cost?: number): readonly SlotLane[] => [
  { name: "rate", rate: { every: 100, burst }, cost },
]

/** What is admitted at a time, and the pool after it. */
function at(now: number, state: PoolState, ...asked: (readonly SlotLane[])[]) {
  const admission = new SlotAdmission(now, state)
  const admitted = asked.map((lanes) => admission.admit(lanes))
  return { admitted, state: admission.state, retryIn: admission.retryIn }
}

test("a rate refills with time, up to its burst", () => {
  const one = at(1_000, EMPTY, lane(3), lane(3), lane(3), lane(3))
  expect(one).toMatchObject({ admitted: [true, true, true, false], retryIn: 100 })
  expect(at(1_099, one.state, lane(3))).toMatchObject({ admitted: [false], retryIn: 1 })
  expect(at(1_100, one.state, lane(3), lane(3)).admitted).toEqual([true, false])
  const later = at(90_000, one.state, lane(3), lane(3), lane(3), lane(3))
  expect(later.admitted).toEqual([true, true, true, false])
  expect(at(2_000, one.state).state.paid.size).toBe(0)
})

test("a slot of a large cost waits until there is room for it, and none overtakes it", () => {
  const one = at(0, EMPTY, lane(10, 4), lane(10, 8), lane(10, 1))
  expect(one).toMatchObject({ admitted: [true, false, false], retryIn: 200 })
  expect(at(200, one.state, lane(10, 8), lane(10, 1)).admitted).toEqual([true, false])
})

test("a slot that costs more than a burst waits for a full pause", () => {
  const one = at(0, EMPTY, lane(10, 1))
  expect(at(99, one.state, lane(10, 500)).admitted).toEqual([false])
  const two = at(100, one.state, lane(10, 500))
  expect(two.admitted).toEqual([true])
  expect(at(1_099, two.state, lane(10, 10)).admitted).toEqual([false])
  expect(at(1_100, two.state, lane(10, 10)).admitted).toEqual([true])
})

test("what a slot cost in the end replaces what it was expected to, and delays others by a burst more at most", () => {
  const one = at(0, EMPTY, lane(10, 6))
  const less = new SlotAdmission(0, one.state)
  less.leave(lane(10, 6), { costs: [1] })
  expect(at(0, less.state, lane(10, 9), lane(10, 1)).admitted).toEqual([true, false])
  const more = new SlotAdmission(500, one.state)
  more.leave(lane(10, 6), { costs: [1_000] })
  expect(at(500, more.state, lane(10, 1)).retryIn).toBe(1_100)
  expect(at(2_499, more.state, lane(10, 10)).admitted).toEqual([false])
  expect(at(2_500, more.state, lane(10, 10)).admitted).toEqual([true])
})

test("a pool that is closed admits nobody, for the longest of the times", () => {
  const admission = new SlotAdmission(0, EMPTY)
  admission.leave([], { closeFor: 300 })
  admission.leave([], { closeFor: 200 })
  expect(at(299, admission.state, lane(1))).toMatchObject({ admitted: [false], retryIn: 1 })
  expect(at(300, admission.state, lane(1)).admitted).toEqual([true])
})

test("a clock that is set back keeps nobody out: it admits one, and the rate counts from then on", () => {
  const admission = new SlotAdmission(1_000_000, at(1_000_000, EMPTY, lane(2), lane(2)).state)
  admission.leave([], { closeFor: 60_000 })
  const back = at(1_000, admission.state, lane(2), lane(2), lane(2))
  expect(back).toMatchObject({ admitted: [true, false, false], retryIn: 100 })
  const large = at(1_000, admission.state, lane(20, 7), lane(20, 1))
  expect(large).toMatchObject({ admitted: [true, false], retryIn: 100 })
})
