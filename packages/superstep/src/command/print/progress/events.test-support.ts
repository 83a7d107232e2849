/** Events of a run, for tests of watchers. */
import type { RunEvent, RunResult } from "@superstep/engine"

export type WrittenEvent = { readonly type: RunEvent["type"]; readonly [field: string]: unknown }

/** Adds the fields that all events have, a second apart. */
export function eventsOf(...written: readonly WrittenEvent[]): RunEvent[] {
  return written.map(
    (event, i) => ({ runId: "run-1", seq: i + 1, at: i * 1_000, path: [], ...event }) as RunEvent,
  )
}

export const started = (task: number, node: string, more: object = {}): WrittenEvent => ({
  type: "task.started",
  task,
  node,
  attempt: 1,
  superstep: 1,
  input: null,
  ...more,
})

export const finished = (task: number, node: string, more: object = {}): WrittenEvent => ({
  type: "task.finished",
  task,
  node,
  sends: [],
  ...more,
})

export const spoke = (task: number, text: string, offset: number, call = "c1"): WrittenEvent => ({
  type: "model.delta",
  task,
  node: "n",
  call,
  kind: "text",
  text,
  offset,
})

export const completed: RunResult = {
  runId: "run-1",
  status: "completed",
  outputs: ["done"],
  state: {},
  requests: [],
  waits: [],
  undelivered: [],
  usage: { modelCalls: 1, inputTokens: 10, outputTokens: 5, usd: 0.01 },
  supersteps: 2,
}
