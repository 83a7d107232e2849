import { describe, expect, it } from "vitest"
import {
  limitsOf,
  parseBudget,
  parseCount,
  parseDuration,
  parseModel,
  parsePrice,
  parseSet,
  parseSetSecret,
  parseTime,
} from "./flags.ts"

describe("a time", () => {
  it.each([
    ["90s", 90_000],
    ["2m", 120_000],
    ["1h30m", 5_400_000],
    ["500ms", 500],
    ["1.5s", 1_500],
    ["30d", 2_592_000_000],
    ["10", 10_000],
  ])("%s is %d ms", (text, milliseconds) => expect(parseDuration(text)).toBe(milliseconds))

  it.each(["", "abc", "-1s", "0s", "5x", "s", "1e9d", "Infinity", "99999999999999999d"])(
    "refuses %j",
    (text) => expect(() => parseDuration(text)).toThrow("Write a time above 0, for example 90s"),
  )
})

describe("a budget", () => {
  it("has tokens, dollars and seconds, one or more of them", () => {
    expect(parseBudget("tokens=1000,usd=.5,seconds=60")).toEqual({ tokens: 1000, usd: 0.5, seconds: 60 })
  })

  it.each(["", "tokens", "tokens=", "tokens=-1", "usd=0", "euro=3", "tokens=1;usd=2"])("refuses %j", (text) =>
    expect(() => parseBudget(text)).toThrow("Write one or more of tokens=10000,usd=0.5,seconds=60,"),
  )

  it("has calls and iterations, and a misspelled part is reported with the nearest one", () => {
    const calls = { modelCalls: 3, toolCalls: 4, iterations: 5 }
    expect(parseBudget("modelCalls=3,toolCalls=4,iterations=5")).toEqual(calls)
    expect(limitsOf({ budget: calls })).toEqual({ budget: calls })
    for (const [written, meant] of [
      ["modelcalls=3", "modelCalls"],
      ["token=5", "tokens"],
      ["second=5", "seconds"],
    ] as const) {
      expect(() => parseBudget(written)).toThrow(`Did you mean "${meant}"?`)
    }
  })

  it("limits the time together with --timeout: the shorter one applies", () => {
    expect(limitsOf({ timeout: 5_000, budget: { seconds: 2, usd: 1 } })).toEqual({
      timeout: 2_000,
      budget: { usd: 1 },
    })
    expect(limitsOf({ maxSteps: 7 })).toEqual({ limits: { supersteps: 7 } })
    // A graph counts them itself, from when it is loaded.
    expect(limitsOf({ maxSteps: 7 }, "graph")).toEqual({})
  })
})

describe("--model", () => {
  it("is for all agents, or for one, and is repeatable", () => {
    const choices = parseModel("b=openai/gpt-5", parseModel("a=offline", parseModel("scripted:x=y.yaml")))
    expect(choices).toEqual({ all: "scripted:x=y.yaml", byAgent: { a: "offline", b: "openai/gpt-5" } })
  })

  it.each(["=offline", "a=", " "])("refuses %j", (text) =>
    expect(() => parseModel(text)).toThrow("AGENT=NAME"),
  )
})

it("--set splits at the first =", () => {
  expect(parseSet("b=2", parseSet("a=x=y"))).toEqual({ a: "x=y", b: "2" })
  expect(() => parseSet("=1")).toThrow("key=value")
})

it("a count is a whole number of at least 1", () => {
  expect(parseCount("12")).toBe(12)
  for (const text of ["0", "-1", "1.5", "x", ""]) expect(() => parseCount(text)).toThrow("at least 1")
})

describe("--since and --until", () => {
  it("are a day or a time of this place, a time of another, or a time ago", () => {
    expect(parseTime("2026-05-01")).toBe(new Date(2026, 4, 1).getTime())
    expect(parseTime("2026-05-01T09:30")).toBe(new Date(2026, 4, 1, 9, 30).getTime())
    expect(parseTime("2026-05-01T09:30:00Z")).toBe(Date.UTC(2026, 4, 1, 9, 30))
    const ago = Date.now() - parseTime("2h")
    expect(Math.abs(ago - 7_200_000)).toBeLessThan(60_000)
  })

  it.each(["yesterday", "2026-13-01", "2026-05-01T99:00", "-1h", ""])("are not %j", (text) =>
    expect(() => parseTime(text)).toThrow("Write a time ago or a date"),
  )
})

it("--set-secret takes a value, or the name of an environment variable, and repeats no value in an error", () => {
  expect(parseSetSecret("b", parseSetSecret("a=x=y"))).toEqual({ a: "x=y", b: undefined })
  expect(() => parseSetSecret("=hunter2")).toThrow(/^Write --set-secret KEY=VALUE, or --set-secret KEY\.$/)
})

describe("--price", () => {
  it("is the input and the output price of a model, for several models", () => {
    const first = parsePrice("azure/gpt=1.25,10")
    expect(parsePrice("openai-compatible/a/b=0,.5", first)).toEqual({
      "azure/gpt": { input: 1.25, output: 10 },
      "openai-compatible/a/b": { input: 0, output: 0.5 },
    })
  })

  it.each(["azure/gpt", "gpt=1,2", "azure/gpt=1", "azure/gpt=1,x"])("refuses %j", (text) =>
    expect(() => parsePrice(text)).toThrow("provider/model=INPUT,OUTPUT"),
  )
})
