import { beforeEach, describe, expect, it } from "vitest"
import { memoryStore, node, type RunOptions, workflow } from "../index.ts"
import { controlled, manualClock } from "../testing/index.ts"
import { type Recorder, recorder } from "./recorder.test-support.ts"
import { telemetry } from "./telemetry.ts"

let recorded: Recorder
let time: number
beforeEach(() => {
  recorded = recorder()
  time = 0
})
const traced = (options: RunOptions = {}) => ({
  ...options,
  telemetry: telemetry({ tracer: recorded.tracer, meter: recorded.meter, now: () => time }),
})

const takes = (id: string, milliseconds: number) =>
  node(id, (value: number) => {
    time += milliseconds
    return value
  })

describe("tasks", () => {
  it("are counted and timed by workflow, node and outcome", async () => {
    const timed = workflow("timed").chain(takes("a", 10), takes("b", 200)).build()
    const { telemetry } = traced()
    await timed.run(1, { telemetry })
    await timed.run(1, { telemetry })
    const at = (node: string) => ({
      "workflow.name": "timed",
      "superstep.node.id": node,
      "superstep.task.outcome": "completed",
    })
    expect(await recorded.points("superstep.tasks")).toEqual([
      { attributes: at("a"), value: 2 },
      { attributes: at("b"), value: 2 },
    ])
    expect(await recorded.points("superstep.task.duration")).toEqual([
      { attributes: at("a"), value: { count: 2, sum: 20 } },
      { attributes: at("b"), value: { count: 2, sum: 400 } },
    ])
    expect(await recorded.points("superstep.task.retries")).toEqual([])
  })

  it("count every attempt once, and retries separately", async () => {
    const flaky = node({
      id: "flaky",
      retry: { attempts: 3, delay: 0 },
      run: (_: number): number => {
        time += 1
        throw new Error("no luck")
      },
    })
    await workflow("w").chain(flaky).build().run(1, traced()).result
    const attributes = { "workflow.name": "w", "superstep.node.id": "flaky" }
    expect(await recorded.points("superstep.tasks")).toEqual([
      { attributes: { ...attributes, "superstep.task.outcome": "retried" }, value: 2 },
      { attributes: { ...attributes, "superstep.task.outcome": "failed" }, value: 1 },
    ])
    expect(await recorded.points("superstep.task.retries")).toEqual([{ attributes, value: 2 }])
    expect(await recorded.points("superstep.task.duration")).toMatchObject([
      { value: { count: 2, sum: 2 } },
      { value: { count: 1, sum: 1 } },
    ])
  })

  it("report how long they were queued, if the runtime knows", async () => {
    const run = traced().telemetry.startRun({
      runId: "r",
      workflow: "w",
      path: [],
      parent: undefined,
      resumed: false,
    })
    const info = { node: "a", kind: "node", attempt: 1, superstep: 1, causes: [] }
    const waited = { ...info, task: 1, queuedMs: 30 }
    run.startTask(waited).end({})
    run.startTask({ ...info, task: 2 }).end({})
    run.end("completed", undefined, {})
    expect(await recorded.points("superstep.task.queue_time")).toEqual([
      {
        attributes: { "workflow.name": "w", "superstep.node.id": "a" },
        value: { count: 1, sum: 30 },
      },
    ])
  })
})

describe("queue time", () => {
  it("is how long a task waits for a slot at its node", async () => {
    const clock = manualClock()
    const source = node("source", (n: number, ctx) => {
      ctx.send(n)
      return n
    })
    const busy = controlled<number, number>("busy")
    const run = workflow("w").chain(source, busy).build().run(1, traced({ clock }))
    await busy.started(1)
    await clock.advance(30)
    busy.finish(1)
    await busy.started(2)
    busy.finish(2)
    await run
    const points = await recorded.points("superstep.task.queue_time")
    expect(points).toContainEqual({
      attributes: { "workflow.name": "w", "superstep.node.id": "busy" },
      value: { count: 2, sum: 30 },
    })
  })
})

describe("runs", () => {
  const at = (workflow: string, status: string, nested = false) => ({
    "workflow.name": workflow,
    "superstep.run.status": status,
    "superstep.run.nested": nested,
  })

  it("are counted by status and timed, nested ones separately", async () => {
    const inner = workflow("inner").chain(takes("x", 5)).build()
    const outer = workflow("outer").chain(takes("a", 10), inner.asNode()).build()
    const { telemetry } = traced()
    await outer.run(1, { telemetry })
    await outer.run(1, { telemetry, limits: { supersteps: 1 } }).result
    expect(await recorded.points("superstep.runs")).toEqual([
      { attributes: at("inner", "completed", true), value: 1 },
      { attributes: at("outer", "completed"), value: 1 },
      { attributes: at("outer", "limit"), value: 1 },
    ])
    expect(await recorded.points("superstep.run.duration")).toEqual([
      { attributes: at("inner", "completed", true), value: { count: 1, sum: 5 } },
      { attributes: at("outer", "completed"), value: { count: 1, sum: 15 } },
      { attributes: at("outer", "limit"), value: { count: 1, sum: 10 } },
    ])
  })

  it("that are resumed are counted once, when they end (R1)", async () => {
    const ask = node("ask", (_: number, ctx) => ctx.ask<number>("How many?"))
    const asking = workflow("asking").chain(ask, takes("b", 1)).build()
    const store = memoryStore()
    const { telemetry } = traced()
    await asking.run(1, { runId: "r", store, telemetry })
    expect(await recorded.points("superstep.runs")).toEqual([])
    // In another process: the first one has died.
    const again = asking.resume("r", { takeOver: true, store: { ...store }, telemetry })
    await again.respond((await again).requests[0]?.id as string, 2)
    await again
    expect(await recorded.points("superstep.runs")).toEqual([
      { attributes: at("asking", "completed"), value: 1 },
    ])
  })

  it("end once, whatever the driver reports later (R1, T1)", async () => {
    const run = traced().telemetry.startRun({
      runId: "r",
      workflow: "w",
      path: [],
      parent: undefined,
      resumed: false,
    })
    const task = run.startTask({ task: 1, node: "a", kind: "node", attempt: 1, superstep: 1, causes: [] })
    task.end({})
    task.end({ error: { code: "CANCELLED", message: "late" } })
    run.end("completed", undefined, { usd: 1 })
    run.end("completed", undefined, { usd: 1 })
    expect(await recorded.points("superstep.tasks")).toMatchObject([{ value: 1 }])
    expect(await recorded.points("superstep.runs")).toMatchObject([{ value: 1 }])
    expect(await recorded.points("superstep.cost")).toMatchObject([{ value: 1 }])
  })
})

describe("tokens and cost", () => {
  const spends = (id: string, inputTokens: number, outputTokens: number, usd?: number) =>
    node(id, async (value: number, ctx) => {
      ctx.use({ inputTokens, outputTokens, ...(usd === undefined ? {} : { usd }) })
      return value
    })

  it("are the whole run's: tasks, recorded steps, failed attempts and sub-workflows, each once (R2)", async () => {
    const inner = workflow("inner")
      .chain(spends("x", 1, 2, 0.25))
      .build()
    const steps = node("steps", async (value: number, ctx) => {
      const usage = () => ({ inputTokens: 10, outputTokens: 20, usd: 0.5 })
      return ctx.step("model", () => value, { usage })
    })
    const flaky = node({
      id: "flaky",
      retry: { attempts: 2, delay: 0 },
      run: (value: number, ctx) => {
        ctx.use({ inputTokens: 100 })
        if (ctx.attempt === 1) throw new Error("no luck")
        return value
      },
    })
    const outer = workflow("outer")
      .chain(inner.asNode(), steps, flaky, spends("last", 1_000, 0))
      .build()
    await outer.run(1, traced())
    const at = (type: string) => ({ "workflow.name": "outer", "superstep.token.type": type })
    expect(await recorded.points("superstep.tokens")).toEqual([
      { attributes: at("input"), value: 1_211 },
      { attributes: at("output"), value: 22 },
    ])
    expect(await recorded.points("superstep.cost")).toEqual([
      { attributes: { "workflow.name": "outer" }, value: 0.75 },
    ])
  })

  it("are not reported if they are unknown", async () => {
    await workflow("w").chain(takes("a", 1)).build().run(1, traced())
    expect(await recorded.points("superstep.tokens")).toEqual([])
    expect(await recorded.points("superstep.cost")).toEqual([])
  })

  it("of an earlier life are counted with the last one (R2)", async () => {
    const ask = node("ask", async (value: number, ctx) => value + (await ctx.ask<number>("How many?")))
    const asking = workflow("asking")
      .chain(spends("a", 5, 7, 1), ask)
      .build()
    const store = memoryStore()
    await asking.run(1, { runId: "r", store })
    const again = asking.resume("r", { takeOver: true, store, telemetry: traced().telemetry })
    await again.respond((await again).requests[0]?.id as string, 2)
    await again
    expect((await recorded.points("superstep.tokens")).map((point) => point.value)).toEqual([5, 7])
    expect((await recorded.points("superstep.cost")).map((point) => point.value)).toEqual([1])
  })
})
