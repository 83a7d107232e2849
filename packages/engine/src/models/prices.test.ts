import { expect, test } from "vitest"
import { priceTable } from "./prices.ts"

const tokens = { input: 1_000_000, output: 100_000 }

test("a well-known model has a price, and so has a dated version of it", () => {
  const table = priceTable()
  expect(table.cost("openai/gpt-5", tokens)).toBeCloseTo(2.25)
  expect(table.cost("openai/gpt-5-2025-08-07", tokens)).toBeCloseTo(2.25)
  expect(table.cost("anthropic/claude-sonnet-4-5-20250929", tokens)).toBeCloseTo(4.5)
})

test("an unknown model has no price, and a sibling's price is not taken for its own", () => {
  const table = priceTable()
  for (const model of ["openai/gpt-5-pro", "openai/gpt-99", "acme/m1", "azure/gpt-5", "", "gpt-5"]) {
    expect(table.cost(model, tokens)).toBeUndefined()
  }
})

test("what runs on one's own machine costs nothing", () => {
  expect(priceTable().cost("ollama/llama3.2", tokens)).toBe(0)
  expect(priceTable().cost("offline/offline", tokens)).toBe(0)
  expect(priceTable().cost("ollama/gpt-oss:120b-cloud", tokens)).toBeUndefined()
})

test("one's own rows come before the built-in ones, the most precise first, in whatever order they are", () => {
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

test("input from the cache, and into it, has its own price; without one it costs what input costs", () => {
  const table = priceTable({
    "a/x": { input: 10, output: 0, cacheRead: 1, cacheWrite: 20 },
    "a/y": { input: 10, output: 0 },
  })
  const cached = { input: 1_000_000, output: 0, cacheRead: 500_000, cacheWrite: 100_000 }
  expect(table.cost("a/x", cached)).toBeCloseTo(4 + 0.5 + 2)
  expect(table.cost("a/y", cached)).toBeCloseTo(10)
  expect(table.cost("a/x", { input: 10, output: 0, cacheRead: 99 })).toBeCloseTo(0.00001)
})

test.each([[-1], [Number.NaN], [undefined]])("a price of %s is refused, and the row is named", (input) => {
  // As a table comes from a file: the types did not see it.
  const row = { input: input as number, output: 1 }
  expect(() => priceTable({ "acme/*": row })).toThrow(/The price of "acme\/\*" has no usable "input"/)
})
