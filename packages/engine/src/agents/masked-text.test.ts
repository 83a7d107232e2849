import fc from "fast-check"
import { expect, test } from "vitest"
import { MaskedText } from "./live-reply.ts"

function masked(pieces: readonly string[], secrets: readonly string[]): string[] {
  const masked = new MaskedText()
  return pieces.map((piece) => masked.take(piece, secrets))
}

test("a secret that arrives in pieces is masked, and everything else is sent at once", () => {
  expect(masked(["It is hun", "ter", "2, I th", "ink."], ["hunter2"])).toEqual([
    "It is ",
    "",
    "[secret], I t",
    "hink.",
  ])
})

test("text that only looked like a secret is sent with the next piece", () => {
  expect(masked(["a hunt", " is on"], ["hunter2"])).toEqual(["a ", "hunt is on"])
})

test("no part remains of a secret that begins like another one", () => {
  expect(masked(["abcd", "ef."], ["abcd", "abcdef"])).toEqual(["", "[secret]."])
  expect(masked(["abcd", " ef"], ["abcd", "abcdef"])).toEqual(["", "[secret] ef"])
})

const letters = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 12 })
const secret = fc.string({ unit: fc.constantFrom("a", "b"), minLength: 2, maxLength: 5 })

test("however the text is split, no secret is sent, and only the beginning of one is held back", () => {
  const cases = fc.record({
    pieces: fc.array(letters, { maxLength: 8 }),
    secrets: fc.array(secret, { minLength: 1, maxLength: 3 }),
  })
  fc.assert(
    fc.property(cases, ({ pieces, secrets }) => {
      const masked = new MaskedText()
      for (const piece of pieces) masked.take(piece, secrets)
      // A mask has letters of its own; between two masks there is only original text.
      for (const text of masked.sent.split("[secret]")) {
        for (const one of secrets) expect(text).not.toContain(one)
      }
      // Everything is sent after a character that no secret contains.
      const before = masked.sent
      masked.take("|", secrets)
      const held = masked.sent.slice(before.length)
      const most = Math.max(...secrets.map(({ length }) => length))
      expect(held.replaceAll("[secret]", "").length).toBeLessThanOrEqual(most)
    }),
    { numRuns: 500 },
  )
})
