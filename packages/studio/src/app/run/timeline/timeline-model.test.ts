import type { RunEvent } from "@superstep/engine/protocol"
import { expect, test } from "vitest"
import { RunHistory } from "../history.ts"
import { NodeNames } from "../node-names.ts"
import { GAP_WIDTH, lanesOf, placedBars, scaleOf } from "./timeline-model.ts"

const NAMES = new NodeNames()

const event = (type: string, at: number, task: number, more: object = {}): object => ({
  runId: "r",
  at,
  path: [],
  type,
  task,
  node: `n${task}`,
  ...more,
})

function historyOf(events: readonly object[]): RunHistory {
  const history = new RunHistory()
  for (const [i, one] of events.entries()) history.add({ ...one, seq: i + 1 } as RunEvent)
  return history
}

const HOURS = 3 * 3_600_000
const waited = [
  event("task.started", 0, 1, { attempt: 1 }),
  event("task.failed", 100, 1, { attempt: 1, retryAt: 150, error: { code: "E", message: "no" } }),
  event("task.started", 150, 1, { attempt: 2 }),
  event("task.parked", 1_000, 1, { wait: { kind: "request", request: "r1" } }),
  event("task.resumed", HOURS, 1),
  event("task.finished", HOURS + 1_000, 1, { sends: [] }),
]

test("a bar has the retries and waits of its task", () => {
  const [lane] = lanesOf(historyOf(waited), 6, NAMES)
  expect(lane?.bars[0]).toMatchObject({ status: "finished", attempts: 2, from: 0, to: HOURS + 1_000 })
  expect(lane?.bars[0]?.segments.map(({ kind, from, to }) => [kind, from, to])).toEqual([
    ["run", 0, 100],
    ["backoff", 100, 150],
    ["run", 150, 1_000],
    ["wait", 1_000, HOURS],
    ["run", HOURS, HOURS + 1_000],
  ])
})

test("at an earlier point, only what had happened by then is there", () => {
  const [lane] = lanesOf(historyOf(waited), 4, NAMES)
  expect(lane?.bars[0]).toMatchObject({ status: "waiting", to: undefined })
})

test("three hours of waiting take the width of a gap, and two seconds of work the rest", () => {
  const scale = scaleOf(lanesOf(historyOf(waited), 6, NAMES), HOURS + 1_000, 1_000)
  expect(scale.gaps).toEqual([{ from: 1_000, to: HOURS }])
  expect(scale.place(HOURS) - scale.place(1_000)).toBeCloseTo(GAP_WIDTH)
  expect(scale.place(1_000)).toBeCloseTo((1_000 - GAP_WIDTH) / 2)
  expect(scale.place(HOURS + 1_000)).toBeCloseTo(1_000)
})

test("five thousand items become as many shapes as there is room for, and failures stay visible", () => {
  const many = Array.from({ length: 5_000 }, (_, i) => [
    event("task.started", i, i + 10, { attempt: 1, node: "item" }),
    i === 4_000
      ? event("task.failed", i + 1, i + 10, { attempt: 1, node: "item", error: { code: "E", message: "no" } })
      : event("task.finished", i + 1, i + 10, { sends: [], node: "item" }),
  ]).flat()
  const [lane] = lanesOf(historyOf(many), 10_000, NAMES)
  const bars = placedBars(lane?.bars ?? [], scaleOf(lane === undefined ? [] : [lane], 5_001, 800))
  expect(bars.length).toBeLessThan(800)
  expect(bars.reduce((sum, { merged }) => sum + merged, 0)).toBe(5_000)
  expect(bars.some(({ status }) => status === "failed")).toBe(true)
})

test("tasks that execute at the same time are below each other", () => {
  const together = [0, 10, 200].flatMap((at, i) => [
    event("task.started", at, 90_000 + i, { attempt: 1, node: "item" }),
    event("task.finished", at + 100, 90_000 + i, { sends: [], node: "item" }),
  ])
  const lanes = lanesOf(historyOf(together), 6, NAMES)
  const bars = placedBars(lanes[0]?.bars ?? [], scaleOf(lanes, 300, 300))
  expect(bars.map(({ from, row }) => [from, row])).toEqual([
    [0, 0],
    [200, 0],
    [10, 1],
  ])
})
