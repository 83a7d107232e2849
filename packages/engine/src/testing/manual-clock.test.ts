import { expect, test } from "vitest"
import { manualClock, settled } from "./index.ts"

test("time stands still until the test moves it", async () => {
  const clock = manualClock(1_000)
  expect(clock.now()).toBe(1_000)
  await clock.advance(250)
  expect(clock.now()).toBe(1_250)
})

test("a clock starts at 0 by default", () => {
  expect(manualClock().now()).toBe(0)
})

test("timers fire in the order of their times, ties in the order they were set", async () => {
  const clock = manualClock()
  const fired: string[] = []
  for (const [name, at] of [
    ["late", 30],
    ["tie-1", 20],
    ["early", 10],
    ["tie-2", 20],
    ["tie-3", 20],
  ] as const) {
    clock.setTimer(at, () => fired.push(`${name}@${clock.now()}`))
  }
  await clock.advance(20)
  expect(fired).toEqual(["early@10", "tie-1@20", "tie-2@20", "tie-3@20"])
  await clock.advance(9)
  expect(fired).toHaveLength(4)
  await clock.advance(1)
  expect(fired.at(-1)).toBe("late@30")
})

test("a timer that is set while the clock moves fires in the same move if it is due", async () => {
  const clock = manualClock()
  const fired: number[] = []
  const again = () => {
    fired.push(clock.now())
    clock.setTimer(clock.now() + 10, again)
  }
  clock.setTimer(10, again)
  await clock.advance(35)
  expect(fired).toEqual([10, 20, 30])
  expect(clock.now()).toBe(35)
  expect(clock.pending).toBe(1)
})

test("promises settle between two timers, so that the first one's reaction comes before the second", async () => {
  const clock = manualClock()
  const order: string[] = []
  const first = new Promise<void>((resolve) => clock.setTimer(10, resolve))
  const reaction = first
    .then(() => undefined)
    .then(() => undefined)
    .then(() => order.push(`reaction@${clock.now()}`))
  clock.setTimer(10, () => order.push("second"))
  await clock.advance(10)
  await reaction
  expect(order).toEqual(["reaction@10", "second"])
})

test("a move first lets pending work set its timers", async () => {
  const clock = manualClock()
  let fired = false
  void Promise.resolve()
    .then(() => undefined)
    .then(() => clock.setTimer(5, () => (fired = true)))
  await clock.advance(5)
  expect(fired).toBe(true)
})

test("a cancelled timer does not fire, even if another timer of the same time cancels it", async () => {
  const clock = manualClock()
  const fired: string[] = []
  clock.setTimer(10, () => {
    fired.push("first")
    takeBack()
  })
  const takeBack = clock.setTimer(10, () => fired.push("second"))
  await clock.advance(10)
  takeBack()
  expect(fired).toEqual(["first"])
  expect(clock.pending).toBe(0)
})

test("advanceToNext moves to the next timer, fires all timers of that time, and returns whether there was one", async () => {
  const clock = manualClock()
  const fired: string[] = []
  clock.setTimer(40, () => fired.push("a"))
  clock.setTimer(40, () => fired.push("b"))
  clock.setTimer(41, () => fired.push("c"))
  expect(await clock.advanceToNext()).toBe(true)
  expect(clock.now()).toBe(40)
  expect(fired).toEqual(["a", "b"])
  expect(await clock.advanceToNext()).toBe(true)
  expect(await clock.advanceToNext()).toBe(false)
  expect(clock.now()).toBe(41)
})

test("a clock that is set back keeps its timers, and one that is set forward fires them with the next move", async () => {
  const clock = manualClock(100)
  const fired: number[] = []
  clock.setTimer(110, () => fired.push(clock.now()))
  clock.set(50)
  await clock.advance(59)
  expect(fired).toEqual([])
  clock.set(500)
  expect(fired).toEqual([])
  expect(clock.now()).toBe(500)
  await clock.advance(0)
  expect(fired).toEqual([500])
})

test("moves that are not awaited add up, one after another", async () => {
  const clock = manualClock()
  const fired: number[] = []
  clock.setTimer(10, () => fired.push(clock.now()))
  clock.setTimer(20, () => fired.push(clock.now()))
  void clock.advance(10)
  await clock.advance(10)
  expect(fired).toEqual([10, 20])
  expect(clock.now()).toBe(20)
})

test("an error of a timer's callback reaches the code that moved the clock, and the clock keeps working", async () => {
  const clock = manualClock()
  clock.setTimer(1, () => {
    throw new Error("boom")
  })
  await expect(clock.advance(1)).rejects.toThrow("boom")
  await clock.advance(1)
  expect(clock.now()).toBe(2)
})

test("a clock does not advance backwards", () => {
  expect(() => manualClock().advance(-1)).toThrow(expect.objectContaining({ code: "CLOCK_INVALID" }))
  expect(() => manualClock().advance(Number.NaN)).toThrow("set(time) to go back")
})

test("settled resolves after every promise that follows from settled ones", async () => {
  let steps = 0
  void (async () => {
    for (; steps < 1_000; steps++) await undefined
  })()
  await settled()
  expect(steps).toBe(1_000)
})
