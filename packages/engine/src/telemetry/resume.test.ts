import { context, trace } from "@opentelemetry/api"
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks"
import { AlwaysOffSampler } from "@opentelemetry/sdk-trace-base"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { memoryStore, node, workflow } from "../index.ts"
import { idOf, linksOf, parentOf, type Recorder, recorder, traceIdsOf } from "./recorder.test-support.ts"
import { telemetry } from "./telemetry.ts"

/** Two processes: each has a recorder of its own. */
let first: Recorder
let second: Recorder
beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
})
beforeEach(() => {
  first = recorder()
  second = recorder()
})
afterAll(() => context.disable())

const recording = ({ tracer, meter }: Recorder) => telemetry({ tracer, meter, messages: false })

const prepare = node("prepare", (value: number) => value)
const ask = node("ask", async (value: number, ctx) => value + (await ctx.ask<number>("How many more?")))
const double = node("double", (value: number) => value * 2)
const asking = workflow("asking").chain(prepare, ask, double).build()

describe("a resumed run", () => {
  it("continues the trace of its first life", async () => {
    const store = memoryStore()
    await asking.run(1, { runId: "r", store, telemetry: recording(first) })
    const again = asking.resume("r", { takeOver: true, store, telemetry: recording(second) })
    const { requests } = await again
    await again.respond(requests[0]?.id as string, 2)
    expect((await again).outputs).toEqual([6])

    const [traceId] = traceIdsOf(first.spans())
    expect(traceIdsOf(second.spans())).toEqual([traceId])
    const run = second.span("workflow.run")
    expect(run.attributes).toMatchObject({ "superstep.run.resumed": true, "superstep.run.id": "r" })
    // The first life never ended its own span: its tasks have its id.
    expect(parentOf(run)).toBe(parentOf(first.span("executor.process prepare")))
    expect(parentOf(run)).not.toBe(idOf(run))
    for (const id of ["ask", "double"]) {
      expect(parentOf(second.span(`executor.process ${id}`))).toBe(idOf(run))
    }
    expect(second.open()).toEqual([])
  })

  it("links its tasks to causes of the first life", async () => {
    const store = memoryStore()
    await asking.run(1, { runId: "r", store, telemetry: recording(first) })
    const again = asking.resume("r", { takeOver: true, store, telemetry: recording(second) })
    await again.respond((await again).requests[0]?.id as string, 2)
    await again
    expect(linksOf(second.span("executor.process ask"))).toEqual([
      idOf(first.span("executor.process prepare")),
    ])
    expect(linksOf(second.span("executor.process double"))).toEqual([
      idOf(second.span("executor.process ask")),
    ])
  })

  it("has no link from its first task to another, in any life", async () => {
    const store = memoryStore()
    const single = workflow("single").chain(ask).build()
    await single.run(1, { runId: "r", store, telemetry: recording(first) })
    const again = single.resume("r", { takeOver: true, store, telemetry: recording(second) })
    await again.respond((await again).requests[0]?.id as string, 2)
    await again
    expect(linksOf(second.span("executor.process ask"))).toEqual([])
  })

  it("links to the span that resumed it", async () => {
    const store = memoryStore()
    await asking.run(1, { runId: "r", store, telemetry: recording(first) })
    const worker = second.tracer.startSpan("worker")
    await context.with(trace.setSpan(context.active(), worker), async () => {
      const again = asking.resume("r", { takeOver: true, store, telemetry: recording(second) })
      await again.respond((await again).requests[0]?.id as string, 2)
      await again
    })
    worker.end()
    const run = second.span("workflow.run")
    expect(run.spanContext().traceId).toBe(traceIdsOf(first.spans())[0])
    expect(linksOf(run)).toEqual([idOf(worker as never)])
  })

  it("restores its sub-workflows in the same trace", async () => {
    const store = memoryStore()
    const outer = workflow("outer").chain(prepare, asking.asNode()).build()
    await outer.run(1, { runId: "r", store, telemetry: recording(first) })
    const again = outer.resume("r", { takeOver: true, store, telemetry: recording(second) })
    await again.respond((await again).requests[0]?.id as string, 2)
    expect((await again).outputs).toEqual([6])
    expect(second.spans("workflow.run").map((span) => span.attributes["superstep.run.path"])).toEqual([
      "asking#2",
      "",
    ])
    expect(traceIdsOf(second.spans())).toEqual(traceIdsOf(first.spans()))
    expect(second.open()).toEqual([])
  })

  it("that was not traced before gets a trace of its own", async () => {
    const store = memoryStore()
    await asking.run(1, { runId: "r", store })
    const again = asking.resume("r", { takeOver: true, store, telemetry: recording(second) })
    await again.respond((await again).requests[0]?.id as string, 2)
    await again
    const run = second.span("workflow.run")
    expect(parentOf(run)).toBeUndefined()
    expect(linksOf(second.span("executor.process ask"))).toEqual([])
    expect(traceIdsOf(second.spans())).toHaveLength(1)
  })

  it("that was not sampled stays unsampled", async () => {
    const store = memoryStore()
    await asking.run(1, { runId: "r", store, telemetry: recording(recorder(new AlwaysOffSampler())) })
    const again = asking.resume("r", { takeOver: true, store, telemetry: recording(second) })
    await again.respond((await again).requests[0]?.id as string, 2)
    await again
    expect(second.spans()).toEqual([])
  })

  it("that has ended starts no span", async () => {
    const store = memoryStore()
    const run = workflow("short").chain(prepare, double).build()
    await run.run(1, { runId: "r", store, telemetry: recording(first) })
    expect((await run.resume("r", { takeOver: true, store, telemetry: recording(second) })).outputs).toEqual([
      2,
    ])
    expect(second.spans()).toEqual([])
    expect(second.open()).toEqual([])
  })
})
