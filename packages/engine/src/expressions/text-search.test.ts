import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { Work } from "./evaluation.ts"
import { firstOffset, lastOffset, splitBy } from "./text-search.ts"

/** Few letters, so that parts are found, overlap, and nearly match. Long parts use another algorithm. */
const letters = (minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom("a", "b"), minLength, maxLength })
const repeated = fc.tuple(letters(1, 3), fc.integer({ min: 1, max: 60 })).map(([part, n]) => part.repeat(n))
const text = fc.oneof(
  letters(0, 200),
  repeated,
  fc.tuple(repeated, repeated).map(([a, b]) => a + b),
)

describe("a search", () => {
  it("finds the same as JavaScript, whatever the length of the part", () => {
    fc.assert(
      fc.property(text, text, fc.integer({ min: 0, max: 250 }), (whole, part, from) => {
        const work = new Work()
        const inside = Math.min(from, whole.length)
        expect(firstOffset(whole, part, inside, work)).toBe(whole.indexOf(part, inside))
        expect(lastOffset(whole, part, inside, work)).toBe(whole.lastIndexOf(part, inside))
        expect(splitBy(whole, part, work)).toEqual(part === "" ? [...whole] : whole.split(part))
      }),
      { numRuns: 2_000 },
    )
  })

  it("finds a long part at the very end, and parts that overlap", () => {
    const part = "ab".repeat(40)
    expect(lastOffset(`x${part}${part}`, part, Number.POSITIVE_INFINITY, new Work())).toBe(81)
    expect(lastOffset(`${part}ab`, part, Number.POSITIVE_INFINITY, new Work())).toBe(2)
    expect(splitBy(`${part}ab-${part}`, part, new Work())).toEqual(["", "ab-", ""])
  })
})
