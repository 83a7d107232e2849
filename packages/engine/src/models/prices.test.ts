import { expect, test } from "vitest"
import { priceTable } from "./prices.ts"

const tokens = { input: 1_000_000, output: 100_000 }

test("a well-known model has a price, and so has a dated version of it", () => {
  const table = priceTable()
  expect(table.cost("openai/gpt-5", tokens)).toBeCloseTo(2.25)
  expect(table.cost("openai/gpt-5-2025-08-07", tokens)).toBeCloseTo(2.25)
  expect(table.cost("anthropic/claude-sonnet-4-5-20250929", tokens)).toBeCloseTo(4.5)
})

test.each([
  // 1,000,000 input tokens, 200,000 of them from the cache, and 100,000 output tokens.
  ["openai/gpt-4.1", 0.8 * 2 + 0.2 * 0.5 + 0.1 * 8],
  ["openai/gpt-4o-mini", 0.8 * 0.15 + 0.2 * 0.075 + 0.1 * 0.6],
  ["openai/gpt-5.4-nano", 0.8 * 0.2 + 0.2 * 0.02 + 0.1 * 1.25],
  ["openai/o4-mini", 0.8 * 1.1 + 0.2 * 0.275 + 0.1 * 4.4],
  ["anthropic/claude-opus-4-5", 0.8 * 5 + 0.2 * 0.5 + 0.1 * 25],
  ["anthropic/claude-opus-5-5", 0.8 * 4 + 0.2 * 0.2 + 0.1 * 20],
  ["anthropic/claude-sonnet-5-5", 0.8 * 2 + 0.2 * 0.1 + 0.1 * 10],
  ["anthropic/claude-haiku-4-5-20251001", 0.8 * 1 + 0.2 * 0.1 + 0.1 * 5],
  // A million is a long prompt here: input and cache twice the price, output half as much again.
  ["openai/gpt-6.1-sol", 0.8 * 4 + 0.2 * 0.2 + 0.1 * 15],
  ["openai/gpt-5.5", 0.8 * 10 + 0.2 * 1 + 0.1 * 45],
  // And here five times.
  ["anthropic/claude-haiku-5-5", 0.8 * 0.5 + 0.2 * 0.05 + 0.1 * 2.5],
])("a call of %s costs what its parts cost", (model, usd) => {
  expect(priceTable().cost(model, { ...tokens, cacheRead: 200_000 })).toBeCloseTo(usd, 10)
})

test("cache writes cost a quarter more than input, at Anthropic and at OpenAI since GPT-5.6", () => {
  const written = { input: 100_000, output: 0, cacheWrite: 100_000 }
  expect(priceTable().cost("anthropic/claude-sonnet-4-6", written)).toBeCloseTo(0.1 * 3.75, 10)
  expect(priceTable().cost("anthropic/claude-haiku-5-5", written)).toBeCloseTo(0.1 * 0.125, 10)
  expect(priceTable().cost("openai/gpt-6-luna", written)).toBeCloseTo(0.1 * 0.125, 10)
  expect(priceTable().cost("openai/gpt-5.5", written)).toBeCloseTo(0.1 * 5, 10)
})

test("a long prompt has its own price, from one token above the threshold, for the whole call", () => {
  const table = priceTable({ "a/x": { input: 1, output: 2, long: { above: 100, input: 10, output: 20 } } })
  expect(table.cost("a/x", { input: 100, output: 10 })).toBeCloseTo(120e-6, 10)
  expect(table.cost("a/x", { input: 101, output: 10 })).toBeCloseTo(1210e-6, 10)
  // Without a price for it, the cache costs what long input costs.
  expect(table.cost("a/x", { input: 101, output: 0, cacheRead: 101 })).toBeCloseTo(1010e-6, 10)
})

test("temporary prices, and versions with another price, are unknown", () => {
  for (const model of ["openai/gpt-5.6-sol", "openai/gpt-5.6", "openai/gpt-4o-2024-05-13"]) {
    expect(priceTable().cost(model, tokens)).toBeUndefined()
  }
})

test("an unknown model has no price, and does not get that of a sibling", () => {
  const table = priceTable()
  for (const model of ["openai/gpt-5-pro", "openai/gpt-99", "acme/m1", "azure/gpt-5", "", "gpt-5"]) {
    expect(table.cost(model, tokens)).toBeUndefined()
  }
})

test("local models are free", () => {
  expect(priceTable().cost("ollama/llama3.2", tokens)).toBe(0)
  expect(priceTable().cost("offline/offline", tokens)).toBe(0)
  expect(priceTable().cost("ollama/gpt-oss:120b-cloud", tokens)).toBeUndefined()
})

test("the user's rows override the built-in ones, the most specific first, in any order", () => {
  const table = priceTable({
    "openai/*": { input: 1, output: 1 },
    "openai/gpt-5*": { input: 2, output: 2 },
    "*": { input: 9, output: 9 },
  })
  expect(table.priceOf("openai/gpt-5")?.input).toBe(2)
  expect(table.priceOf("openai/gpt-5-pro")?.input).toBe(2)
  expect(table.priceOf("openai/o3")?.input).toBe(1)
  expect(table.priceOf("anthropic/claude-sonnet-4-5")?.input).toBe(9)
})

test("null makes a price unknown", () => {
  expect(priceTable({ "openai/gpt-5": null }).cost("openai/gpt-5", tokens)).toBeUndefined()
})

test("only the star is special in a pattern", () => {
  const table = priceTable({ "acme/m.1(a)+[b]": { input: 1, output: 1 } })
  expect(table.priceOf("acme/m.1(a)+[b]")).toBeDefined()
  expect(table.priceOf("acme/mx1(a)+[b]")).toBeUndefined()
})

test("cache reads and writes have their own price; without one they cost as much as input", () => {
  const table = priceTable({
    "a/x": { input: 10, output: 0, cacheRead: 1, cacheWrite: 20 },
    "a/y": { input: 10, output: 0 },
  })
  const cached = { input: 1_000_000, output: 0, cacheRead: 500_000, cacheWrite: 100_000 }
  expect(table.cost("a/x", cached)).toBeCloseTo(4 + 0.5 + 2)
  expect(table.cost("a/y", cached)).toBeCloseTo(10)
  expect(table.cost("a/x", { input: 10, output: 0, cacheRead: 99 })).toBeCloseTo(0.00001)
})

test.each([[-1], [Number.NaN], [undefined]])("a price of %s is rejected with its row", (input) => {
  // Like a table from a file, which the types do not check.
  const row = { input: input as number, output: 1 }
  expect(() => priceTable({ "acme/*": row })).toThrow(/The price of "acme\/\*" has no valid "input"/)
})

test("the price of long input is checked too", () => {
  const long = { above: 1, input: 1, output: -1 }
  expect(() => priceTable({ "acme/*": { input: 1, output: 1, long } })).toThrow(/no valid "long.output"/)
  const mark = { above: Number.NaN, input: 1, output: 1 }
  expect(() => priceTable({ "acme/*": { input: 1, output: 1, long: mark } })).toThrow(/no valid "long.above"/)
})
