import { expect, test } from "vitest"
import { printReplay, type ReplayReport } from "./index.ts"

const same: ReplayReport = {
  same: true,
  runId: "r",
  workflow: "w",
  path: { before: ["a"], after: ["a"] },
  state: [],
  outputs: { before: [1], after: [1] },
  usage: { before: {}, after: {}, difference: {} },
  status: { before: "completed", after: "completed" },
  recordedModelCalls: 0,
}

test("a replay that is the same is one line", () => {
  expect(printReplay(same)).toBe('Replay of run "r" of workflow "w": the same.')
})

test("a replay of model calls states that their prompts are not compared", () => {
  expect(printReplay({ ...same, recordedModelCalls: 3 })).toBe(
    `Replay of run "r" of workflow "w": the same.
Not compared: instructions, messages and tools of agents. 3 model calls were
answered from the record.`,
  )
  const differs = printReplay({ ...same, same: false, recordedModelCalls: 1 })
  expect(differs).toContain("different.\n\nNot compared: ")
  expect(differs).toContain("1 model call was")
})

test("a replay that differs shows the first difference, and all differences before and after", () => {
  const report: ReplayReport = {
    ...same,
    same: false,
    divergence: {
      index: 2,
      path: ["plan#1", "search#3.2"],
      node: "rank",
      task: 2,
      what: '"rank" (task 2) sent ["x"] before, and ["y"] now.',
    },
    path: { before: ["plan", "rank"], after: ["plan", "rank", "more"] },
    state: [
      { key: "total", before: 1, after: 2 },
      { key: "new", after: "here" },
    ],
    outputs: { before: ["x"], after: [] },
    usage: {
      before: { inputTokens: 1_200, modelCalls: 2 },
      after: { inputTokens: 900, modelCalls: 3 },
      difference: { inputTokens: -300, modelCalls: 1 },
    },
    status: { before: "completed", after: "failed" },
    error: { after: "REPLAY_DIVERGED: not recorded" },
  }
  expect(printReplay(report)).toBe(
    `Replay of run "r" of workflow "w": different.

First difference
  In plan#1 > search#3.2: "rank" (task 2) sent ["x"] before, and ["y"] now.

Status
  - completed
  + failed: REPLAY_DIVERGED: not recorded

Path
  - plan, rank
  + plan, rank, more

State
  total
    - 1
    + 2
  new
    - absent
    + "here"

Outputs
  - ["x"]
  + []

Usage
  inputTokens: 1200 before, 900 now (-300)
  modelCalls: 2 before, 3 now (+1)`,
  )
})

test("no line is longer than 80 columns, and long values are cut around their difference", () => {
  const long = (end: string) => `${"word ".repeat(400)}${end}${"x".repeat(300)}`
  const text = printReplay({
    ...same,
    same: false,
    runId: "r".repeat(120),
    divergence: { index: 0, path: [], node: "a", task: 1, what: `${long("!")}.` },
    state: [{ key: "text", before: long("before"), after: long("after") }],
    outputs: { before: Array(200).fill("out"), after: [] },
  })
  expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80)
  const state = text.slice(text.indexOf("State"), text.indexOf("Outputs"))
  expect(state).toContain("before")
  expect(state).toContain("after")
  expect(state.length).toBeLessThan(1_000)
})
