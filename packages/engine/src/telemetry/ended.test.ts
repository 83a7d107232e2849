/** Every way a run can end leaves no span open. */
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { channel, memoryStore, node, type RunOptions, reducer, type Store, workflow } from "../index.ts"
import { manualClock } from "../testing/manual-clock.ts"
import { type Recorder, recorder } from "./recorder.test-support.ts"
import { telemetry } from "./telemetry.ts"

let recorded: Recorder
beforeEach(() => {
  recorded = recorder()
})
afterEach(() => expect(recorded.open()).toEqual([]))

const traced = (options: RunOptions = {}) => ({
  ...options,
  telemetry: telemetry({ tracer: recorded.tracer, meter: recorded.meter }),
})
/** How often each span was ended, and how: `name status`. */
const ends = () =>
  recorded
    .spans()
    .filter((span) => !/^(edge_group|message)/.test(span.name))
    .map(({ name, attributes }) => {
      const end = attributes["superstep.run.status"] ?? attributes["superstep.task.outcome"]
      return `${name} ${end}`
    })
    .sort()

const pass = (id: string) => node(id, (value: number) => value)
const stuck = (id: string) => node(id, (_: number) => new Promise<number>(() => {}))
const fails = (id: string) =>
  node(id, async (_: number): Promise<number> => {
    throw new Error("no luck")
  })

function slowStore(): Store {
  const store = memoryStore()
  return { ...store, append: async (...args) => store.append(...args) }
}

describe("no span stays open, and none ends twice, when a run", () => {
  it("completes", async () => {
    const [a, b, c] = [pass("a"), pass("b"), pass("c")]
    const done = workflow("w").start(a).fanOut(a, [b, c]).build()
    await done.run(1, traced())
    expect(ends()).toEqual([
      "executor.process a completed",
      "executor.process b completed",
      "executor.process c completed",
      "workflow.run completed",
    ])
  })

  it.each([
    ["no store", undefined],
    ["a store that takes time", slowStore()],
  ])("fails while others are executing, with %s", async (_, store) => {
    const a = pass("a")
    const failing = workflow("w")
      .start(a)
      .fanOut(a, [stuck("b"), fails("c"), stuck("d")])
      .build()
    await failing.run(1, traced({ store })).result
    expect(ends()).toEqual([
      "executor.process a completed",
      "executor.process b cancelled",
      "executor.process c failed",
      "executor.process d cancelled",
      "workflow.run failed",
    ])
  })

  it("fails while tasks wait for a slot", async () => {
    const a = pass("a")
    const failing = workflow("w", { limits: { concurrency: 1 } })
      .start(a)
      .fanOut(a, [fails("b"), pass("c"), pass("d")])
      .build()
    await failing.run(1, traced()).result
    expect(ends()).toEqual([
      "executor.process a completed",
      "executor.process b failed",
      "workflow.run failed",
    ])
  })

  it.each([
    ["no store", undefined],
    ["a store that takes time", slowStore()],
  ])("is cancelled, with %s", async (_, store) => {
    const run = workflow("w").chain(stuck("a")).build().run(1, traced({ store }))
    await Promise.resolve()
    run.cancel()
    expect((await run.result).status).toBe("cancelled")
    expect(ends()).toEqual(["executor.process a cancelled", "workflow.run cancelled"])
  })

  it("is cancelled before it begins", async () => {
    const signal = AbortSignal.abort("never mind")
    await workflow("w").chain(stuck("a")).build().run(1, traced({ signal })).result
    expect(ends()).toEqual(["workflow.run cancelled"])
  })

  it("is cancelled while it waits for a person", async () => {
    const asking = node("asking", (_: number, ctx) => ctx.ask("Well?"))
    const run = workflow("w").chain(asking).build().run(1, traced())
    expect((await run).status).toBe("waiting")
    run.cancel()
    await run.result
    expect(ends()).toEqual(["executor.process asking cancelled", "workflow.run cancelled"])
  })

  it("has a task whose handler continues after its timeout", async () => {
    const clock = manualClock()
    let wake = (_: number) => {}
    const slow = node({
      id: "slow",
      timeout: 10,
      run: (_: number) =>
        new Promise<number>((resolve) => {
          wake = resolve
        }),
    })
    const run = workflow("w").chain(slow).build().run(1, traced({ clock }))
    await clock.advance(10)
    expect((await run.result).error?.code).toBe("TIMEOUT")
    wake(1)
    await clock.advance(0)
    expect(ends()).toEqual(["executor.process slow failed", "workflow.run failed"])
  })

  it("retries after a timeout, and then completes", async () => {
    const clock = manualClock()
    const slow = node({
      id: "slow",
      timeout: 10,
      retry: { attempts: 2, delay: 5 },
      run: (value: number, ctx) => (ctx.attempt === 1 ? new Promise<number>(() => {}) : value),
    })
    const run = workflow("w").chain(slow).build().run(1, traced({ clock }))
    await clock.advance(20)
    await run
    expect(ends()).toEqual([
      "executor.process slow completed",
      "executor.process slow retried",
      "workflow.run completed",
    ])
  })

  it("is cancelled between two attempts", async () => {
    const clock = manualClock()
    const flaky = node({
      id: "flaky",
      retry: { attempts: 2, delay: 1_000 },
      run: (_: number): number => {
        throw new Error("no luck")
      },
    })
    const run = workflow("w").chain(flaky).build().run(1, traced({ clock }))
    run.cancel()
    await run.result
    expect(ends()).toEqual(["executor.process flaky retried", "workflow.run cancelled"])
  })

  it("hits the limit of supersteps", async () => {
    const chain = workflow("w").chain(pass("a"), pass("b")).build()
    await chain.run(1, traced({ limits: { supersteps: 1 } })).result
    expect(ends()).toEqual(["executor.process a completed", "workflow.run limit"])
  })

  it("hits its budget", async () => {
    const paid = node("paid", (value: number, ctx) => {
      ctx.use({ usd: 2 })
      return value
    })
    const dear = workflow("w").chain(paid, pass("b")).build()
    await dear.run(1, traced({ budget: { usd: 1 } })).result
    expect(ends()).toEqual(["executor.process paid completed", "workflow.run limit"])
  })

  it("runs out of time, and takes its limit route", async () => {
    const clock = manualClock()
    const slow = stuck("slow")
    const late = workflow("w")
      .start(slow)
      .onLimit(node("summary", () => "so far"))
      .build()
    const run = late.run(1, traced({ clock, timeout: 10 }))
    await clock.advance(10)
    expect((await run.result).outputs).toEqual(["so far"])
    expect(ends()).toEqual([
      "executor.process slow cancelled",
      "executor.process summary completed",
      "workflow.run completed",
    ])
  })

  it("has a sub-workflow that fails", async () => {
    const inner = workflow("inner").chain(fails("x")).build()
    await workflow("w").chain(inner.asNode()).build().run(1, traced()).result
    expect(ends()).toEqual([
      "executor.process inner failed",
      "executor.process x failed",
      "workflow.run failed",
      "workflow.run failed",
    ])
  })

  it("is cancelled with sub-workflows below sub-workflows", async () => {
    const bottom = workflow("bottom").chain(stuck("x")).build()
    const middle = workflow("middle").chain(bottom.asNode()).build()
    const run = workflow("w").chain(middle.asNode()).build().run(1, traced())
    await manualClock().advance(0)
    expect(recorded.open()).toContain("executor.process x")
    run.cancel()
    await run.result
    expect(ends()).toEqual([
      "executor.process bottom cancelled",
      "executor.process middle cancelled",
      "executor.process x cancelled",
      "workflow.run cancelled",
      "workflow.run cancelled",
      "workflow.run cancelled",
    ])
  })

  it("has a task that abandons its sub-workflow", async () => {
    const inner = workflow("inner").chain(stuck("x")).build()
    const impatient = node({
      id: "impatient",
      onError: "settle",
      run: async (value: number, ctx) => {
        const called = ctx.call(inner, value)
        called.catch(() => {})
        await ctx.sleep(10)
        throw new Error("too slow")
      },
    })
    const clock = manualClock()
    const run = workflow("w").chain(impatient).build().run(1, traced({ clock }))
    await clock.advance(10)
    await run.result
    expect(ends()).toEqual([
      "executor.process impatient failed",
      "executor.process x cancelled",
      "workflow.run cancelled",
      "workflow.run completed",
    ])
  })

  it("has a sub-workflow that uses up its budget", async () => {
    const paid = node("paid", async (value: number, ctx) => {
      ctx.use({ usd: 2 })
      return value
    })
    const inner = workflow("inner").chain(paid, stuck("x")).build()
    await workflow("w")
      .chain(inner.asNode())
      .build()
      .run(1, traced({ budget: { usd: 1 } })).result
    expect(ends()).toEqual(expect.arrayContaining(["workflow.run cancelled", "workflow.run limit"]))
  })

  it("has a condition that throws", async () => {
    const [a, b] = [pass("a"), pass("b")]
    const broken = workflow("w")
      .start(a)
      .edge(a, b, {
        when: () => {
          throw new Error("no idea")
        },
      })
      .build()
    await broken.run(1, traced()).result
    expect(ends()).toEqual(["executor.process a failed", "workflow.run failed"])
  })

  it("has a reducer that throws", async () => {
    const broken = channel(
      "total",
      reducer<number>("broken", () => {
        throw new Error("no idea")
      }),
    )
    const writes = node("writes", (value: number, ctx) => {
      ctx.state.write(broken, value)
      return value
    })
    await workflow("w", { state: [broken] })
      .chain(writes, pass("b"))
      .build()
      .run(1, traced()).result
    expect(ends()).toEqual(["executor.process writes completed", "workflow.run failed"])
  })

  it("fails in flow mode, where branches are at different steps", async () => {
    const [a, b] = [pass("a"), pass("b")]
    const flow = workflow("w", { schedule: "flow" })
      .start(a)
      .fanOut(a, [b, fails("c")])
      .edge(b, stuck("d"))
      .build()
    await flow.run(1, traced()).result
    expect(ends()).toEqual([
      "executor.process a completed",
      "executor.process b completed",
      "executor.process c failed",
      "executor.process d cancelled",
      "workflow.run failed",
    ])
  })

  it("cannot start because its input is invalid", async () => {
    const picky = workflow("w").chain(pass("a")).build()
    await expect(picky.run(undefined as never, traced()).result).rejects.toMatchObject({
      code: "INPUT_INVALID",
    })
    expect(ends()).toEqual([])
  })
})
