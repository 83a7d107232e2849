import { describe, expect, it } from "vitest"
import type { RunEvent as EngineEvent, OpenRequest } from "../index.ts"
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
  superstepsOf,
  taskOf,
  tasksOf,
  workflowAt,
} from "./index.ts"
import { type RecordedRun, realRuns } from "./real-runs.test-support.ts"

const cases = Object.entries(realRuns)
const run = (name: string): Promise<RecordedRun> => (realRuns[name] as () => Promise<RecordedRun>)()
const viewOf = async (name: string): Promise<RunView> => foldEvents(emptyView(), (await run(name)).events)
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
    if (result.status === "waiting") return
    expect(view.totals).toEqual({ atWork: 0, resting: 0, requests: 0 })
    const open = everyTask(view).filter(({ status }) => !["finished", "failed", "cancelled"].includes(status))
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

  it.each(cases)("goes on after a copy of it was kept elsewhere: %s", async (_, make) => {
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
    const { events } = await run("shared state")
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
    const { events } = await run("shared state")
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
    const { events } = await run("live events")
    const at = events.findIndex(isLive)
    const before = foldEvents(emptyView(), events.slice(0, at))
    const after = foldEvent(before, events[at] as RunEvent)
    expect(after.log).not.toBe(before.log)
    expect(after.tasks).toBe(before.tasks)
    expect(after.supersteps).toBe(before.supersteps)
    expect(after.state).toBe(before.state)
  })
})

describe("a stream that is joined again (V3)", () => {
  it.each(cases)("changes nothing, wherever it was left and joined: %s", async (_, make) => {
    const { events } = await make()
    const whole = foldEvents(emptyView(), events)
    for (let left = 0; left <= events.length; left++) {
      const view = foldEvents(emptyView(), events.slice(0, left))
      for (let after = 0; after <= view.seq; after++) {
        // Joined just where it was left, live events that were seen cannot be told from new ones.
        if (after === view.seq && view.live > 0) continue
        const again = events.slice(events.findIndex((event) => event.seq === after && !isLive(event)) + 1)
        expect(foldEvents(view, again), `left at ${left}, joined after ${after}`).toEqual(whole)
      }
    }
  })

  it.each(cases)("loses nothing but live events when it is joined where it was left: %s", async (_, make) => {
    const { events } = await make()
    const { seq, status, tasks } = foldEvents(emptyView(), events)
    for (let left = 0; left <= events.length; left++) {
      const view = foldEvents(emptyView(), events.slice(0, left))
      const again = events.filter((event) => event.seq > view.seq)
      expect(foldEvents(view, again)).toMatchObject({ seq, status, tasks })
    }
  })

  it("keeps what it knows when the journal leaves live events out", async () => {
    const { events } = await run("live events")
    const whole = foldEvents(emptyView(), events)
    const cut = events.findLastIndex(isLive)
    const view = foldEvents(emptyView(), events.slice(0, cut))
    const journaled = events.slice(0, cut).filter((event) => !isLive(event))
    expect(foldEvents(view, [...journaled, ...events.slice(cut)])).toEqual(whole)
  })

  it("counts the same line twice when it was said twice", async () => {
    const { log } = await viewOf("live events")
    expect(log.map((event) => (event.type === "log" ? event.message : event.name))).toEqual([
      "run.finished",
      "half way",
      "half way",
      "nothing",
    ])
  })

  it("does not take what is new for what was trimmed", () => {
    const line = (n: number): RunEvent => ({
      runId: "r",
      seq: 1,
      at: n,
      path: [],
      type: "log",
      task: 1,
      node: "a",
      level: "info",
      message: `line ${n}`,
    })
    const first: RunEvent = {
      runId: "r",
      seq: 1,
      at: 0,
      path: [],
      type: "run.started",
      workflow: "w",
      input: 1,
    }
    const lines = Array.from({ length: 1_500 }, (_, i) => line(i))
    const whole = foldEvents(emptyView(), [first, ...lines])
    expect(whole.log).toHaveLength(1_000)
    expect(whole.log.at(-1)).toEqual(line(1_499))
    const early = foldEvents(emptyView(), [first, ...lines.slice(0, 1_200)])
    // With everything again; and from a journal that has no lines.
    expect(foldEvents(early, [first, ...lines])).toEqual(whole)
    expect(foldEvents(early, [first, ...lines.slice(1_200)])).toEqual(whole)
  })

  it("refuses an event of another run", async () => {
    const { events } = await run("a chain")
    const view = foldEvents(emptyView(), events)
    const other = { ...(events[0] as EngineEvent), runId: "another" } as RunEvent
    expect(() => foldEvent(view, other)).toThrow(expect.objectContaining({ code: "EVENT_OF_ANOTHER_RUN" }))
  })
})

describe("the overall status", () => {
  const statuses = async (name: string) => {
    const { events } = await run(name)
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
    ["a sleep", ["running", "waiting", "running", "completed"]],
    ["a retry after a delay", ["running", "completed"]],
    ["cancelled with a question in a sub-workflow", ["running", "waiting", "cancelled"]],
    ["a limit", ["running", "limit"]],
  ])("of %s", async (name, expected) => {
    expect(await statuses(name)).toEqual(expected)
  })

  it("is running while a task works beside an open question", async () => {
    const { events } = await run("a question beside other work")
    const at = events.findIndex((event) => event.type === "task.started" && event.node === "talks") + 1
    const view = foldEvents(emptyView(), events.slice(0, at))
    expect(openRequests(view)).toHaveLength(1)
    expect(view.status).toBe("running")
    expect((await viewOf("a question beside other work")).status).toBe("waiting")
  })
})

describe("what a view shows", () => {
  it("tasks, with their attempts and times", async () => {
    const { events } = await run("a retry after a delay")
    const failed = events.findIndex(({ type }) => type === "task.failed") + 1
    const between = foldEvents(emptyView(), events.slice(0, failed))
    expect(taskOf(between, 2)).toMatchObject({
      node: "shaky",
      status: "backoff",
      attempt: 1,
      retryAt: 1_500,
      error: { message: "failure 1" },
      startedAt: 1_000,
      finishedAt: undefined,
    })
    const view = foldEvents(between, events.slice(failed))
    expect(taskOf(view, 2)).toMatchObject({
      status: "finished",
      attempt: 3,
      startedAt: 1_000,
      finishedAt: 2_000,
      retryAt: undefined,
      error: undefined,
    })
  })

  it("a task that is tried again at once as queued, until it has its place", async () => {
    const { events } = await run("a retry at once")
    const failed = events.findIndex(({ type }) => type === "task.failed") + 1
    expect(taskOf(foldEvents(emptyView(), events.slice(0, failed)), 2)?.status).toBe("queued")
  })

  it("a failure as failed, whether it ended the run, took an error edge, or became a value", async () => {
    for (const name of ["a failure", "an error edge"]) {
      expect(taskOf(await viewOf(name), 2)).toMatchObject({ status: "failed", error: { message: "no luck" } })
    }
    expect(taskOf(await viewOf("a failure that settles"), 2)).toMatchObject({
      status: "failed",
      error: { message: "no 1" },
    })
  })

  it("a task whose message no handler took as over", async () => {
    const view = await viewOf("a message that no handler takes")
    expect(tasksOf(view).map(({ node, status }) => `${node} ${status}`)).toEqual([
      "start finished",
      "picky finished",
      "double finished",
    ])
    expect(view.undelivered).toMatchObject([{ from: "start", to: "picky" }])
  })

  it("supersteps, and whose tasks they ran", async () => {
    const view = await viewOf("a map with few places")
    expect(superstepsOf(view).map(({ superstep, size }) => [superstep, size])).toEqual([
      [1, 1],
      [2, 7],
      [3, 1],
    ])
    expect(tasksOf(view, 2).map(({ id, node }) => `${node} ${id}`)).toEqual(
      [2, 3, 4, 5, 6, 7, 8].map((id) => `double ${id}`),
    )
    expect(superstepsOf(view).every(({ committedAt }) => committedAt === 1_000)).toBe(true)
    expect(tasksOf(view, 9)).toEqual([])
  })

  it("supersteps of flow mode, as far as tasks tell", async () => {
    const view = await viewOf("flow mode")
    expect(superstepsOf(view).map(({ superstep, size }) => [superstep, size])).toEqual([
      [1, undefined],
      [2, undefined],
      [3, undefined],
    ])
  })

  it("what a parked task waits for", async () => {
    const view = await viewOf("two questions, one of them answered")
    expect(taskOf(view, 2)).toMatchObject({ status: "parked", waits: [{ kind: "request", request: "r2" }] })
    const nested = await viewOf("a question in a sub-workflow that waits")
    expect(taskOf(nested, 2)).toMatchObject({
      status: "parked",
      waits: [{ kind: "call", workflow: "asking" }],
    })
  })

  it("requests: who answered what, and when; and those that nobody answered", async () => {
    const { requests } = await viewOf("a question in a sub-workflow that is answered")
    expect(Object.values(requests)).toMatchObject([
      { status: "answered", answer: "yes", by: "ann", closedAt: 1_000, path: ["asking#2"] },
    ])
    expect((await viewOf("a question with a default, past its deadline")).requests.r1).toMatchObject({
      status: "answered",
      answer: "no",
      by: "deadline",
      closedAt: 1_100,
    })
    expect((await viewOf("a question that expires")).requests.r1?.status).toBe("expired")
    expect(
      Object.values((await viewOf("cancelled with a question in a sub-workflow")).requests)[0]?.status,
    ).toBe("withdrawn")
  })

  it("nested workflows by their path, with what is theirs", async () => {
    const view = await viewOf("a sub-workflow")
    const outer = workflowAt(view, ["outer#2"])
    expect(outer).toMatchObject({ workflow: "outer", status: "completed", input: 1, outputs: [4] })
    const inner = workflowAt(view, ["outer#2", "inner#2"])
    expect(inner).toMatchObject({ workflow: "inner", status: "completed", input: 2, outputs: [4] })
    expect(inner && tasksOf(inner).map(({ node, path }) => [node, path])).toEqual([
      ["start", ["outer#2", "inner#2"]],
      ["double", ["outer#2", "inner#2"]],
    ])
    expect(workflowAt(view, [])).toBe(view)
    expect(workflowAt(view, ["outer#3"])).toBeUndefined()
    expect(workflowAt(view, ["nobody#9", "inner#2"])).toBeUndefined()
  })

  it("each call of a task that called again", async () => {
    const view = await viewOf("a sub-workflow that fails and is called again")
    expect(taskOf(view, 2)?.calls.map(({ workflow, status }) => [workflow, status])).toEqual([
      ["failing", "failed"],
      ["inner", "completed"],
    ])
  })

  it("a workflow below as cancelled when the run ended over it", async () => {
    const view = await viewOf("cancelled with a question in a sub-workflow")
    const below = workflowAt(view, ["asking#2"])
    expect(below).toMatchObject({ status: "cancelled", atWork: 0, resting: false })
    expect(below && tasksOf(below)).toMatchObject([{ status: "cancelled", waits: [] }])
  })

  it("usage, in all and by node, what is below included once", async () => {
    const { result } = await run("usage of a sub-workflow")
    const view = await viewOf("usage of a sub-workflow")
    expect(view.usage).toEqual(result.usage)
    expect(view.usageByNode).toEqual({
      spends: { inputTokens: 30, outputTokens: 7, modelCalls: 1, usd: 0.1 },
      spending: { inputTokens: 30, outputTokens: 7, modelCalls: 1, usd: 0.1 },
    })
    expect(workflowAt(view, ["spending#2"])?.usage).toEqual(view.usageByNode.spending)
  })

  it("the limit that sent a run along its way out", async () => {
    const view = await viewOf("a limit with a way out")
    expect(view).toMatchObject({ status: "completed", error: undefined, limit: { code: "CONVERGENCE" } })
  })

  function everyStatus(view: RunView) {
    return everyTask(view).map(({ status }) => status)
  }

  it("every status of a task, over all these runs", async () => {
    const seen = new Set<string>()
    for (const [, make] of cases) {
      const fold = new RunFold()
      for (const event of (await make()).events)
        for (const one of everyStatus(fold.add(event).view)) seen.add(one)
    }
    expect([...seen].sort()).toEqual(
      ["backoff", "cancelled", "failed", "finished", "parked", "queued", "running"].sort(),
    )
  })
})

function everyTask(view: Parameters<typeof tasksOf>[0]): ReturnType<typeof tasksOf> {
  return tasksOf(view).flatMap((task) => [task, ...task.calls.flatMap(everyTask)])
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const part of Object.values(value)) deepFreeze(part)
  return value
}
