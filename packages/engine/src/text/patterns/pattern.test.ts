import fc from "fast-check"
import { describe, expect, it, test } from "vitest"
import { compilePattern, isFound, PatternError, patternSamples } from "./index.ts"

const LIMITS = { length: 1_000, instructions: 1_000 }
const matches = (text: string, pattern: string, spend: (tries: number) => void = () => {}) =>
  isFound(compilePattern(pattern, LIMITS), text, spend)

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
    ["naïve", "^\\p{L}+$", true],
    ["a1", "^\\p{L}+$", false],
    ["a1", "^[\\p{L}\\p{Nd}]+$", true],
    ["5", "\\P{L}", true],
    ["é", "^\\u00e9$", true],
    ["é", "^\\xe9$", true],
    ["💡", "^\\u{1f4a1}$", true],
    ["💡", "^\\ud83d\\udca1$", true],
    ["💡", "^[\\u{1f4a0}-\\u{1f4a2}]$", true],
    ["\b", "^[\\b]$", true],
    ["2024", "^(?<year>\\d{4})$", true],
    ["a\u2028b", "a.b", false],
    ["passw0rd", "^(?=.*[a-z])(?=.*\\d).{8,}$", true],
    ["password", "^(?=.*[a-z])(?=.*\\d).{8,}$", false],
    ["a..b", "^(?!\\.)(?!.*\\.\\.)[a-z.]+$", false],
    ["a.b", "^(?!\\.)(?!.*\\.\\.)[a-z.]+$", true],
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
    "a(?=b)",
    "(?<=a)b",
    "(?<!a)b",
    "^(?=a)b|c",
    "^(?=a",
    "(?<n>a)\\k<n>",
    "(a)\\1",
    "\\p{Nonsense}",
    "\\p",
    "\\u12",
    "\\u{110000}",
    "\\x1",
    "(?s)a",
    "[z-a]",
    "\\",
  ])("%s is refused", (pattern) => {
    expect(() => matches("a", pattern)).toThrowError(PatternError)
  })

  it.each(["(((){9999}){9999}){9999}", "(((a{0}){9999}){9999}){9999}"])(
    "%s repeats an empty pattern, which takes no time",
    (pattern) => {
      expect(matches("x", pattern)).toBe(true)
    },
  )

  it("reports the position of a mistake, and why look-around is rejected", () => {
    expect(() => matches("a", "ab(?<=c)d")).toThrowError(/look-around.*linear time \(at character 5\)/)
    expect(() => matches("a", "(a)b\\1")).toThrowError(/back-references.*\(at character 7\)/)
    expect(() => matches("a", "a{900}{2}")).toThrowError(/two repetitions/)
    expect(() => matches("a", "(a{900}){2}")).toThrowError(/too large/)
  })

  it.each(["^(a+)+$", "^(a|a)*$", "^([a-z]+)*$", "(x+x+)+y", "^(?=(a+)+b)a$", "(.*a){20}b"])(
    "%s takes linear time",
    (pattern) => {
      const steps = (length: number) => {
        let count = 0
        matches(`${"a".repeat(length)}!`, pattern, (tries) => {
          count += tries
        })
        return count
      }
      expect(steps(100_000)).toBeLessThan(11 * steps(10_000))
    },
  )

  it("stops when the caller's budget is exhausted", () => {
    const spend = () => {
      throw new Error("enough")
    }
    expect(() => matches("aaa", "b", spend)).toThrowError("enough")
  })

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
    const ahead = fc
      .tuple(fc.constantFrom("=", "!"), sequence, sequence)
      .map(([sign, inner, after]) => `^(?${sign}${inner})${after}`)
    const group = fc.tuple(pattern, times, sequence).map(([inner, t, after]) => `(${inner})${t}${after}`)
    const text = fc.string({ unit: fc.constantFrom("a", "b", "c", " "), maxLength: 10 })
    fc.assert(
      fc.property(fc.oneof(pattern, group, ahead), text, (source, over) => {
        expect(matches(over, source)).toBe(new RegExp(source).test(over))
      }),
      { numRuns: 2_000 },
    )
  })
})

test.each([
  "^[A-Z]{3}-\\d{4}$",
  "^(foo|bar)[a-c]?$",
  "^#[0-9a-fA-F]{6}$",
  "^(?:\\d{3}\\.){2}x{1,3}$",
  "^\\p{Lu}\\p{L}*$",
  "^[^\\s]+$",
  "^é+$",
])("samples of %s match it, and are distinct", (source) => {
  const samples = patternSamples(source, 0, 5)
  expect(samples.length).toBeGreaterThan(0)
  expect(new Set(samples).size).toBe(samples.length)
  for (const sample of samples) expect(sample).toMatch(new RegExp(source, "u"))
})

test("a sample has the required length, if the pattern allows it", () => {
  expect(patternSamples("^[a-z]+$", 300, 5).some((sample) => sample.length >= 300)).toBe(true)
})

test("an invalid pattern has no samples, and a large one terminates", () => {
  expect(patternSamples("(", 0, 5)).toEqual([])
  expect(patternSamples("^((a{1000}){1000}){1000}$", 0, 2)[0]?.length).toBeLessThan(100_000)
})
