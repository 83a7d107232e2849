import { expect, test } from "vitest"
import { age, shortCost, shortCount, shortTokens, size } from "./amounts.ts"

test.each([
  [0, "0"],
  [999, "999"],
  [1_000, "1.0k"],
  [1_234, "1.2k"],
  [12_345, "12k"],
  [999_400, "999k"],
  [999_600, "1.0M"],
  [34_000_000, "34M"],
])("%d is counted as %s", (count, text) => {
  expect(shortCount(count)).toBe(text)
})

test("tokens are input and output together, marked where they were estimated", () => {
  expect(shortTokens({})).toBe("-")
  expect(shortTokens({ inputTokens: 700, outputTokens: 50 })).toBe("750")
  expect(shortTokens({ inputTokens: 700, estimatedCalls: 1 })).toBe("~700")
})

test("a cost that is not known is never told as nothing", () => {
  expect(shortCost({})).toBe("-")
  expect(shortCost({ modelCalls: 2, unpricedCalls: 2 })).toBe("unknown")
  expect(shortCost({ modelCalls: 2, unpricedCalls: 1, usd: 2.5 })).toBe(">$2.50")
  expect(shortCost({ modelCalls: 1, usd: 0.00123 })).toBe("$0.0012")
  expect(shortCost({ modelCalls: 1, usd: 0 })).toBe("$0")
  expect(shortCost({ modelCalls: 1, usd: 2, estimatedCalls: 1 })).toBe("~$2.00")
})

test.each([
  [-5, "0s"],
  [59_999, "59s"],
  [60_000, "1m"],
  [3_600_000, "1h"],
  [172_800_000, "2d"],
])("%d ms ago is %s old", (ms, text) => {
  expect(age(ms)).toBe(text)
})

test.each([
  [812, "812 B"],
  [1_229, "1.2 KB"],
  [35_651_584, "34 MB"],
])("%d bytes are %s", (bytes, text) => {
  expect(size(bytes)).toBe(text)
})
