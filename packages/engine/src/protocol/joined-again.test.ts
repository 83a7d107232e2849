import { describe, expect, it } from "vitest"
import { memoryStore, node, workflow } from "../index.ts"
import {
  emptyView,
  foldEvent,
  foldEvents,
  isLive,
  openRequests,
  type RunEvent,
  RunFold,
  workflowAt,
} from "./index.ts"
import { cases, everyTask, realRun, realView } from "./real-runs.test-support.ts"

describe("a stream that is joined again (V3)", () => {
  it.each(cases)("changes nothing, wherever it was left and joined: %s", async (_, make) => {
    const { events } = await make()
    const whole = foldEvents(emptyView(), events)
    for (let left = 0; left <= events.length; left++) {
      const view = foldEvents(emptyView(), events.slice(0, left))
      for (let after = 0; after <= view.seq; after++) {
        // A stream rejoined at its last number cannot distinguish live events that were seen from new ones.
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
    const { events } = await realRun("live events")
    const whole = foldEvents(emptyView(), events)
    const cut = events.findLastIndex(isLive)
    const view = foldEvents(emptyView(), events.slice(0, cut))
    const journaled = events.slice(0, cut).filter((event) => !isLive(event))
    expect(foldEvents(view, [...journaled, ...events.slice(cut)])).toEqual(whole)
  })

  it("counts a line twice when it was logged twice", async () => {
    const { log } = await realView("live events")
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

  it("may be the journal's: it tells the same as the live one did", async () => {
    const ask = node("ask", async (n: number, ctx) => `${n}: ${await ctx.ask("Continue?")}`)
    const inner = workflow("inner").start(ask).build()
    const built = workflow("w")
      .chain(
        node("start", (n: number) => n),
        inner.asNode(),
      )
      .build()
    const run = built.stream(1, { store: memoryStore() })
    const fold = new RunFold()
    const watch = async (events: AsyncIterable<RunEvent>, until: string) => {
      for await (const event of events) if (fold.add(event).view.status === until) break
      return fold.view
    }
    const left = await watch(run, "waiting")
    const [request] = openRequests(left)
    await run.respond(request?.id as string, "yes")
    const result = await run.result
    expect(await watch(run.events({ after: left.seq - 3 }), "completed")).toMatchObject({
      status: result.status,
      outputs: result.outputs,
      requests: { [request?.id as string]: { status: "answered", answer: "yes" } },
    })
    let fromTheStart = emptyView()
    for await (const event of run.events({ after: 0 })) fromTheStart = foldEvent(fromTheStart, event)
    expect(fromTheStart).toEqual(fold.view)
  })

  it("may continue below a cancelled run: the journal has what the live stream did not", async () => {
    const ask = node("ask", (_: number, ctx) => ctx.ask("Continue?"))
    const inner = workflow("inner").start(ask).build()
    const run = workflow("w").start(inner.asNode()).build().stream(1, { store: memoryStore() })
    await run.result
    run.cancel("enough")
    const [live, journaled] = [new RunFold(), new RunFold()]
    for await (const event of run) live.add(event)
    for await (const event of run.events({ after: 0 })) journaled.add(event)
    expect(journaled.view.seq).toBeGreaterThanOrEqual(live.view.seq)
    for (const { view } of [live, journaled]) {
      expect(view).toMatchObject({ status: "cancelled", totals: { atWork: 0, resting: 0, requests: 0 } })
      expect(Object.values(view.requests)).toMatchObject([{ status: "withdrawn" }])
      expect(everyTask(view).map(({ status }) => status)).toEqual(["cancelled", "cancelled"])
      expect(workflowAt(view, ["inner#1"])?.status).toBe("cancelled")
    }
  })

  it("may begin in the middle: the view shows the events it received", async () => {
    const { events, result } = await realRun("a question in a sub-workflow that is answered")
    for (let from = 0; from < events.length; from++) {
      const view = foldEvents(emptyView(), events.slice(from))
      expect(view.status).toBe(result.status)
      expect(view.totals).toEqual({ atWork: 0, resting: 0, requests: 0 })
    }
  })

  it("refuses an event of another run", async () => {
    const { events } = await realRun("a chain")
    const view = foldEvents(emptyView(), events)
    const other = { ...(events[0] as RunEvent), runId: "another" }
    expect(() => foldEvent(view, other)).toThrow(expect.objectContaining({ code: "EVENT_OF_ANOTHER_RUN" }))
  })
})
