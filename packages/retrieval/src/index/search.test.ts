import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import { queryWords } from "../words.ts"
import { centreOf, signBits, similarity, toSteps } from "./vectors.ts"

describe("stored vectors", () => {
  const numbers = fc.array(fc.float({ min: -1, max: 1, noNaN: true }), { minLength: 8, maxLength: 40 })

  test("are about as similar as the original vectors", () => {
    fc.assert(
      fc.property(numbers, (values) => {
        const vector = Float32Array.from(values)
        const exact = vector.reduce((sum, value) => sum + value * value, 0)
        expect(similarity(vector, toSteps(vector))).toBeCloseTo(exact, 0)
        const largest = Math.max(...vector.map(Math.abs))
        expect(Math.abs(similarity(vector, toSteps(vector)) - exact)).toBeLessThanOrEqual(
          (largest / 127) * vector.length * largest + 1e-6,
        )
      }),
    )
  })

  test("have a bit for each number: its side of the centre", () => {
    const centre = new Float32Array(10)
    expect([...signBits(Float32Array.of(1, -1, 1, 0, 0, 0, 0, 1, -1, 1), centre)]).toEqual([0b10000101, 0b10])
    const leaning = Array.from({ length: 100 }, (_, i) => Float32Array.of(5, i % 2 === 0 ? 6 : 4))
    const bits = leaning.map((vector) => signBits(vector, centreOf(leaning))[0])
    expect(new Set(bits)).toEqual(new Set([0b01, 0b11]))
  })
})

test("the significant words of a question are searched, each quoted; if there are none, all words", () => {
  expect(queryWords('What is the "capital" of Peru?')).toEqual(['"capital"', '"peru"'])
  expect(queryWords("to be or not to be")).toEqual(['"to"', '"be"', '"or"', '"not"'])
  expect(queryWords("日本の首都")).toEqual(['"日  本  の  首  都"'])
  expect(queryWords("?!")).toEqual([])
})
