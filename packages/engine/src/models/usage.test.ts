import { expect, test } from "vitest"
import { usageProblem } from "../core/index.ts"
import { ASKED, NO_USAGE, USAGE } from "./call/driven-model.test-support.ts"
import { priceTable } from "./prices.ts"
import { usageOf } from "./usage.ts"

const prices = priceTable({ "acme/*": { input: 1, output: 10, cacheRead: 0 } })
const content = [{ type: "text", text: "x".repeat(40) }] as const

test("the tokens that the provider reports are counted, with their cost", () => {
  expect(usageOf("acme/m", ASKED, content, USAGE, prices)).toEqual({
    inputTokens: 100,
    outputTokens: 10,
    modelCalls: 1,
    usd: 0.0002,
  })
})

test("a call without a price is counted as unpriced, and not as free", () => {
  const usage = usageOf("nobody/knows", ASKED, content, USAGE, prices)
  expect(usage).toEqual({ inputTokens: 100, outputTokens: 10, modelCalls: 1, unpricedCalls: 1 })
})

test("tokens that the provider does not report are estimated, and marked", () => {
  const usage = usageOf("acme/m", ASKED, content, NO_USAGE, prices)
  expect(usage).toMatchObject({ inputTokens: 6, outputTokens: 10, estimatedCalls: 1 })
})

test("parts add up to a missing total, and cached input has its own price", () => {
  const reported = {
    inputTokens: { total: undefined, noCache: 60, cacheRead: 40, cacheWrite: undefined },
    outputTokens: { total: undefined, text: 5, reasoning: 5 },
  }
  const usage = usageOf("acme/m", ASKED, content, reported, prices)
  expect(usage).toEqual({
    inputTokens: 100,
    outputTokens: 10,
    cachedInputTokens: 40,
    reasoningTokens: 5,
    modelCalls: 1,
    usd: 0.00016,
  })
})

test.each([[Number.NaN], [-5], [Number.POSITIVE_INFINITY], ["12"]])(
  "an invalid count of %s is ignored, and does not fail the reply",
  (total) => {
    const reported = {
      ...USAGE,
      outputTokens: { ...USAGE.outputTokens, total: total as number, text: undefined },
    }
    const usage = usageOf("acme/m", ASKED, content, reported, prices)
    expect(usage).toMatchObject({ outputTokens: 10, estimatedCalls: 1 })
    expect(usageProblem(usage)).toBeUndefined()
  },
)

test("a provider that reports nothing, against its types, does not fail the reply", () => {
  const usage = usageOf("acme/m", ASKED, content, {} as typeof USAGE, prices)
  expect(usage).toMatchObject({ estimatedCalls: 1 })
})
