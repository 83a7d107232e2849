import * as fc from "fast-check"
import { expect, test } from "vitest"
import { fromStoredName, toStoredName } from "./stored-values.ts"

test("a name is stored as in a JSON string, and read back as it was", () => {
  const plain = fc.string({ unit: "grapheme-ascii", maxLength: 40 })
  fc.assert(
    fc.property(fc.oneof(plain, fc.string({ unit: "binary" })), (name) => {
      expect(toStoredName(name)).toBe(JSON.stringify(name).slice(1, -1))
      expect(fromStoredName(toStoredName(name))).toBe(name)
    }),
  )
})

test.each(['"', "\\", "\n", "a\u0000", "\ud800", "\u007f", "é", "a\n", ""])(
  "%j is stored as in a JSON string",
  (name) => {
    expect(toStoredName(name)).toBe(JSON.stringify(name).slice(1, -1))
    expect(fromStoredName(toStoredName(name))).toBe(name)
  },
)
