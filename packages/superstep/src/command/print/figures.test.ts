import { expect, it, test } from "vitest"
import { age, cost, duration, shortCost, shortCount, shortTokens, size, spent, tokens } from "./figures.ts"

it.each([
  [0, "0 ms"],
  [820, "820 ms"],
  [3_240, "3.2 s"],
  [59_940, "59.9 s"],
  [59_960, "1 m 0 s"],
  [72_000, "1 m 12 s"],
  [3_720_000, "1 h 2 m"],
])("%d ms is %s", (ms, text) => expect(duration(ms)).toBe(text))

it("estimated tokens have a ~", () => {
  expect(tokens({ inputTokens: 1_000, outputTokens: 204 })).toBe("1,204 tokens")
  expect(tokens({ inputTokens: 1, estimatedCalls: 1 })).toBe("~1 token")
})

it("an unknown amount of money is not zero", () => {
  expect(cost({ modelCalls: 1, usd: 0.0031 })).toBe("$0.0031")
  expect(cost({ modelCalls: 1, usd: 0 })).toBe("$0")
  expect(cost({ modelCalls: 1, unpricedCalls: 1 })).toBe("cost unknown")
  expect(cost({ modelCalls: 2, unpricedCalls: 1, usd: 1.5 })).toBe("at least $1.50")
  expect(cost({ modelCalls: 1, estimatedCalls: 1, usd: 0.25 })).toBe("~$0.250")
  expect(cost({ modelCalls: 1, usd: 0.00001 })).toBe("<$0.0001")
})

it("models are not mentioned if none was called", () => {
  expect(spent({ toolCalls: 3 })).toEqual([])
})

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

test("tokens are the sum of input and output, marked if they are estimated", () => {
  expect(shortTokens({})).toBe("-")
  expect(shortTokens({ inputTokens: 700, outputTokens: 50 })).toBe("750")
  expect(shortTokens({ inputTokens: 700, estimatedCalls: 1 })).toBe("~700")
})

test("an unknown cost is never shown as zero", () => {
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
