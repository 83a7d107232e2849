import { node, quorum, workflow } from "@superstep/engine"
import {
  emptyView,
  foldEvents,
  type RunEvent,
  RunOutline,
  tasksOf,
  withoutEnded,
} from "@superstep/engine/protocol"
import { expect, test } from "vitest"
import { nodeStates } from "./graph/node-states.ts"
import { COMMIT, RunHistory, stepFrom } from "./history.ts"
import { edgeKey, parseTaskKey, taskKey } from "./keys.ts"

const split = node("split", (n: number) => Array.from({ length: n }, (_, i) => i))
const work = node("work/item", (n: number) => n * 2)
const sum = node("sum", (list: readonly number[]) => list.reduce((a, b) => a + b, 0))
const sums = workflow("sums").start(split).map(split, work, sum).build()

async function eventsOf(items: number): Promise<readonly RunEvent[]> {
  const events: RunEvent[] = []
  for await (const event of sums.stream(items)) events.push(event)
  return events
}

function historyOf(events: readonly RunEvent[]): RunHistory {
  const history = new RunHistory()
  for (const event of events) history.add(event)
  return history
}

test("a history that starts with what the server knows is that of all events (H1)", async () => {
  const events = await eventsOf(300)
  expect(events.length).toBeGreaterThan(600)
  const at = 450
  const outline = new RunOutline()
  for (const event of events.slice(0, at)) outline.add(event)
  const view = withoutEnded(foldEvents(emptyView(), events.slice(0, at)))
  const history = new RunHistory(JSON.parse(JSON.stringify({ outline, view })))
  for (const event of events.slice(at)) history.add(event)
  const whole = historyOf(events)
  expect(history.outline.toJSON()).toEqual(whole.outline.toJSON())
  expect(history.now).toMatchObject({ status: "completed", outputs: [89_700], seq: events.length })
  expect(whole.now).toMatchObject({ status: "completed", outputs: [89_700], seq: events.length })
})

test("memory is bounded by tasks at work: what ended leaves the fold, and old events leave the tail (H2)", async () => {
  const history = historyOf(await eventsOf(2_500))
  expect(history.length).toBeGreaterThan(5_000)
  expect(history.tail.length).toBeLessThanOrEqual(4_000)
  expect(history.tail.at(-1)?.seq).toBe(history.length)
  expect(history.tail[0]?.seq).toBe(history.tailStart)
  expect(tasksOf(history.now).length).toBeLessThan(600)
})

test("a repeated event changes nothing (H3)", async () => {
  const events = await eventsOf(3)
  const history = historyOf([...events, ...events])
  expect(history.length).toBe(events.length)
  expect(history.outline.toJSON()).toEqual(historyOf(events).outline.toJSON())
})

test("counts what went along each edge, and the tasks of each node, up to a point", async () => {
  const history = historyOf(await eventsOf(5))
  const edge = edgeKey("", "split", "work/item")
  const starts = history.outline.edges.find(({ to }) => to === "work/item")?.seqs ?? []
  expect(starts).toHaveLength(5)
  expect(history.countOf(edge, history.length)).toBe(5)
  expect(history.countOf(edge, (starts[2] as number) - 1)).toBe(2)
  expect(history.countOf(edgeKey("", undefined, "split"), history.length)).toBe(1)
  expect(history.countOf(edgeKey("", "sum", undefined), history.length)).toBe(1)
  const states = nodeStates(history, starts[2] as number, new Set())
  expect(states.get("work%2Fitem")).toMatchObject({ total: 3, status: "running" })
  expect(states.has("sum")).toBe(false)
})

test("every source of a join has its own count", async () => {
  const [a, b] = [node("a+b", (n: number) => n), node("c", (n: number) => n)]
  const start = node("start", (n: number) => n)
  const joined = workflow("joined")
    .start(start)
    .fanOut(start, [a, b])
    .fanIn(
      [a, b],
      node("all", (list: readonly number[]) => list.length),
      { join: quorum(2) },
    )
    .build()
  const history = new RunHistory()
  for await (const event of joined.stream(1)) history.add(event)
  for (const from of ["a+b", "c"]) {
    expect(history.countOf(edgeKey("", from, "all"), history.length), from).toBe(1)
  }
})

test("the scrubber stops at the commits of supersteps", async () => {
  const history = historyOf(await eventsOf(2))
  const stops = history.outline.commits.filter((_, i) => i % COMMIT === 0)
  expect(stops).toHaveLength(3)
  expect(stepFrom(history, 0, 1)).toBe(stops[0])
  expect(stepFrom(history, stops[1] as number, -1)).toBe(stops[0])
  expect(stepFrom(history, stops[0] as number, -1)).toBe(0)
  expect(stepFrom(history, stops[2] as number, 1)).toBe(history.length)
  expect(stepFrom(history, history.length, 1)).toBe(history.length)
})

test("keys of tasks survive any name of a node", () => {
  const path = ["a/b%#1", "c#2.3"]
  expect(parseTaskKey(taskKey(path, 7))).toEqual({ path, task: 7 })
})
