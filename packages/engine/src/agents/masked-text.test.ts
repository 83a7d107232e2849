import fc from "fast-check"
import { expect, test } from "vitest"
import { MaskedText } from "./masked-text.ts"

function told(pieces: readonly string[], secrets: readonly string[]): string[] {
  const masked = new MaskedText()
  return pieces.map((piece) => masked.take(piece, secrets))
}

test("a secret that comes in pieces is masked, and all else is told at once", () => {
  expect(told(["It is hun", "ter", "2, I th", "ink."], ["hunter2"])).toEqual([
    "It is ",
    "",
    "[secret], I t",
    "hink.",
  ])
})

test("what only looked like a secret comes with the next piece", () => {
  expect(told(["a hunt", " is on"], ["hunter2"])).toEqual(["a ", "hunt is on"])
})

test("of a secret that begins like another one nothing stays behind", () => {
  expect(told(["abcd", "ef."], ["abcd", "abcdef"])).toEqual(["", "[secret]."])
  expect(told(["abcd", " ef"], ["abcd", "abcdef"])).toEqual(["", "[secret] ef"])
})

const letters = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 12 })
const secret = fc.string({ unit: fc.constantFrom("a", "b"), minLength: 2, maxLength: 5 })

test("however a text is cut, no secret is told, and what is held back is the beginning of one", () => {
  const cases = fc.record({
    pieces: fc.array(letters, { maxLength: 8 }),
    secrets: fc.array(secret, { minLength: 1, maxLength: 3 }),
  })
  fc.assert(
    fc.property(cases, ({ pieces, secrets }) => {
      const masked = new MaskedText()
      for (const piece of pieces) masked.take(piece, secrets)
      // A mark has letters of its own; between two of them there is nothing but what was said.
      for (const text of masked.told.split("[secret]")) {
        for (const one of secrets) expect(text).not.toContain(one)
      }
      // Everything comes out when something follows that no secret has.
      const before = masked.told
      masked.take("|", secrets)
      const held = masked.told.slice(before.length)
      const most = Math.max(...secrets.map(({ length }) => length))
      expect(held.replaceAll("[secret]", "").length).toBeLessThanOrEqual(most)
    }),
    { numRuns: 500 },
  )
})
