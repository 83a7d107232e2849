import { expect, test } from "vitest"
import { budgetView } from "./budget-view.ts"
import { costView, heatMarks, nodeHeat, rangeOf, trendWords, withBefore } from "./cost-view.ts"

const NOW = Date.parse("2026-03-10T15:00:00Z")

test("a range is days up to today, or those of the address; what is wrong is left out", () => {
  expect(rangeOf(new URLSearchParams(""), NOW)).toEqual({ from: "2026-02-09", to: "2026-03-10", days: 30 })
  expect(rangeOf(new URLSearchParams("days=7"), NOW)).toEqual({
    from: "2026-03-04",
    to: "2026-03-10",
    days: 7,
  })
  expect(rangeOf(new URLSearchParams("from=2026-01-01&to=2026-01-31"), NOW).days).toBe(31)
  expect(rangeOf(new URLSearchParams("from=2026-02-01&to=2026-01-01&days=-4"), NOW).days).toBe(30)
  expect(withBefore({ from: "2026-03-04", to: "2026-03-10" })).toEqual({
    from: "2026-02-25",
    to: "2026-03-10",
  })
})

test("costs are summed by group with share and trend, and every day of the range has a bar", () => {
  const runs = (completed: number, failed = 0) => ({ completed, failed, cancelled: 0, limit: 0 })
  const view = costView(
    [
      { day: "2026-03-07", workflow: "a", runs: runs(9), usage: { usd: 2 } },
      { day: "2026-03-08", workflow: "a", runs: runs(2), usage: { usd: 3, inputTokens: 10 } },
      { day: "2026-03-10", workflow: "a", runs: runs(0, 1), usage: { outputTokens: 5 } },
      { day: "2026-03-10", workflow: "b", runs: runs(1), usage: { usd: 1 } },
    ],
    { from: "2026-03-08", to: "2026-03-10" },
    "workflow",
  )
  expect(view.days).toEqual([
    { day: "2026-03-08", usd: 3 },
    { day: "2026-03-09", usd: 0 },
    { day: "2026-03-10", usd: 1 },
  ])
  expect(view.rows).toEqual([
    { name: "a", usd: 3, tokens: 15, share: 0.75, before: 2, runs: 3, failed: 1 },
    { name: "b", usd: 1, tokens: 0, share: 0.25, before: 0, runs: 1, failed: 0 },
  ])
  expect(view.total).toEqual({ usd: 4, tokens: 15, before: 2, runs: 4, failed: 1 })
})

test("days are listed newest first, and those before the range are not", () => {
  const groups = ["2026-03-06", "2026-03-08", "2026-03-09"].map((day) => ({ day, usage: { usd: 1 } }))
  const { rows } = costView(groups, { from: "2026-03-08", to: "2026-03-09" }, "day")
  expect(rows.map(({ name, runs }) => [name, runs])).toEqual([
    ["2026-03-09", undefined],
    ["2026-03-08", undefined],
  ])
})

test("a trend compares with as many days before", () => {
  expect([trendWords(3, 2), trendWords(1, 2), trendWords(2, 2), trendWords(1, 0), trendWords(0, 0)]).toEqual([
    "+50%",
    "−50%",
    "±0%",
    "new",
    "–",
  ])
  expect(trendWords(50, 1)).toBe("×50")
})

test("the hottest node of each kind has the heat 1, and marks say its figure in words", () => {
  // Time is that of all tasks: four tasks of 100 ms are hotter than two of 150.
  const nodes = nodeHeat([
    { id: "a", tasks: 4, failed: 1, milliseconds: 100, usage: {} },
    { id: "b", tasks: 2, failed: 0, milliseconds: 150, usage: { usd: 2 } },
  ])
  expect(nodes.map(({ id, took, heat }) => [id, took, heat])).toEqual([
    ["b", 150, { cost: 1, time: 0.75, failures: 0 }],
    ["a", 100, { cost: 0, time: 1, failures: 0.25 }],
  ])
  expect(heatMarks(nodes, "failures").get("a")).toEqual({ share: 0.25, words: "1 of 4 failed", isBad: true })
  expect(heatMarks(nodes, "time").get("b")?.words).toBe("150 ms · 2 tasks")
})

test("nodes with the same id are those of their workflows", () => {
  const groups = ["a", "b"].map((workflow) => ({
    day: "2026-03-08",
    workflow,
    node: "draft",
    usage: { usd: 1 },
  }))
  const { rows } = costView(groups, { from: "2026-03-08", to: "2026-03-08" }, "node")
  expect(rows.map(({ name, share }) => [name, share])).toEqual([
    ["a › draft", 0.5],
    ["b › draft", 0.5],
  ])
})

const KEY = { id: "k", prefix: "ss_k", name: "ci", role: "operator", createdAt: 0, createdBy: "ada" } as const

test("a budget of a day is forecast from the part of the day that has passed", () => {
  // Six in the morning: a quarter of the day.
  const now = Date.parse("2026-03-10T06:00:00Z")
  const view = (usd: number) =>
    budgetView({ ...KEY, budget: { per: "day", usd: 8 }, used: { usd, tokens: 0 } }, [], now)
  expect(view(1)).toMatchObject({ share: 0.125, words: "Lasts the day: 50% at this rate." })
  expect(view(1)?.forecast).toEqual([
    { x: 0.25, left: 0.875 },
    { x: 1, left: 0.5 },
  ])
  // At four dollars in six hours, the other four last six hours more.
  expect(view(4)).toMatchObject({ words: "Used up in 6 h at the rate of today." })
  expect(view(4)?.forecast.at(-1)).toEqual({ x: 0.5, left: 0 })
  expect(view(9)).toMatchObject({ words: "Used up until midnight UTC.", forecast: [] })
  expect(view(0)?.words).toBe("Nothing is spent today.")
})

test("a budget in total burns down by day, and the part that is used up first counts", () => {
  const now = Date.parse("2026-03-10T00:00:00Z")
  const days = Array.from({ length: 14 }, (_, i) => ({ day: `${i}`, usd: 1, tokens: 0 }))
  const key = {
    ...KEY,
    budget: { per: "total" as const, usd: 40, tokens: 1_000 },
    used: { usd: 20, tokens: 10 },
  }
  const view = budgetView(key, days, now)
  expect(view).toMatchObject({ unit: "usd", used: 20, share: 0.5 })
  expect(view?.burn[0]).toEqual({ x: 0, left: 34 / 40 })
  expect(view?.burn.at(-1)).toEqual({ x: 0.5, left: 0.5 })
  // Fourteen dollars in thirteen days that are over: 20 more last 18 days and 13.7 hours, beyond the chart.
  expect(view?.words).toBe("Used up in 18 d 14 h at this rate.")
  expect(view?.forecast.at(-1)?.x).toBe(1)
  expect(budgetView({ ...key, revokedAt: 1 }, days, now)).toBeUndefined()
  expect(budgetView(KEY, days, now)).toBeUndefined()
})
