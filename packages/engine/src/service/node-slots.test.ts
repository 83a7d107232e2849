/** Limits of nodes across runs and processes: `flow` of a node. */
import { describe, expect, test } from "vitest"
import {
  type Context,
  memoryStore,
  type NodeFlowOptions,
  node,
  type RunEvent,
  type Store,
  workflow,
} from "../index.ts"
import { settled } from "../testing/index.ts"
import { pass, processOn } from "./processes.test-support.ts"

interface Job {
  readonly n: number
  readonly tenant?: string
  readonly priority?: number
}

/** A workflow whose limited node is finished by hand. */
function limited(flow: NodeFlowOptions, act?: (job: Job, ctx: Context) => Promise<unknown>) {
  const atWork = new Map<number, (value?: unknown) => void>()
  const fetch = node({
    id: "fetch",
    flow,
    async run(job: Job, ctx) {
      await act?.(job, ctx)
      await new Promise((resolve) => {
        atWork.set(job.n, resolve)
        ctx.signal.addEventListener("abort", resolve)
      })
      atWork.delete(job.n)
      return job.n
    },
  })
  const flowing = workflow("job").start(fetch).build()
  const finish = async (n: number) => {
    atWork.get(n)?.()
    await settled()
  }
  return { workflow: flowing, atWork: () => [...atWork.keys()], finish }
}

/** A store as a process sees it that can be killed: then no call returns any more. */
function mortal(store: Store): { readonly store: Store; kill(): void } {
  let isDead = false
  const never = new Promise<never>(() => undefined)
  const guarded = <T extends object>(part: T): T =>
    new Proxy(part, {
      get(target, name) {
        const value = Reflect.get(target, name) as unknown
        if (name === "queue" || name === "slots") return guarded(value as object)
        if (typeof value !== "function") return value
        return (...args: unknown[]) => (isDead ? never : Reflect.apply(value, target, args))
      },
    })
  return {
    store: guarded(store),
    kill() {
      isDead = true
    },
  }
}

const TWO: NodeFlowOptions = { concurrency: 2 }

describe("concurrency", () => {
  test("holds for all runs of all processes, which take their turn in the order of their tasks", async () => {
    const store = memoryStore()
    const job = limited(TWO)
    const [one, two] = [0, 1].map(() => processOn(store, { workflows: [job.workflow] }))
    const runs = []
    for (let n = 0; n < 6; n++) {
      const { runtime, clock } = (n % 2 === 0 ? one : two) as NonNullable<typeof one>
      clock.set(1_000_000 + n)
      runs.push(runtime.start(job.workflow, { n }))
      await settled()
    }
    const order: number[] = []
    for (let n = 0; n < 6; n++) {
      expect(job.atWork().length).toBe(Math.min(2, 6 - n))
      const [next] = job.atWork()
      order.push(next as number)
      await job.finish(next as number)
    }
    expect(order).toEqual([0, 1, 2, 3, 4, 5])
    for (const run of runs) expect((await run).status).toBe("completed")
    for (const process of [one, two]) await process?.runtime.close()
  })

  test("has a number for each key, and one key holds up no other", async () => {
    const job = limited({
      concurrency: [{ max: 3 }, { max: 1, key: ({ tenant }: Job) => tenant ?? "" }],
    })
    const { runtime } = processOn(memoryStore(), { workflows: [job.workflow] })
    for (const [n, tenant] of ["a", "a", "a", "b", "c", "d"].entries())
      void runtime.start(job.workflow, { n, tenant }).catch(() => undefined)
    await settled()
    expect(job.atWork()).toEqual([0, 3, 4])
    await job.finish(3)
    expect(job.atWork()).toEqual([0, 4, 5])
    await job.finish(0)
    expect(job.atWork()).toEqual([4, 5, 1])
    await runtime.close()
  })

  test("lets a higher priority go first", async () => {
    const job = limited({ concurrency: 1, priority: ({ priority = 0 }: Job) => priority })
    const { runtime } = processOn(memoryStore(), { workflows: [job.workflow] })
    for (const [n, priority] of [0, 0, 1, 2].entries())
      void runtime.start(job.workflow, { n, priority }).catch(() => undefined)
    await settled()
    const order = []
    for (let [n] = job.atWork(); n !== undefined; [n] = job.atWork()) {
      order.push(n)
      await job.finish(n)
    }
    expect(order).toEqual([0, 3, 2, 1])
    await runtime.close()
  })

  test("frees the slot of a task that waits for a person, and takes one again to continue", async () => {
    const job = limited({ concurrency: 1 }, async ({ n }, ctx) => {
      if (n === 0) await ctx.ask("Continue?")
    })
    const { runtime } = processOn(memoryStore(), { workflows: [job.workflow] })
    const asking = runtime.start(job.workflow, { n: 0 })
    expect((await asking).status).toBe("waiting")
    const other = runtime.start(job.workflow, { n: 1 })
    await settled()
    expect(job.atWork()).toEqual([1])
    await asking.respond("r1", "yes")
    await settled()
    expect(job.atWork()).toEqual([1])
    await job.finish(1)
    await other
    expect(job.atWork()).toEqual([0])
    await job.finish(0)
    expect((await asking).outputs).toEqual([0])
    await runtime.close()
  })

  test("gives the slots of a dead process to others, and its tasks keep their place in line", async () => {
    const store = memoryStore()
    const job = limited({ concurrency: 1 })
    const options = { workflows: [job.workflow], lease: 2_000 }
    const own = mortal(store)
    const dying = processOn(own.store, options)
    for (const n of [0, 1]) {
      void dying.runtime.start(job.workflow, { n }).catch(() => undefined)
      await settled()
    }
    const living = processOn(store, options)
    living.clock.set(1_000_100)
    const young = [2, 3].map((n) => living.runtime.start(job.workflow, { n }))
    await settled()
    expect(job.atWork()).toEqual([0])
    own.kill()
    await job.finish(0)
    await living.runtime.recover()
    // Until the death is noticed, nobody takes its slot.
    expect(job.atWork()).toEqual([])
    await pass(8_000, living.clock)
    const order = []
    for (let [n] = job.atWork(); n !== undefined; [n] = job.atWork()) {
      order.push(n)
      await job.finish(n)
      await pass(1_000, living.clock)
    }
    // Its runs are recovered, and their tasks come before what is younger.
    expect(order).toEqual([0, 1, 2, 3])
    for (const run of young) expect((await run).status).toBe("completed")
    await living.runtime.close()
  })
})

describe("a task that waits for a slot", () => {
  test("leaves the line when its run is cancelled, or its time is up", async () => {
    const store = memoryStore()
    const job = limited({ concurrency: 1 })
    const { runtime, clock } = processOn(store, { workflows: [job.workflow] })
    const first = runtime.start(job.workflow, { n: 0 }, { runId: "first" })
    const cancelled = runtime.start(job.workflow, { n: 1 }, { runId: "cancelled" })
    const late = runtime.start(job.workflow, { n: 2 }, { runId: "late", timeout: 5_000 })
    const last = runtime.start(job.workflow, { n: 3 }, { runId: "last" })
    await settled()
    expect(await store.slots.ofRun("late")).toEqual([
      { node: "fetch", pool: "job/fetch", lanes: ["concurrency"], taken: false, ahead: 1 },
    ])
    await cancelled.cancelled()
    await clock.advance(5_000)
    await expect(late).rejects.toMatchObject({ code: "RUN_TIMEOUT" })
    expect((await store.slots.ofRun("last"))[0]).toMatchObject({ ahead: 0 })
    await job.finish(0)
    await first
    await job.finish(3)
    expect((await last).status).toBe("completed")
    expect(await store.slots.ofRun("late")).toEqual([])
    await runtime.close()
  })

  test("does not count against the time limit of its node", async () => {
    const busy = node({
      id: "busy",
      timeout: 1_000,
      flow: { concurrency: 1 },
      run: async (n: number, ctx) => {
        await new Promise<void>((resolve) => ctx.clock.setTimer(ctx.clock.now() + 900, resolve))
        return n
      },
    })
    const flow = workflow("busy").start(busy).build()
    const { runtime, clock } = processOn(memoryStore(), {
      workflows: [flow],
    })
    const runs = [1, 2, 3].map((n) => runtime.start(flow, n))
    await pass(4_000, clock)
    for (const run of runs) expect((await run).status).toBe("completed")
    await runtime.close()
  })

  test("is shown to those who watch the run", async () => {
    const job = limited({ concurrency: { max: 1, key: ({ tenant }: Job) => tenant ?? "" } })
    const { runtime } = processOn(memoryStore(), { workflows: [job.workflow] })
    void runtime.start(job.workflow, { n: 0, tenant: "a" }).catch(() => undefined)
    await settled()
    const run = runtime.start(job.workflow, { n: 1, tenant: "a" })
    const events: RunEvent[] = []
    const watching = (async () => {
      for await (const event of run) events.push(event)
    })()
    await settled()
    expect(events.at(-1)).toMatchObject({
      type: "slot.waiting",
      node: "fetch",
      pool: "job/fetch",
      lanes: ["concurrency a"],
    })
    await job.finish(0)
    await job.finish(1)
    await watching
    await runtime.close()
  })

  test("frees the place of its run in the process after a moment, and takes one again", async () => {
    const store = memoryStore()
    const job = limited({ concurrency: 1 })
    const free = workflow("free")
      .start(node("free", (n: number) => n))
      .build()
    const { runtime, clock } = processOn(store, { workflows: [job.workflow, free], concurrency: 2 })
    const runs = [0, 1].map((n) => runtime.start(job.workflow, { n }, { runId: `job ${n}` }))
    const quick = runtime.start(free, 7, { runId: "quick" })
    await settled()
    expect((await store.run("quick"))?.status).toBe("running")
    expect((await store.run("job 1"))?.executing).toBe(true)
    await clock.advance(1_000)
    expect((await quick).outputs).toEqual([7])
    // Whoever dies while it waits is not suspected.
    expect((await store.run("job 1"))?.executing).toBe(false)
    await job.finish(0)
    await clock.advance(1_000)
    expect((await store.run("job 1"))?.executing).toBe(true)
    await job.finish(1)
    for (const run of runs) expect((await run).status).toBe("completed")
    await runtime.close()
  })
})

describe("rateLimit", () => {
  test("spreads the starts of all processes, with a burst after a pause", async () => {
    const store = memoryStore()
    const starts: number[] = []
    const flow = workflow("job")
      .start(
        node({
          id: "fetch",
          flow: { rateLimit: { max: 2, period: 1_000, burst: 2 } },
          run: (n: number, ctx) => {
            starts.push(ctx.clock.now())
            return n
          },
        }),
      )
      .build()
    const { runtime, clock } = processOn(store, { workflows: [flow] })
    const runs = [1, 2, 3, 4].map((n) => runtime.start(flow, n))
    for (let i = 0; i < 20; i++) await clock.advance(100)
    await Promise.all(runs)
    expect(starts.map((at) => at - 1_000_000)).toEqual([0, 0, 500, 1_000])
    await runtime.close()
  })

  test("counts a task once, however often it waits and continues", async () => {
    const flow = workflow("job")
      .start(
        node({
          id: "fetch",
          flow: { rateLimit: { max: 1, period: 3_600_000 }, concurrency: 1 },
          run: async (n: number, ctx) => {
            for (let i = 0; i < 3; i++) await ctx.sleep(100)
            return n
          },
        }),
      )
      .build()
    const { runtime, clock } = processOn(memoryStore(), { workflows: [flow] })
    const run = runtime.start(flow, 1)
    await pass(2_000, clock)
    expect((await run).outputs).toEqual([1])
    await runtime.close()
  })

  test("counts a task again that another process begins, because its own has died", async () => {
    const store = memoryStore()
    const job = limited({ rateLimit: { max: 1, period: 20_000 } })
    const options = { workflows: [job.workflow], lease: 2_000 }
    const own = mortal(store)
    const dying = processOn(own.store, options)
    void dying.runtime.start(job.workflow, { n: 0 }, { runId: "r" }).catch(() => undefined)
    await settled()
    expect(job.atWork()).toEqual([0])
    const holder = (await store.run("r"))?.holder
    own.kill()
    await job.finish(0)
    const living = processOn(store, options)
    await living.runtime.recover()
    await pass(19_999, living.clock)
    // It has the run, and waits for the next start of the rate.
    expect((await store.run("r"))?.holder).not.toBe(holder)
    expect(await store.slots.ofRun("r")).toMatchObject([{ node: "fetch", taken: false }])
    expect(job.atWork()).toEqual([])
    await pass(1, living.clock)
    expect(job.atWork()).toEqual([0])
    await job.finish(0)
    expect((await living.runtime.get("r")).status).toBe("completed")
    await living.runtime.close()
  })
})

describe("options", () => {
  test.each([
    [{ concurrency: 0 }, "flow.concurrency must be a whole number of at least 1, not 0"],
    [{ rateLimit: { max: 1 } }, "flow.rateLimit.period must be milliseconds"],
    [{ batch: { maxSize: 1, timeout: 1 } }, 'flow: unknown option "batch"'],
    [{ concurrency: { max: 1, key: "tenant" } }, "flow.concurrency.key must be a function"],
    [5, "flow must be an object"],
  ])("%j is refused", (flow, message) => {
    expect(() => node({ id: "n", flow: flow as never, run: () => 1 })).toThrow(message as string)
  })

  test("a key that is none fails the task", async () => {
    const job = limited({ concurrency: { max: 1, key: () => ({}) as never } })
    const { runtime } = processOn(memoryStore(), { workflows: [job.workflow] })
    await expect(runtime.start(job.workflow, { n: 1 })).rejects.toMatchObject({
      message: expect.stringContaining('flow.concurrency.key of node "fetch" is {}'),
    })
    await runtime.close()
  })

  test("a sub-workflow has its limits at its own nodes", () => {
    const inner = workflow("inner")
      .start(node("a", (n: number) => n))
      .build()
    expect(() => inner.asNode({ flow: { concurrency: 1 } } as never)).toThrow('unknown option "flow"')
  })

  test("a run without a store is not limited", async () => {
    const flow = workflow("w")
      .start(node({ id: "n", flow: { rateLimit: { max: 1, period: 3_600_000 } }, run: (n: number) => n }))
      .build()
    expect((await Promise.all([flow.run(1), flow.run(2)])).map(({ status }) => status)).toEqual([
      "completed",
      "completed",
    ])
  })
})
