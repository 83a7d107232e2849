import type { RunEvent } from "@superstep/engine"
import { expect, test } from "vitest"
import type { Paint } from "../terminal/terminal.ts"
import { eventLine } from "./runs-show.ts"

const plain = (text: string) => text
const screen = {
  width: 80,
  paint: { bold: plain, dim: plain, italic: plain, red: plain, green: plain, magenta: plain } satisfies Paint,
}
const envelope = { runId: "r", seq: 7, at: Date.UTC(2024, 0, 1, 3, 4, 5, 678), path: [] }

test("an event has its time, its place and a summary", () => {
  const failed: RunEvent = {
    ...envelope,
    type: "task.failed",
    task: 3,
    node: "gen",
    attempt: 1,
    error: { code: "X", message: "no answer" },
    retryAt: envelope.at + 2_000,
    path: ["outer#1"],
  }
  expect(eventLine(failed, screen)).toBe(
    "03:04:05.678     7  task.failed       outer#1 > gen#3 no answer (retry in 2.0 s)",
  )
})

test("an event is one line, however long it is and whatever it contains", () => {
  const output: RunEvent = {
    ...envelope,
    type: "output",
    task: 1,
    node: "n",
    value: `two\nlines \u001b[31m${"x".repeat(300)}`,
  }
  const line = eventLine(output, screen)
  expect(line).toMatch(/^03:04:05\.678 {5}7 {2}output {12}n#1 two lines ␛\[31mx+…$/)
  expect(line).toHaveLength(80)
})
