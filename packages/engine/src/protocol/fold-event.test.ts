import { describe, expect, it } from "vitest"
import type { OpenRequest } from "../index.ts"
import {
  emptyView,
  foldEvent,
  foldEvents,
  isLive,
  openRequests,
  parseEvent,
  type RunEvent,
  RunFold,
  type RunView,
} from "./index.ts"
import { cases, deepFreeze, everyTask, realRun, realView } from "./real-runs.test-support.ts"

const byId = (requests: readonly OpenRequest[]) => requests.toSorted((a, b) => (a.id < b.id ? -1 : 1))

describe("the view of a whole stream (V4)", () => {
  it.each(cases)("says what the run's result says: %s", async (_, make) => {
    const { events, result } = await make()
    const view = foldEvents(emptyView(), events)
    expect(view.runId).toBe(result.runId)
    expect(view.status).toBe(result.status)
    expect(view.outputs).toEqual(result.outputs)
    expect(view.state).toEqual(result.state)
    expect(view.usage).toEqual(result.usage)
    expect(view.undelivered).toEqual(result.undelivered)
    expect(view.superstep).toBe(result.supersteps)
    expect(byId(openRequests(view))).toEqual(byId(result.requests))
    expect(view.error?.code).toBe(result.error?.code)
    expect(view.error?.message).toBe(result.error?.message)
    expect(view.error?.node).toBe(result.error?.node)
  })

  it.each(cases)("leaves nothing at work when the run is over: %s", async (_, make) => {
    const { events, result } = await make()
    const view = foldEvents(emptyView(), events)
    if (result.status === "waiting" || result.status === "paused") return
    expect(view.totals).toEqual({ atWork: 0, resting: 0, requests: 0 })
    const open = everyTask(view).filter(
      ({ status }) => !["finished", "failed", "rejected", "cancelled"].includes(status),
    )
    expect(open).toEqual([])
    expect(everyTask(view).every(({ finishedAt }) => finishedAt !== undefined)).toBe(true)
  })

  it.each(cases)("is the same over the wire: %s", async (_, make) => {
    const { events } = await make()
    const wire = events.map((event) => parseEvent(JSON.parse(JSON.stringify(event))))
    expect(foldEvents(emptyView(), wire)).toEqual(foldEvents(emptyView(), events))
  })

  it.each(cases)("is the same one by one, all at once, and followed: %s", async (_, make) => {
    const { events } = await make()
    const atOnce = foldEvents(emptyView(), events)
    const fold = new RunFold()
    let single = emptyView()
    for (const event of events) {
      single = foldEvent(single, event)
      expect(fold.add(event).view).toEqual(single)
    }
    expect(single).toEqual(atOnce)
  })

  it.each(cases)("continues from a view that was copied elsewhere: %s", async (_, make) => {
    const { events } = await make()
    const half = Math.floor(events.length / 2)
    const kept = JSON.parse(JSON.stringify(foldEvents(emptyView(), events.slice(0, half)))) as RunView
    const whole = foldEvents(emptyView(), events)
    expect(JSON.parse(JSON.stringify(foldEvents(kept, events.slice(half))))).toEqual(
      JSON.parse(JSON.stringify(whole)),
    )
  })
})

describe("a view that was handed out (V1)", () => {
  it.each(cases)("never changes: %s", async (_, make) => {
    const { events } = await make()
    let view = deepFreeze(emptyView())
    const fold = new RunFold(view)
    for (const event of deepFreeze(events) as readonly RunEvent[]) {
      // Frozen through and through: a write to it, or to the event, would throw.
      view = deepFreeze(foldEvent(view, event))
      deepFreeze(fold.add(event).view)
    }
    expect(fold.view).toEqual(view)
  })

  it("keeps its list when more is appended to it, and the event keeps what it brought", async () => {
    const { events } = await realRun("shared state")
    const views = [emptyView()]
    for (const event of events) views.push(foldEvent(views.at(-1) as RunView, event))
    const lengths = views.map((view) => (view.state.texts as unknown[] | undefined)?.length ?? 0)
    expect(new Set(lengths)).toEqual(new Set([0, 2, 4, 6, 8, 10]))
    expect(lengths).toEqual(lengths.toSorted((a, b) => a - b))
    const written = events.filter((event) => event.type === "state.written" && event.key === "texts")
    expect(written.map((event) => event.type === "state.written" && event.value)).toContainEqual([
      "text 1",
      "and",
    ])
  })

  it("branches: two continuations of one view do not see each other", async () => {
    const { events } = await realRun("shared state")
    const at = events.findIndex((event) => event.type === "state.written" && event.key === "texts") + 1
    const base = foldEvents(emptyView(), events.slice(0, at))
    const write = (seq: number, text: string): RunEvent => ({
      ...(events[at - 1] as Extract<RunEvent, { type: "state.written" }>),
      seq,
      value: [text],
    })
    const [left, right] = [foldEvent(base, write(900, "left")), foldEvent(base, write(900, "right"))]
    expect(base.state.texts).toEqual(["text 1", "and"])
    expect(left.state.texts).toEqual(["text 1", "and", "left"])
    expect(right.state.texts).toEqual(["text 1", "and", "right"])
    expect(foldEvent(left, write(901, "more")).state.texts).toEqual(["text 1", "and", "left", "more"])
    expect(left.state.texts).toHaveLength(3)
  })

  it("shares with the next one what the event does not touch", async () => {
    const { events } = await realRun("live events")
    const at = events.findIndex(isLive)
    const before = foldEvents(emptyView(), events.slice(0, at))
    const after = foldEvent(before, events[at] as RunEvent)
    expect(after.log).not.toBe(before.log)
    expect(after.tasks).toBe(before.tasks)
    expect(after.supersteps).toBe(before.supersteps)
    expect(after.state).toBe(before.state)
  })
})

describe("the overall status", () => {
  const statuses = async (name: string) => {
    const { events } = await realRun(name)
    const fold = new RunFold()
    const seen: string[] = []
    for (const event of events) {
      const { status } = fold.add(event).view
      if (seen.at(-1) !== status) seen.push(status)
    }
    return seen
  }

  it.each([
    ["a chain", ["running", "completed"]],
    ["a question that waits", ["running", "waiting"]],
    ["a question that is answered", ["running", "waiting", "running", "completed"]],
    ["a question in a sub-workflow that waits", ["running", "waiting"]],
    ["a question in a sub-workflow that is answered", ["running", "waiting", "running", "completed"]],
    ["two questions, one of them answered", ["running", "waiting"]],
    ["a message that no handler takes, beside a question", ["running", "waiting"]],
    ["a question that is escalated, and answered", ["running", "waiting", "running", "completed"]],
    ["a question that is escalated, and waits", ["running", "waiting"]],
    ["a fork of a run that waits", ["running", "waiting", "running", "completed"]],
    ["a fork that still waits", ["running", "waiting"]],
    ["a fork that sleeps", ["running", "waiting", "running", "completed"]],
    ["a sleep", ["running", "waiting", "running", "completed"]],
    ["a retry after a delay", ["running", "completed"]],
    ["cancelled with a question in a sub-workflow", ["running", "waiting", "cancelled"]],
    ["a limit", ["running", "limit"]],
  ])("of %s", async (name, expected) => {
    expect(await statuses(name)).toEqual(expected)
  })

  it("is running while a task works beside an open question", async () => {
    const { events } = await realRun("a question beside other work")
    const at = events.findIndex((event) => event.type === "task.started" && event.node === "talks") + 1
    const view = foldEvents(emptyView(), events.slice(0, at))
    expect(openRequests(view)).toHaveLength(1)
    expect(view.status).toBe("running")
    expect((await realView("a question beside other work")).status).toBe("waiting")
  })
})
