import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  emptyView,
  foldEvent,
  foldEvents,
  isLive,
  parseEvent,
  type RunEvent,
  RunFold,
  type RunView,
  tasksOf,
  type WorkflowView,
} from "./index.ts"
import { deepFreeze } from "./real-runs.test-support.ts"

// Not what an engine would send: any order of any events, of which each one by itself is valid.

const name = fc.constantFrom("a", "b", "constructor", "__proto__")
const task = fc.integer({ min: 1, max: 4 })
const small = fc.integer({ min: 1, max: 5 })
const value = fc.oneof(fc.integer(), fc.constant(null), fc.constant([1]), fc.constant({ a: 1 }))
const error = fc.record({ code: name, message: name })
const path = fc.oneof(
  { weight: 3, arbitrary: fc.constant([] as string[]) },
  { weight: 2, arbitrary: fc.constantFrom(["a#1"], ["a#1", "b#2"], ["__proto__#1"]) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(["nonsense"], ["#"], ["a#-1"], ["a#1.5"], ["a#99999999999999999999"]),
  },
)
const request = fc.constantFrom("r1", "r2", "__proto__")
const ofTask = { task, node: name }
const type = <T extends string>(name: T) => fc.constant(name)

const body = fc.oneof(
  fc.record({ type: type("run.started"), workflow: name, input: value }),
  fc.record(
    {
      type: type("run.forked"),
      from: fc.record({ runId: name, seq: small }),
      later: fc.nat(9),
      state: fc.dictionary(fc.constantFrom("a", "b", "constructor"), value, { maxKeys: 3 }),
    },
    { requiredKeys: ["type", "from", "later"] },
  ),
  fc.record({ type: type("task.rejected"), task, node: name, reason: name }),
  fc.record({ type: type("run.waiting") }),
  fc.record({ type: type("run.resumed") }),
  fc.record(
    { type: type("run.paused"), reason: fc.constant("why"), by: fc.constant("Ada") },
    { requiredKeys: ["type"] },
  ),
  fc.record(
    {
      type: type("run.finished"),
      status: fc.constantFrom("completed", "failed", "cancelled", "limit"),
      error,
    },
    { requiredKeys: ["type", "status"] },
  ),
  fc.record({ type: type("limit.reached"), error }),
  fc.record({ type: type("superstep.started"), superstep: small, tasks: small }),
  fc.record({ type: type("superstep.committed"), superstep: small }),
  fc.record({ type: type("task.started"), ...ofTask, attempt: small, superstep: small, input: value }),
  fc.record({ type: type("task.finished"), ...ofTask, sends: fc.constant([]) }),
  fc.record(
    { type: type("task.failed"), ...ofTask, attempt: small, error, retryAt: fc.integer({ min: 0, max: 99 }) },
    { requiredKeys: ["type", "task", "node", "attempt", "error"] },
  ),
  fc.record({
    type: type("task.parked"),
    ...ofTask,
    wait: fc.oneof(
      fc.record({ kind: type("request"), request }),
      fc.record({ kind: type("timer"), until: small }),
    ),
  }),
  fc.record({ type: type("task.resumed"), ...ofTask }),
  fc.record({ type: type("task.cancelled"), ...ofTask }),
  fc.record({ type: type("step.recorded"), ...ofTask, key: name, value }),
  fc.record({ type: type("usage.recorded"), ...ofTask, usage: fc.record({ usd: fc.nat() }) }),
  fc.record({ type: type("message.undelivered"), reason: name, value }),
  fc.record({ type: type("join.waiting"), join: name, node: name, missing: fc.constant([]) }),
  fc.oneof(
    ...(["append", "union"] as const).map((reducer) =>
      fc.record({
        type: type("state.written"),
        ...ofTask,
        key: name,
        reducer: type(reducer),
        value: fc.array(small, { maxLength: 3 }),
      }),
    ),
    fc.record({
      type: type("state.written"),
      ...ofTask,
      key: name,
      reducer: type("merge"),
      value: fc.record({ a: small, b: small }, { requiredKeys: [] }),
    }),
    fc.record({ type: type("state.written"), ...ofTask, key: name, reducer: type("add"), value: small }),
    fc.record({ type: type("state.written"), ...ofTask, key: name, reducer: type("replace"), value }),
  ),
  fc.record({ type: type("output"), ...ofTask, value }),
  fc.record({
    type: fc.constantFrom("request.opened", "request.escalated"),
    request: fc.record(
      {
        id: request,
        ...ofTask,
        prompt: name,
        openedAt: small,
        to: name,
        deadline: small,
        escalate: fc.array(fc.record({ to: name, timeout: small }, { requiredKeys: ["to"] }), {
          maxLength: 2,
        }),
      },
      { requiredKeys: ["id", "task", "node", "prompt", "openedAt"] },
    ),
  }),
  fc.record({ type: type("request.answered"), request, value }),
  fc.record({ type: type("request.closed"), request, reason: fc.constantFrom("expired", "withdrawn") }),
  fc.record(
    { type: type("custom"), ...ofTask, name, data: value },
    { requiredKeys: ["type", "task", "node", "name"] },
  ),
  fc.record({ type: type("log"), ...ofTask, level: type("info"), message: name }),
)

const first: RunEvent = { runId: "r", seq: 1, at: 0, path: [], type: "run.started", workflow: "w", input: 1 }

const events = fc.array(fc.tuple(path, body), { maxLength: 40 }).map((list) => {
  let seq = 1
  const rest = list.map(([path, event], i) => {
    if (event.type !== "custom" && event.type !== "log") seq++
    return parseEvent({ runId: "r", at: i, path, seq, ...event })
  })
  return [first, ...rest]
})

describe("folding any events at all", () => {
  it("never throws, and never writes to a view or an event (V1)", () => {
    fc.assert(
      fc.property(events, (list) => {
        let view = deepFreeze(emptyView())
        for (const event of deepFreeze(list)) view = deepFreeze(foldEvent(view, event))
        expect(foldEvents(emptyView(), list)).toEqual(view)
      }),
    )
  })

  it("gives the same whenever views are taken", () => {
    fc.assert(
      fc.property(events, fc.infiniteStream(fc.boolean()), (list, takes) => {
        const fold = new RunFold()
        const taken: [RunView, string][] = []
        for (const event of list) {
          fold.add(event)
          if (takes.next().value) taken.push([fold.view, textOf(fold.view)])
        }
        expect(textOf(fold.view)).toBe(textOf(foldEvents(emptyView(), list)))
        for (const [view, text] of taken) expect(textOf(view)).toBe(text)
      }),
    )
  })

  it("gives the same when a stream is joined again (V3)", () => {
    fc.assert(
      fc.property(events, fc.nat(), fc.nat(), (list, a, b) => {
        const view = foldEvents(emptyView(), list.slice(0, a % (list.length + 1)))
        const after = view.seq === 0 ? 0 : b % view.seq
        const again = list.slice(list.findIndex((event) => event.seq === after && !isLive(event)) + 1)
        expect(foldEvents(view, again)).toEqual(foldEvents(emptyView(), list))
      }),
    )
  })

  it("counts right what is at work, at rest and open", () => {
    fc.assert(
      fc.property(events, (list) => {
        for (let i = 0; i <= list.length; i++) {
          const view = foldEvents(emptyView(), list.slice(0, i))
          const all = everyWorkflow(view)
          const atWork = (workflow: WorkflowView) =>
            tasksOf(workflow).filter(({ status }) => ["running", "queued", "backoff"].includes(status)).length
          for (const workflow of all) expect(workflow.atWork).toBe(atWork(workflow))
          expect(view.totals).toEqual({
            atWork: all.reduce((sum, workflow) => sum + workflow.atWork, 0),
            resting: all.filter(({ resting }) => resting).length,
            requests: Object.values(view.requests).filter(({ status }) => status === "open").length,
          })
        }
      }),
    )
  })
})

function everyWorkflow(workflow: WorkflowView): WorkflowView[] {
  return [workflow, ...tasksOf(workflow).flatMap(({ calls }) => calls.flatMap(everyWorkflow))]
}

function textOf(view: RunView): string {
  return JSON.stringify(view)
}
