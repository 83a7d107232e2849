/** Entries that do not fit the state of a machine, each with the codes that it may be refused with. */
import type { Entry } from "./entries.ts"
import type { Machine } from "./machine.ts"
import type { Choices } from "./machine-play.test-support.ts"
import type { Task } from "./task.ts"

export interface Misfit {
  readonly entry: Entry
  readonly codes: readonly string[]
}

const at = 1_000

/** One entry of every kind that is about a task. */
function entriesOf(task: number, attempt = 1): Entry[] {
  return [
    { type: "task.finished", at, task, sends: [{ value: 1, route: { output: true } }], writes: [["sum", 1]] },
    { type: "task.failed", at, task, attempt, error: { code: "E1", message: "" } },
    { type: "task.rejected", at, task, reason: "no" },
    { type: "step.recorded", at, task, key: "misfit", value: 1, usage: { modelCalls: 1 } },
    { type: "step.started", at, task, key: "misfit", usage: { modelCalls: 1 } },
    { type: "usage.recorded", at, task, usage: { modelCalls: 1 } },
    { type: "usage.reserved", at, task, hold: "misfit", usage: { modelCalls: 1 } },
    { type: "request.opened", at, task, key: "misfit", request: { prompt: "?", deadline: 2_000 } },
    { type: "signal.awaited", at, task, key: "misfit", wait: { name: "go", order: 1 } },
    { type: "signal.taken", at, id: "below", name: "go", task, key: "misfit", value: 1 },
    { type: "timer.set", at, task, key: "misfit", until: 2_000 },
    { type: "call.started", at, task, key: "misfit", workflow: "w" },
    { type: "call.finished", at, task, key: "misfit", outcome: { ok: true, value: 1 } },
  ]
}

function refused(entries: readonly Entry[], ...codes: readonly string[]): Misfit[] {
  return entries.map((entry) => ({ entry, codes }))
}

/** Everything that the machine must refuse now. `ended` are tasks that have ended. */
export function misfits(machine: Machine, ended: readonly number[], choices: Choices): Misfit[] {
  const started: Entry = {
    type: "run.started",
    at,
    runId: "again",
    workflow: "w",
    signature: "s",
    graph: "g",
    input: null,
  }
  const over = machine.isOver() ? ["RUN_OVER"] : []
  const always = [
    ...refused(ended.length === 0 ? [] : entriesOf(choices.of(ended)), "TASK_NOT_LIVE", ...over),
    ...refused(entriesOf(9_999), "TASK_NOT_LIVE", ...over),
    ...refused([started], "RUN_STARTED", ...over),
    ...(machine.pause === undefined
      ? refused([{ type: "run.resumed", at }], "RUN_NOT_PAUSED", ...over)
      : refused([{ type: "run.paused", at }], "RUN_PAUSED", ...over)),
    ...refused([{ type: "timer.fired", at, timer: "sleep:1:never" }], "TIMER_NOT_SET", ...over),
    ...refused(
      ["r9999", ...machine.answered()].map((request) => ({
        type: "request.answered",
        at,
        request,
        value: 1,
      })),
      "REQUEST_NOT_OPEN",
      ...over,
    ),
  ]
  const received = [...(machine.snapshot().signalIds ?? [])]
  always.push(
    ...refused(
      received.map((id): Entry => ({ type: "signal.received", at, id, name: "go", value: 1 })),
      "SIGNAL_KNOWN",
      ...over,
    ),
    ...refused([{ type: "signal.taken", at, id: "never", name: "go" }], "SIGNAL_NOT_BUFFERED", ...over),
    ...refused([{ type: "signal.replied", at, id: "never", value: 1 }], "SIGNAL_REPLIED", ...over),
  )
  if (over.length > 0) {
    const ends: Entry[] = [
      { type: "run.cancelled", at },
      { type: "run.failed", at, error: { code: "X", message: "" } },
      { type: "state.reduced", at, key: "top", value: 1 },
    ]
    return [...always, ...refused(ends, "RUN_OVER")]
  }
  const { reducing } = machine.snapshot()
  const settled = ["top", "peak"].filter((key) => !reducing.some(([other]) => other === key))
  return [
    ...always,
    ...refused(
      settled.map((key): Entry => ({ type: "state.reduced", at, key, value: 1 })),
      "NOT_REDUCING",
    ),
    ...[...machine.tasks()].flatMap((task) => misfitsOf(task)),
  ]
}

function misfitsOf(task: Task): Misfit[] {
  const { id, attempt, status } = task
  if (status !== "running" && status !== "parked") return refused(entriesOf(id, attempt), "TASK_NOT_RUNNING")
  const finished = (value: number | number[], route: object): Entry => ({
    type: "task.finished",
    at,
    task: id,
    usage: { modelCalls: 1 },
    sends: [
      { value: 1, route: { output: true } },
      { value, route },
    ],
  })
  const writing = (key: string, value: string): Entry => ({
    type: "task.finished",
    at,
    task: id,
    sends: [],
    writes: [
      ["sum", 1],
      [key, value],
    ],
  })
  const taken = [...(task.memo?.keys() ?? []), ...(task.waits?.keys() ?? [])]
  return [
    ...refused(
      [
        { type: "task.failed", at, task: id, attempt: attempt + 1, error: { code: "E1", message: "" } },
        { type: "task.failed", at, task: id, attempt: attempt - 1, error: { code: "E1", message: "" } },
      ],
      "ATTEMPT_OVER",
    ),
    ...refused(
      [
        finished(1, { nodes: ["nobody"] }),
        finished(1, { joins: ["a+b=>c"] }),
        finished([1], { maps: ["nobody"] }),
        writing("nothing", "x"),
      ],
      "GRAPH_CHANGED",
    ),
    ...refused([writing("list", "x"), writing("record", "x"), writing("sum", "x")], "WRITE_INVALID"),
    ...refused(
      [
        { type: "call.finished", at, task: id, key: "misfit", outcome: { ok: true, value: 1 } },
        { type: "signal.taken", at, id: "below", name: "go", task: id, key: "misfit", value: 1 },
      ],
      "NOT_WAITING",
    ),
    ...refused(
      taken.flatMap((key): Entry[] => [
        { type: "step.recorded", at, task: id, key, value: 1, usage: { modelCalls: 1 } },
        { type: "step.started", at, task: id, key, usage: { modelCalls: 1 } },
        { type: "request.opened", at, task: id, key, request: { prompt: "?", deadline: 2_000 } },
        { type: "signal.awaited", at, task: id, key, wait: { name: "go", order: 1, deadline: 2_000 } },
        { type: "timer.set", at, task: id, key, until: 2_000 },
        { type: "call.started", at, task: id, key, workflow: "w" },
      ]),
      "STEP_RECORDED",
      "ALREADY_WAITING",
    ),
  ]
}
