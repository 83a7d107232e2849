import { expect, test } from "vitest"
import { patternSamples } from "./index.ts"

test.each([
  "^[A-Z]{3}-\\d{4}$",
  "^(foo|bar)[a-c]?$",
  "^#[0-9a-fA-F]{6}$",
  "^(?:\\d{3}\\.){2}x{1,3}$",
  "^\\p{Lu}\\p{L}*$",
  "^[^\\s]+$",
  "^é+$",
])("samples of %s match it, and differ", (source) => {
  const samples = patternSamples(source, 0, 5)
  expect(samples.length).toBeGreaterThan(0)
  expect(new Set(samples).size).toBe(samples.length)
  for (const sample of samples) expect(sample).toMatch(new RegExp(source, "u"))
})

test("a sample is as long as it has to be, where the pattern allows it", () => {
  expect(patternSamples("^[a-z]+$", 300, 5).some((sample) => sample.length >= 300)).toBe(true)
})

test("a pattern that cannot be read has none, and a large one ends", () => {
  expect(patternSamples("(", 0, 5)).toEqual([])
  expect(patternSamples("^((a{1000}){1000}){1000}$", 0, 2)[0]?.length).toBeLessThan(100_000)
})
