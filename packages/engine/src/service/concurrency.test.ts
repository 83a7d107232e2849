/** How many runs execute in one process, and how a runtime that recovers nothing behaves. */
import { describe, expect, test } from "vitest"
import { type Context, memoryStore, node, Runtime, workflow } from "../index.ts"
import { controlled, settled } from "../testing/index.ts"
import { pass, processOn } from "./processes.test-support.ts"

/** A workflow whose task is finished by hand, and a count of how many execute. */
function work() {
  const task = controlled<number, number>("work")
  return { task, flow: workflow("work").start(task).build() }
}

describe("Runtime({ concurrency })", () => {
  test("executes no more runs than it says, and starts the others in order", async () => {
    const { task, flow } = work()
    const { runtime } = processOn(memoryStore(), { workflows: [flow], concurrency: 2 })
    const runs = Array.from({ length: 5 }, (_, n) => runtime.start(flow, n, { runId: `r${n}` }))
    await settled()
    expect(task.atWork).toHaveLength(2)
    expect((await runtime.runs()).map(({ status }) => status)).toEqual(Array(5).fill("running"))
    expect((await runtime.runs()).map(({ executing }) => executing)).toEqual([
      false,
      false,
      false,
      true,
      true,
    ])
    const order: unknown[] = []
    for (const run of runs) void run.then(({ runId }) => order.push(runId))
    for (let n = 0; n < 5; n++) {
      expect(task.atWork.length).toBe(Math.min(2, 5 - n))
      task.finish(n)
      await settled()
    }
    expect(order).toEqual(["r0", "r1", "r2", "r3", "r4"])
    await runtime.close()
  })

  test("a run that waits gives its place back, and queues again when it continues", async () => {
    const { task, flow } = work()
    const asks = workflow("asks")
      .start(
        node("asks", async (_: number, ctx: Context) => [await ctx.ask("First?"), await ctx.ask("Then?")]),
      )
      .build()
    const { runtime } = processOn(memoryStore(), { workflows: [flow, asks], concurrency: 1 })
    const asking = runtime.start(asks, 1, { runId: "asks" })
    expect((await asking).status).toBe("waiting")
    const first = runtime.start(flow, 1, { runId: "first" })
    await settled()
    expect(task.atWork).toHaveLength(1)
    await asking.respond("r1", "yes")
    await settled()
    expect(await runtime.requests()).toEqual([])
    task.finish(1)
    await first
    expect((await asking).requests).toMatchObject([{ prompt: "Then?" }])
    await asking.respond("r2", "no")
    expect((await asking).outputs).toEqual([["yes", "no"]])
    await runtime.close()
  })

  test("a step beside a question needs a place too", async () => {
    const { task, flow } = work()
    let begin: () => void = () => undefined
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    let steps = 0
    const both = workflow("both")
      .start(
        node("both", async (_: number, ctx: Context) => {
          const late = begun.then(() => ctx.step("late", () => ++steps))
          return [await ctx.ask("?"), await late]
        }),
      )
      .build()
    const { runtime } = processOn(memoryStore(), { workflows: [flow, both], concurrency: 1 })
    const asking = runtime.start(both, 1)
    await asking
    const other = runtime.start(flow, 1)
    await settled()
    begin()
    await settled()
    expect(steps).toBe(0)
    task.finish(1)
    await other
    await settled()
    expect(steps).toBe(1)
    await runtime.close()
  })

  test("sub-workflows execute in the place of their run", async () => {
    const inner = workflow("inner")
      .start(node("inner", (n: number) => n + 1))
      .build()
    const outer = workflow("outer")
      .start(node("outer", async (n: number, ctx: Context) => (await ctx.call(inner, n))[0] ?? 0))
      .build()
    const { runtime } = processOn(memoryStore(), { workflows: [outer], concurrency: 1 })
    const results = await Promise.all([1, 2, 3].map((n) => runtime.start(outer, n)))
    expect(results.map(({ outputs }) => outputs)).toEqual([[2], [3], [4]])
    await runtime.close()
  })

  test("a run that queues is cancelled at once, and the next one takes its turn", async () => {
    const { task, flow } = work()
    const { runtime } = processOn(memoryStore(), { workflows: [flow], concurrency: 1 })
    const runs = [1, 2, 3].map((n) => runtime.start(flow, n, { runId: `r${n}` }))
    await settled()
    await runtime.cancel("r2", "not needed")
    expect(await runs[1]?.result).toMatchObject({ status: "cancelled" })
    task.finish(1)
    await settled()
    expect(task.atWork).toHaveLength(1)
    task.finish(3)
    expect((await runs[2])?.outputs).toEqual([3])
    await runtime.close()
  })

  test("closing frees the runs that queue, and starts none of them", async () => {
    const { task, flow } = work()
    const store = memoryStore()
    const { runtime } = processOn(store, { workflows: [flow], concurrency: 1 })
    const runs = [1, 2, 3].map((n) => runtime.start(flow, n, { runId: `r${n}` }).result)
    const ended = Promise.allSettled(runs)
    await settled()
    await runtime.close()
    await ended
    expect(task.atWork).toEqual([])
    for (const id of ["r1", "r2", "r3"]) {
      expect(await store.run(id)).toMatchObject({ status: "running", holder: undefined })
    }
    const next = processOn(store, { workflows: [flow], concurrency: 3 })
    expect((await next.runtime.recover()).resumed).toEqual(["r1", "r2", "r3"])
    await next.runtime.close()
  })

  test("runs of the store get their turn while runs that are started here queue", async () => {
    const { task, flow } = work()
    const store = memoryStore()
    const left = processOn(store, { workflows: [flow] })
    left.runtime.start(flow, 100, { runId: "left" }).result.catch(() => undefined)
    await settled()
    await left.runtime.close()
    const { runtime, clock } = processOn(store, { workflows: [flow], concurrency: 1 })
    for (let n = 0; n < 3; n++) runtime.start(flow, n, { runId: `r${n}` })
    await settled()
    await pass(1_000, clock)
    // The one that nobody held has queued behind the three: those that are started now come after it.
    runtime.start(flow, 4, { runId: "late" })
    expect(task.atWork).toHaveLength(1)
    for (let n = 0; n < 4; n++) {
      task.finish(n)
      await pass(500, clock)
    }
    expect(await store.run("left")).toMatchObject({ status: "completed" })
    expect(await store.run("late")).toMatchObject({ status: "running" })
    await runtime.close()
  })

  test("a storm of runs that ask, sleep and call never exceeds the bound, and all of them end", async () => {
    let executing = 0
    let most = 0
    const during = async <T>(act: () => Promise<T>): Promise<T> => {
      most = Math.max(most, ++executing)
      const result = await act()
      executing--
      return result
    }
    const inner = workflow("inner")
      .start(
        node("inner", async (n: number, ctx: Context) => {
          await during(async () => {
            await ctx.step("busy", () => settled())
          })
          await ctx.sleep(100 * (n % 3))
          return n
        }),
      )
      .build()
    const storm = workflow("storm")
      .start(
        node("storm", async (n: number, ctx: Context) => {
          await during(async () => {
            await ctx.step("one", () => settled())
          })
          if (n % 3 === 0) await ctx.sleep(50 * (n % 7))
          if (n % 4 === 0) await ctx.ask("Continue?")
          const [called] = await ctx.call(inner, n)
          return called ?? 0
        }),
      )
      .build()
    const store = memoryStore()
    const { runtime, clock } = processOn(store, { workflows: [storm], concurrency: 3, evictAfter: 1_000 })
    const runs = Array.from({ length: 40 }, (_, n) => runtime.start(storm, n, { runId: `r${n}` }))
    const results = Promise.all(
      runs.map(async (run) => {
        for (;;) {
          const result = await run.result
          if (result.status !== "waiting") return result
          for (const { id } of result.requests) await run.respond(id, "yes")
        }
      }),
    )
    let isDone = false
    void results.then(() => {
      isDone = true
    })
    for (let i = 0; i < 400 && !isDone; i++) {
      await settled()
      await clock.advance(50)
    }
    expect((await results).map(({ outputs }) => outputs[0])).toEqual(runs.map((_, n) => n))
    expect(most).toBeLessThanOrEqual(3)
    expect(most).toBeGreaterThan(1)
    await runtime.close()
  })
})

describe("Runtime({ recover: false })", () => {
  test("leaves the runs of others alone, and executes its own", async () => {
    const { task, flow } = work()
    const store = memoryStore()
    const left = processOn(store, { workflows: [flow] })
    left.runtime.start(flow, 1, { runId: "left" }).result.catch(() => undefined)
    await settled()
    await left.runtime.close()
    const { runtime, clock } = processOn(store, { workflows: [flow], recover: false })
    const own = runtime.start(flow, 2, { runId: "own" })
    await pass(60_000, clock)
    expect(await store.run("left")).toMatchObject({ status: "running", holder: undefined })
    expect(task.atWork).toHaveLength(1)
    task.finish(2)
    expect((await own).outputs).toEqual([2])
    await expect(runtime.recover()).rejects.toMatchObject({ code: "OPTION_INVALID" })
    await runtime.close()
    expect(await store.holders()).toEqual([])
    expect(() => new Runtime({ store, workflows: [], recover: "no" as never })).toThrow(/recover must be/)
  })

  test("keeps its own runs while they wait", async () => {
    const store = memoryStore()
    const naps = workflow("naps")
      .start(
        node("naps", async (n: number, ctx: Context) => {
          await ctx.sleep(60_000)
          return n
        }),
      )
      .build()
    const { runtime, clock } = processOn(store, { workflows: [naps], recover: false, maxIdle: 0 })
    const run = runtime.start(naps, 1, { runId: "r" })
    await pass(61_000, clock)
    expect((await run).outputs).toEqual([1])
    expect(await store.run("r")).toMatchObject({ token: 1 })
    await runtime.close()
  })
})
