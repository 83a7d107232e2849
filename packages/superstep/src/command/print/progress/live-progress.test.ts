import type { RunEvent } from "@superstep/engine"
import { describe, expect, it } from "vitest"
import { widthOf } from "../../terminal/terminal.ts"
import { completed, eventsOf, finished, spoke, started } from "./events.test-support.ts"
import { LiveProgress } from "./live-progress.ts"
import { testScreen } from "./screen.test-support.ts"

/** Drawn on request, at a time that the test sets. */
function live(columns?: number, past?: readonly RunEvent[]) {
  const screen = testScreen(columns)
  let [now, drawsItself] = [past === undefined ? 0 : 100_000, false]
  const progress = new LiveProgress(screen.terminal, {
    past,
    now: () => now,
    every: () => {
      drawsItself = true
      return () => {
        drawsItself = false
      }
    },
    names: {
      title: (node) => node,
      id: (node: string) => node,
      isHidden: (node) => node === "glue",
      isInternal: () => false,
    },
  })
  return {
    progress,
    lines: screen.lines,
    drawsItself: () => drawsItself,
    at(time: number) {
      now = time
      progress.draw()
      return screen.lines()
    },
  }
}

describe("a run on a terminal", () => {
  it("shows the active tasks, the latest text, and the figures, in one place", () => {
    const { progress, at } = live()
    const usage = { modelCalls: 1, inputTokens: 1_200, outputTokens: 4, usd: 0.5 }
    for (const event of eventsOf(
      { type: "superstep.started", superstep: 1, tasks: 2 },
      started(1, "gen"),
      started(2, "check"),
      spoke(1, "Once upon", 0),
      spoke(1, " a time\nthere was", 9),
      { type: "usage.recorded", task: 1, node: "gen", usage },
    ))
      progress.event(event)
    expect(at(5_000)).toEqual([
      "⠋ gen 4.0 s",
      "⠋ check 3.0 s",
      "  │ Once upon a time",
      "  │ there was",
      "  superstep 1 · 1,204 tokens · $0.500 · 5.0 s",
    ])
    expect(at(5_100)).toHaveLength(5)
  })

  it("shows the active tasks of a resumed run immediately, and times them from then", () => {
    const usage = { modelCalls: 1, inputTokens: 30, usd: 0 }
    const past = eventsOf(
      started(1, "gen"),
      { type: "usage.recorded", task: 1, node: "gen", usage },
      finished(1, "gen"),
      started(2, "check"),
    )
    const { progress, at, lines, drawsItself } = live(undefined, past)
    expect(drawsItself()).toBe(true)
    expect(at(102_000)).toEqual(["⠋ check 2.0 s", "  superstep 1 · 30 tokens · $0 · 2.0 s"])
    progress.end(undefined)
    expect([drawsItself(), lines()]).toEqual([false, []])
  })

  it("leaves finished tasks above the block, and removes the block at the end (L1)", () => {
    const { progress, at, lines } = live()
    const events = eventsOf(
      started(1, "gen"),
      finished(1, "gen"),
      started(2, "glue"),
      finished(2, "glue"),
      started(3, "trans"),
    )
    for (const event of events) {
      progress.event(event)
      expect(at(event.at).filter((line) => line.includes("glue"))).toEqual([])
    }
    expect(lines()).toEqual(["✓ gen 1.0 s", "⠋ trans 0 ms", "  superstep 1 · 4.0 s"])
    progress.end(completed)
    expect(lines()).toEqual([
      "✓ gen 1.0 s",
      "completed in 4.0 s · 2 supersteps · 15 tokens · $0.010",
      "run run-1",
    ])
  })

  it("shows warnings, and omits other log entries", () => {
    const { progress, at } = live(30)
    const log = (level: string, message: string) => ({
      type: "log" as const,
      task: 1,
      node: "find",
      level,
      message,
    })
    for (const event of eventsOf(
      started(1, "find"),
      log("info", "nobody needs to know"),
      { ...log("warn", "The graph is not there: check the path."), path: ["target#1"] },
      log("error", "gone\x1b[2J"),
    ))
      progress.event(event)
    expect(at(4_000).slice(0, 4)).toEqual([
      "! target/find: The graph is",
      "  not there: check the path.",
      "! find: gone␛[2J",
      "⠋ find 4.0 s",
    ])
  })

  it("shows a failure, and the time of the next attempt", () => {
    const { progress, at } = live()
    const failed = { type: "task.failed" as const, task: 1, node: "gen", attempt: 1 }
    const [start, first, again, last] = eventsOf(
      started(1, "gen"),
      { ...failed, error: { code: "X", message: "no\nanswer" }, retryAt: 3_000 },
      started(1, "gen", { attempt: 2 }),
      { ...failed, error: { code: "X", message: "none again" } },
    )
    for (const event of [start, first]) if (event) progress.event(event)
    expect(at(1_000).slice(0, 2)).toEqual(["↻ gen: no answer (retry in 2.0 s)", "· gen retries 1.0 s"])
    if (again) progress.event(again)
    expect(at(2_000)[1]).toBe("⠋ gen attempt 2 2.0 s")
    if (last) progress.event(last)
    expect(at(3_000).slice(0, 2)).toEqual(["↻ gen: no answer (retry in 2.0 s)", "✗ gen: none again"])
  })

  it("draws nothing while a person is asked, and after the end (L2)", () => {
    const { progress, at, lines, drawsItself } = live()
    for (const event of eventsOf(started(1, "gen"))) progress.event(event)
    expect([at(0).length, drawsItself()]).toEqual([2, true])
    progress.pause()
    expect(lines()).toEqual([])
    expect(at(500)).toEqual([])
    progress.resume()
    expect(at(600)).toHaveLength(2)
    progress.end(undefined)
    expect([at(700), drawsItself()]).toEqual([[], false])
  })

  it("stays small and within the width, however many tasks run and whatever agents write", () => {
    const { progress, at } = live(40)
    const many = Array.from({ length: 50 }, (_, i) =>
      started(i + 1, `a-rather-long-name-of-node-number-${i}-日本`),
    )
    for (const event of eventsOf(...many, spoke(3, "\x1B[2J日本".repeat(400), 0))) progress.event(event)
    const lines = at(60_000)
    expect(lines.length).toBeLessThan(14)
    for (const line of lines) expect(widthOf(line)).toBeLessThan(40)
    expect(lines.join("")).toContain("… and 42 more tasks")
  })
})

it("the time of a run that ended before is its own, not the time until now", () => {
  const { progress, lines, at } = live()
  for (const event of eventsOf(started(1, "gen"), finished(1, "gen"), {
    type: "run.finished",
    status: "completed",
  }))
    progress.event(event)
  at(3_600_000)
  progress.end(completed)
  expect(lines().join("\n")).toMatch(/completed in 2\.0 s/)
})
