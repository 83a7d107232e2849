import { expect, test } from "vitest"
import { seededRandom } from "./simulate-options.ts"

const draw = (seed: number) => {
  const random = seededRandom(seed)
  return Array.from({ length: 1_000 }, () => random.below(10))
}

test("the same seed gives the same numbers, another seed others", () => {
  expect(draw(7)).toEqual(draw(7))
  expect(draw(7)).not.toEqual(draw(8))
})

test("numbers stay in their range and reach all of it", () => {
  expect(new Set(draw(1))).toEqual(new Set([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]))
})

test("a chance of 0 never happens, and a chance of 1 always", () => {
  const random = seededRandom(3)
  for (let i = 0; i < 1_000; i++) {
    expect(random.chance(0)).toBe(false)
    expect(random.chance(1)).toBe(true)
  }
})
