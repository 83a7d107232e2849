import { describe, expect, test } from "vitest"
import { addUsage, exhausted, usageProblem } from "./usage.ts"

describe("adding", () => {
  test("adds counter by counter, and leaves its arguments as they were", () => {
    const total = { inputTokens: 10, usd: 0.5 }
    expect(addUsage(total, { inputTokens: 5, outputTokens: 7, usd: 0.25 })).toEqual({
      inputTokens: 15,
      outputTokens: 7,
      usd: 0.75,
    })
    expect(total).toEqual({ inputTokens: 10, usd: 0.5 })
  })

  test("an unknown price stays unknown: absent is not zero", () => {
    expect(addUsage({ modelCalls: 1 }, { modelCalls: 1 })).toEqual({ modelCalls: 2 })
    expect(addUsage({}, { usd: 0 })).toEqual({ usd: 0 })
    expect(addUsage({ usd: 1 }, { usd: undefined })).toEqual({ usd: 1 })
  })
})

describe("what cannot be counted", () => {
  test.each<[string, object, RegExp]>([
    ["a negative number", { inputTokens: -1 }, /inputTokens/],
    ["NaN", { usd: Number.NaN }, /usd/],
    ["Infinity", { usd: Number.POSITIVE_INFINITY }, /usd/],
    ["text", { toolCalls: "1" }, /toolCalls/],
    ["null", { toolCalls: null }, /toolCalls/],
    ["a counter that does not exist", { tokens: 5 }, /"tokens" is not a counter.*inputTokens/],
  ])("%s is named", (_, usage, message) => {
    expect(usageProblem(usage)).toMatch(message)
  })

  test("zero, fractions and nothing can", () => {
    expect(usageProblem({ inputTokens: 0, usd: 0.001, iterations: undefined })).toBeUndefined()
    expect(usageProblem({})).toBeUndefined()
  })
})

describe("a budget", () => {
  test("is used up when what was used reaches it", () => {
    expect(exhausted({ modelCalls: 2 }, { modelCalls: 1 })).toEqual([])
    expect(exhausted({ modelCalls: 2 }, { modelCalls: 2 })).toEqual(["modelCalls"])
    expect(exhausted({ modelCalls: 0 }, {})).toEqual(["modelCalls"])
  })

  test("counts tokens in and out together", () => {
    expect(exhausted({ tokens: 10 }, { inputTokens: 4, outputTokens: 5 })).toEqual([])
    expect(exhausted({ tokens: 10 }, { inputTokens: 4, outputTokens: 6 })).toEqual(["tokens"])
  })

  test("names every part that is used up, in a fixed order", () => {
    const usage = { iterations: 1, usd: 2, toolCalls: 3 }
    expect(exhausted({ iterations: 1, usd: 1, toolCalls: 9 }, usage)).toEqual(["usd", "iterations"])
  })

  test("does not limit what it does not name", () => {
    expect(exhausted({}, { inputTokens: 1e12, usd: 1e6 })).toEqual([])
  })
})
