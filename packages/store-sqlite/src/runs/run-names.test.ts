import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { distinctivePart } from "./run-names.ts"

describe("the part of a search that distinguishes names", () => {
  const names = ["order-0000001\nbilling\n", "order-0000002\nbilling\n", "order-0031002\nbilling\nkey"]

  test.each([
    ["order-0000001", "0000001"],
    ["der-003", "003"],
    ["1\nbilling", "1\nb"],
    ["order-00", "order-00"],
    ["abc", "abc"],
    ["ord", "ord"],
  ])("of %j is %j, without what all names have at its ends", (text, part) => {
    expect(distinctivePart(text, names)).toBe(part)
  })

  test("is the whole text if there are no names", () => {
    expect(distinctivePart("order-0000001", [])).toBe("order-0000001")
  })

  test("is in every name that has the text, and long enough for the index", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "-", "😀"), minLength: 3, maxLength: 12 })
    fc.assert(
      fc.property(text, fc.array(text, { maxLength: 3 }), (searched, sampled) => {
        const part = distinctivePart(searched, sampled)
        expect(searched).toContain(part)
        expect([...part].length).toBeGreaterThanOrEqual(3)
      }),
    )
  })
})
