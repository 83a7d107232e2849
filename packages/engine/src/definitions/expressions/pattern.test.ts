import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { Patterns, patternProblem } from "./pattern-match.ts"
import { Work } from "./work.ts"

const matches = (text: string, pattern: string) =>
  new Patterns(new Work()).isIn(text, pattern, { start: 0, end: 0 })

describe("a pattern", () => {
  it.each([
    ["abc", "b", true],
    ["abc", "^b", false],
    ["abc", "c$", true],
    ["", "^$", true],
    ["a\nb", "a.b", false],
    ["a.b", "a\\.b", true],
    ["axb", "a\\.b", false],
    ["2024-05-01", "^\\d{4}-\\d{2}-\\d{2}$", true],
    ["2024-5-01", "^\\d{4}-\\d{2}-\\d{2}$", false],
    ["aaa", "^a{2}$", false],
    ["aaa", "^a{2,}$", true],
    ["aaa", "^a{1,2}$", false],
    ["cat dog", "\\bdog\\b", true],
    ["hotdog", "\\bdog\\b", false],
    ["hotdog", "\\Bdog", true],
    ["APPROVED", "(?i)approved", true],
    ["Äpfel", "(?i)^ä", true],
    ["x-y", "[a-z-]+y", true],
    ["]", "[]]", true],
    ["b", "[^a]", true],
    ["a", "[^a]", false],
    ["é💡", "^.{2}$", true],
    ["foobar", "^(?:foo|baz)(bar)?$", true],
    ["foo", "^(foo|)$", true],
    ["tab\there", "\\t", true],
  ])("over %j, %s: %s", (text, pattern, expected) => {
    expect(matches(text, pattern)).toBe(expected)
  })

  it.each([
    "(",
    ")",
    "[a",
    "*a",
    "a**",
    "a{2",
    "a{3,2}",
    "(?=a)",
    "(?<n>a)",
    "(a)\\1",
    "\\p{L}",
    "[z-a]",
    "\\",
  ])("%s is refused", (pattern) => {
    expect(patternProblem(pattern)).toMatch(/^the pattern is not valid: /)
  })

  it.each(["(((){9999}){9999}){9999}", "(((a{0}){9999}){9999}){9999}"])(
    "%s repeats nothing, which takes no time",
    (pattern) => {
      expect(matches("x", pattern)).toBe(true)
    },
  )

  it("agrees with the regular expressions of JavaScript", () => {
    const atom = fc.constantFrom(
      "a",
      "b",
      ".",
      "[ab]",
      "[^b]",
      "\\w",
      "\\b",
      "^",
      "$",
      "(a|b)",
      "(ab|)",
      "(?:ba)",
      "c",
    )
    const times = fc.constantFrom("", "", "*", "+", "?", "{2}", "{0,2}", "{1,}", "*?")
    const part = fc.tuple(atom, times).map(([a, t]) => (/^(\^|\$|\\b)$/.test(a) ? a : a + t))
    const sequence = fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join(""))
    const pattern = fc.array(sequence, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("|"))
    const group = fc.tuple(pattern, times, sequence).map(([inner, t, after]) => `(${inner})${t}${after}`)
    const text = fc.string({ unit: fc.constantFrom("a", "b", "c", " "), maxLength: 10 })
    fc.assert(
      fc.property(fc.oneof(pattern, group), text, (source, over) => {
        expect(matches(over, source)).toBe(new RegExp(source).test(over))
      }),
      { numRuns: 2_000 },
    )
  })
})
