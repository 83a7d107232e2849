import { context, trace } from "@opentelemetry/api"
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks"
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest"
import { memoryStore, node, type Store, workflow } from "../index.ts"
import { idOf, parentOf, type Recorder, recorder, traceIdsOf } from "./recorder.test-support.ts"
import { telemetry } from "./telemetry.ts"

let recorded: Recorder
beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
})
beforeEach(() => {
  recorded = recorder()
})
afterEach(() => expect(recorded.open()).toEqual([]))
afterAll(() => context.disable())

const recording = () => telemetry({ tracer: recorded.tracer, meter: recorded.meter, messages: false })
const mine = (name: string) => recorded.tracer.startActiveSpan(name, (span) => span.end())
const parentNamed = (name: string, parent: string) =>
  expect(parentOf(recorded.span(name)), `parent of ${name}`).toBe(idOf(recorded.span(parent)))

/** Writes take a turn, so that later code runs in the context in which the write completed. */
function slowStore(): Store {
  const store = memoryStore()
  return { ...store, append: async (...args) => store.append(...args) }
}

it("a user's spans nest in the task that creates them, before and after it waits (T2)", async () => {
  const worker = (id: string) =>
    node(id, async (value: number, ctx) => {
      mine(`${id} first`)
      await ctx.step("once", async () => mine(`${id} in step`))
      await ctx.sleep(0)
      mine(`${id} last`)
      return value
    })
  const chain = workflow("chain").chain(worker("a"), worker("b")).build()
  await chain.run(1, { telemetry: recording(), store: slowStore() })
  for (const id of ["a", "b"]) {
    for (const name of [`${id} first`, `${id} in step`, `${id} last`])
      parentNamed(name, `executor.process ${id}`)
  }
})

it("concurrent tasks have separate contexts (T2)", async () => {
  let meet = () => {}
  const met = new Promise<void>((resolve) => {
    meet = resolve
  })
  const start = node("start", (value: number) => value)
  const early = node("early", async (value: number) => {
    await met
    mine("early's own")
    return value
  })
  const late = node("late", async (value: number) => {
    meet()
    await met
    mine("late's own")
    return value
  })
  await workflow("pair").start(start).fanOut(start, [early, late]).build().run(1, { telemetry: recording() })
  parentNamed("early's own", "executor.process early")
  parentNamed("late's own", "executor.process late")
  parentNamed("executor.process early", "workflow.run")
  parentNamed("executor.process late", "workflow.run")
})

it("a run is a child of the span that was active when it was started, in the same trace", async () => {
  const chain = workflow("chain")
    .chain(
      node("a", async (value: number) => value),
      node("b", (value: number) => value),
    )
    .build()
  await recorded.tracer.startActiveSpan("request", async (span) => {
    await chain.run(1, { telemetry: recording(), store: slowStore() })
    span.end()
  })
  parentNamed("workflow.run", "request")
  parentNamed("executor.process b", "workflow.run")
  expect(traceIdsOf(recorded.spans())).toHaveLength(1)
})

it("a sub-workflow that is called from below a user's span is still the child of the task", async () => {
  const inner = workflow("inner")
    .chain(node("x", async (value: number) => mine("deep") ?? value))
    .build()
  const outer = workflow("outer")
    .chain(
      node("a", (value: number, ctx) =>
        recorded.tracer.startActiveSpan("around", async (span) => {
          const outputs = await ctx.call(inner, value)
          span.end()
          return outputs
        }),
      ),
    )
    .build()
  await outer.run(1, { telemetry: recording(), store: slowStore() })
  const [innerRun] = recorded.spans("workflow.run")
  expect(innerRun && parentOf(innerRun)).toBe(idOf(recorded.span("executor.process a")))
  parentNamed("deep", "executor.process x")
})

it("code after a run is not inside its span", async () => {
  const run = workflow("one")
    .chain(node("a", async (value: number) => value))
    .build()
    .run(1, { telemetry: recording() })
  expect(trace.getActiveSpan()).toBeUndefined()
  await run
  expect(trace.getActiveSpan()).toBeUndefined()
})
