import { expect, it } from "vitest"
import { cost, duration, spent, tokens } from "./figures.ts"

it.each([
  [0, "0 ms"],
  [820, "820 ms"],
  [3_240, "3.2 s"],
  [59_940, "59.9 s"],
  [59_960, "1 m 0 s"],
  [72_000, "1 m 12 s"],
  [3_720_000, "1 h 2 m"],
])("%d ms is %s", (ms, text) => expect(duration(ms)).toBe(text))

it("tokens that were estimated have a ~", () => {
  expect(tokens({ inputTokens: 1_000, outputTokens: 204 })).toBe("1,204 tokens")
  expect(tokens({ inputTokens: 1, estimatedCalls: 1 })).toBe("~1 token")
})

it("money that is not known is not zero", () => {
  expect(cost({ modelCalls: 1, usd: 0.0031 })).toBe("$0.0031")
  expect(cost({ modelCalls: 1, usd: 0 })).toBe("$0")
  expect(cost({ modelCalls: 1, unpricedCalls: 1 })).toBe("cost unknown")
  expect(cost({ modelCalls: 2, unpricedCalls: 1, usd: 1.5 })).toBe("at least $1.50")
  expect(cost({ modelCalls: 1, estimatedCalls: 1, usd: 0.25 })).toBe("~$0.250")
  expect(cost({ modelCalls: 1, usd: 0.00001 })).toBe("<$0.0001")
})

it("nothing is said of models where none was asked", () => {
  expect(spent({ toolCalls: 3 })).toEqual([])
})
