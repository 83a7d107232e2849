import { expect, test } from "vitest"
import { textDiff } from "../compare/text-diff.ts"
import { ranked } from "../frame/palette-entries.ts"
import { activity } from "../home/activity.ts"
import { approvalOf, choicesOf, handOffOf } from "../inbox/open-request.ts"
import { changesBetween } from "../run/inspector/state-diff.ts"
import { ACTIONS, actionsFor, applies, bulkFilter, filterOf, mergeRuns, whereItIs } from "../runs/run-list.ts"
import { rangeOf, timesAt } from "../runs/time-range.ts"
import { brief, bytes, duration, localTime, money, plural, relative, short } from "./format.ts"
import { firstOpen, rowsOf, search } from "./json-tree.ts"
import { formOf, readForm } from "./schema-form.ts"

test("durations, times and money read as people say them", () => {
  expect([0.2, 340, 3_249, 12_400, 250_000, 7_500_000, 273_600_000].map(duration)).toEqual([
    "< 1 ms",
    "340 ms",
    "3.2 s",
    "12 s",
    "4 min 10 s",
    "2 h 5 min",
    "3 d 4 h",
  ])
  expect([0, 0.000_42, 0.004_21, 0.012, 1.5, 1_234].map(money)).toEqual([
    "$0",
    "$0.00042",
    "$0.0042",
    "$0.012",
    "$1.50",
    "$1,234.00",
  ])
  expect(relative(1_000, 1_000 + 5 * 60_000)).toBe("5 min ago")
  expect(relative(1_000 + 7_200_000, 1_000)).toBe("in 2 h")
  expect([
    short(999),
    short(4_210),
    short(2_000_000),
    bytes(1_500),
    plural(1, "run"),
    plural(2, "run"),
  ]).toEqual(["999", "4.2k", "2M", "1.5 kB", "1 run", "2 runs"])
  expect(brief({ a: [1, { b: "x".repeat(500) }] }, 40)).toHaveLength(40)
})

test("a run says in words where it is", () => {
  const run = { id: "r", workflow: "w", createdAt: 0, updatedAt: 0 }
  const question = { prompt: "Publish it?", to: "editor" }
  expect(whereItIs({ ...run, status: "waiting" }, question, 0)).toBe("waits for “editor”: Publish it?")
  const error = { code: "X", message: "card\n declined", node: "refund" }
  expect(whereItIs({ ...run, status: "failed", error }, undefined, 0)).toBe("failed at refund: card declined")
  expect(whereItIs({ ...run, status: "waiting", wakeAt: 60_000 }, undefined, 0)).toBe("continues in 1 min")
})

test("new runs are announced, known ones are renewed in their place", () => {
  const run = (id: string, createdAt: number, status: "running" | "completed") => ({
    id,
    workflow: "w",
    status,
    createdAt,
    updatedAt: createdAt,
  })
  const { rows, added } = mergeRuns(
    [run("b", 2, "running"), run("a", 1, "completed")],
    [run("c", 3, "running"), run("b", 2, "completed")],
  )
  expect(rows.map(({ id, status }) => [id, status])).toEqual([
    ["b", "completed"],
    ["a", "completed"],
  ])
  expect(added.map(({ id }) => id)).toEqual(["c"])
  expect(applies("retry", run("a", 1, "completed"))).toBe(false)
  expect(applies("delete", run("a", 1, "completed"))).toBe(true)
})

test("the filter of the address is the filter of the API", () => {
  const filter = filterOf(new URLSearchParams("status=failed,limit&label=team=a&label=broken&text=x"))
  expect(filter).toMatchObject({ status: "failed,limit", label: ["team=a"], text: "x", workflow: undefined })
  const rest = { labels: { team: "a" }, text: "x" }
  expect(bulkFilter("retry", filter, 0)).toEqual({ status: ["failed", "limit"], ...rest })
  // The server refuses an action for statuses that it is not for; what cannot apply is not offered.
  expect(actionsFor(filter)).toEqual(["retry", "rerun", "delete"])
  const stuck = filterOf(new URLSearchParams("status=failed,quarantined"))
  expect(bulkFilter("retry", stuck, 0)).toEqual({ status: ["failed"] })
  expect(actionsFor(stuck)).toContain("cancel")
  expect(actionsFor(filterOf(new URLSearchParams()))).toEqual(ACTIONS)
})

test("a time in the address is a time before now, or a local one", () => {
  const now = Date.parse("2026-11-18T12:00")
  const at = (query: string) => timesAt(filterOf(new URLSearchParams(query)), now)
  expect(at("since=24h")).toEqual({ since: now - 86_400_000 })
  expect(at("since=7d&text=x")).toEqual({ since: now - 7 * 86_400_000 })
  const between = `since=${localTime(now - 60_000)}&until=${localTime(now)}`
  expect(between).toBe("since=2026-11-18T11:59&until=2026-11-18T12:00")
  expect(at(between)).toEqual({ since: now - 60_000, until: now })
  expect(at("since=yesterday&until=")).toEqual({})
  expect(bulkFilter("delete", filterOf(new URLSearchParams("since=1h")), now)).toEqual({
    since: now - 3_600_000,
  })
  expect(["", "since=1h", between].map((query) => rangeOf(filterOf(new URLSearchParams(query))))).toEqual([
    "",
    "1h",
    "between",
  ])
})

test("a form reads what its schema asks for, and keeps what the schema does not name", () => {
  const schema = {
    type: "object",
    required: ["order", "amount"],
    properties: {
      order: { type: "string" },
      amount: { type: "number" },
      urgent: { type: "boolean" },
      size: { enum: ["s", "l"] },
      tags: { type: "array", items: { type: "string" } },
    },
  }
  const field = formOf(schema, "Input", { order: "A-1", amount: 3, secret: true })
  expect(readForm(field, new Map()).value).toEqual({ order: "A-1", amount: 3, secret: true })
  const input = new Map([
    ["/amount", "4.5"],
    ["/size", '"l"'],
    ["/urgent", "true"],
    ["/tags", '["x"]'],
  ])
  expect(readForm(field, input).value).toEqual({
    order: "A-1",
    amount: 4.5,
    secret: true,
    size: "l",
    urgent: true,
    tags: ["x"],
  })
  const wrong = readForm(
    field,
    new Map([
      ["/amount", "many"],
      ["/tags", "x"],
    ]),
  )
  expect(wrong.value).toBeUndefined()
  expect([...wrong.problems.keys()]).toEqual(["/amount", "/tags"])
})

test("a schema that is no schema is a field of JSON", () => {
  expect(formOf("nonsense", "Input").kind).toBe("json")
  expect(formOf({ anyOf: [{ type: "string" }, { type: "object" }] }, "Input").kind).toBe("json")
  expect(formOf({ oneOf: [{ const: "a" }, { const: "b" }] }, "Input")).toMatchObject({
    kind: "choice",
    choices: ["a", "b"],
  })
})

test("approvals are recognised, and only short choices become buttons", () => {
  const data = { kind: "tool-approval", agent: "clerk", tool: "pay", args: { to: "Ada", amount: 5 } }
  expect(approvalOf({ data })).toMatchObject({ agent: "clerk", tool: "pay", schema: { type: "object" } })
  expect(approvalOf({ data })?.canAlways).toBe(false)
  expect(approvalOf({ data, schema: { properties: { always: { type: "boolean" } } } })?.canAlways).toBe(true)
  expect(approvalOf({ data: { kind: "other" } })).toBeUndefined()
  expect(choicesOf({ schema: { enum: ["yes", "no"] } })).toEqual(["yes", "no"])
  expect(choicesOf({ schema: { enum: Array.from({ length: 9 }, (_, i) => i) } })).toBeUndefined()
})

test("a tree of a hundred thousand items has rows for one page", () => {
  const value = { list: Array.from({ length: 100_000 }, (_, i) => `item ${i}`), name: "x" }
  const closed = rowsOf(value, { open: firstOpen(value), shown: new Map() })
  expect(closed.map(({ key, size }) => [key, size])).toEqual([
    ["list", 100_000],
    ["name", undefined],
  ])
  const open = rowsOf(value, { open: new Set(["", "/list"]), shown: new Map() })
  expect(open).toHaveLength(103)
  expect(open.at(-2)?.more).toBe(99_900)
  const { found, state } = search(value, "item 99999")
  expect([...found]).toEqual(["/list/99999"])
  // Only what was found, and the way to it: also far behind, and below an item of a long list.
  expect(rowsOf(value, state).map(({ path }) => path)).toEqual(["/list", "/list/99999"])
  const deep = search(
    { list: Array.from({ length: 5_000 }, (_, n) => ({ error: { text: `page ${n}` } })) },
    "page 4321",
  )
  expect([...deep.found]).toEqual(["/list/4321/error/text"])
  expect([...(deep.state.only ?? [])]).toContain("/list/4321/error")
})

test("differences of values and texts are the smallest that tell them apart", () => {
  expect(changesBetween({ a: 1, b: { c: [1, 2] }, d: 4 }, { a: 1, b: { c: [1, 3] }, e: 5 })).toEqual([
    { path: "b.c.1", kind: "changed", before: 2, after: 3 },
    { path: "d", kind: "removed", before: 4 },
    { path: "e", kind: "added", after: 5 },
  ])
  expect(textDiff("the red lamp is on", "the blue lamp is off")).toEqual([
    { kind: "same", text: "the " },
    { kind: "removed", text: "red" },
    { kind: "added", text: "blue" },
    { kind: "same", text: " lamp is " },
    { kind: "removed", text: "on" },
    { kind: "added", text: "off" },
  ])
})

test("the palette finds every word, best at the start of a title", () => {
  const entries = [
    { id: "1", title: "Runs of article", about: "Workflow" },
    { id: "2", title: "Start article", about: "Workflow" },
    { id: "3", title: "article", about: "Go to" },
  ]
  expect(ranked(entries, "art").map(({ id }) => id)).toEqual(["3", "1", "2"])
  expect(ranked(entries, "start art").map(({ id }) => id)).toEqual(["2"])
  // The start of a word, also of what is beside the title, is better than the middle of one.
  const others = [
    { id: "4", title: "Start support", about: "Workflow" },
    { id: "5", title: "storks-1", about: "article, waiting" },
  ]
  expect(ranked(others, "art").map(({ id }) => id)).toEqual(["5", "4"])
})

test("activity counts every run once", () => {
  const now = 10 * 3_600_000
  const runs = [1, 2, 3].map((i) => ({
    createdAt: now - i * 60_000,
    status: i === 2 ? ("failed" as const) : ("completed" as const),
  }))
  const buckets = activity(runs, now)
  expect(buckets.reduce((sum, { good, bad }) => sum + good + bad, 0)).toBe(3)
})

test("a hand-off has the conversation and its routes; other data is none", () => {
  const messages = [{ role: "user", text: "Hello" }, { role: "assistant", text: 7 }, null]
  expect(handOffOf({ data: { messages, routes: ["billing", 3] } })).toEqual({
    messages: [{ role: "user", text: "Hello" }],
    latest: undefined,
    routes: ["billing"],
  })
  expect(handOffOf({ data: { latest: { a: 1 }, routes: [] } })?.latest).toEqual({ a: 1 })
  expect(handOffOf({ data: { routes: ["a"] } })).toBeUndefined()
  expect(handOffOf({ data: { kind: "tool-approval", tool: "refund" } })).toBeUndefined()
})
