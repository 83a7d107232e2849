/** Many runs, several processes, one store. */
import { describe, expect, test } from "vitest"
import {
  type Context,
  memoryStore,
  node,
  Runtime,
  type Store,
  storedRetention,
  storeRetention,
  workflow,
} from "../index.ts"
import { controlled, settled } from "../testing/index.ts"
import { ask, double, nap, pass, processOn } from "./processes.test-support.ts"

describe("a runtime", () => {
  test("starts runs, and lists them newest first", async () => {
    const { runtime } = processOn(memoryStore())
    expect((await runtime.start(double, 2, { runId: "a" })).outputs).toEqual([4])
    await runtime.start(ask, 1, { runId: "b" })
    expect(await runtime.runs()).toMatchObject([
      { runId: "b", workflow: "ask", status: "waiting" },
      { runId: "a", workflow: "double", status: "completed" },
    ])
    expect(await runtime.runs({ status: ["waiting"] })).toHaveLength(1)
    await runtime.close()
  })

  test("tells when the store has a run, under which id, or why it never will", async () => {
    const store = memoryStore()
    const { runtime } = processOn(store)
    const run = runtime.start(nap, 1, { key: "k" })
    const id = await run.stored()
    expect(await store.run(id)).toMatchObject({ runId: run.id, workflow: "nap" })
    const joining = runtime.start(nap, 1, { key: "k" })
    expect(await joining.stored()).toBe(id)
    await expect(runtime.start(nap, 2, { key: "k" }).stored()).rejects.toMatchObject({ code: "RUN_EXISTS" })
    await runtime.close()
  })

  test("refuses what it does not have, bad options, and everything once it is closed", async () => {
    const store = memoryStore()
    const { runtime } = processOn(store, { workflows: [double] })
    expect(() => runtime.start(ask, 1)).toThrow(/does not have workflow "ask"/)
    const other = workflow("double")
      .start(node("double", (n: number) => n))
      .build()
    expect(() => runtime.start(other, 1)).toThrow(/another workflow under the name "double"/)
    expect(() => new Runtime({ store, workflows: [double, other] })).toThrow(
      /two workflows are named "double"/,
    )
    expect(() => new Runtime({ store, workflows: [], lease: 10 })).toThrow(
      /lease must be milliseconds, at least 1000/,
    )
    expect(() => new Runtime({ store, workflows: [], concurrency: 0 })).toThrow(/concurrency/)
    expect(() => new Runtime({ store, workflows: [], retention: { keep: -1 } })).toThrow(/retention.keep/)
    await expect(runtime.get("nope").result).rejects.toMatchObject({ code: "RUN_UNKNOWN" })
    await runtime.close()
    await runtime.close()
    expect(() => runtime.start(double, 1)).toThrow(/closed/)
  })

  test("continues with a run of another process that is gone, watched from then on, and lets go of it again", async () => {
    const store = memoryStore()
    const [a, b, c] = [processOn(store), processOn(store), processOn(store)]
    await a.runtime.start(ask, 1, { runId: "r" })
    const early = b.runtime.resume(ask, "r").result
    const refused = expect(early).rejects.toMatchObject({ code: "RUN_HELD" })
    await pass(5_000, a.clock, b.clock)
    await refused
    await a.runtime.close()
    await b.runtime.resume(ask, "r")
    await b.runtime.close()
    const run = c.runtime.resume(ask, "r")
    await run
    const types: string[] = []
    const watching = (async () => {
      for await (const { type } of run) types.push(type)
    })()
    await settled()
    await run.respond("r1", "yes")
    expect((await run).outputs).toEqual(["1: yes"])
    await watching
    expect(types).toContain("request.answered")
    expect(() => processOn(store, { workflows: [] }).runtime.resume(ask, "r")).toThrow(
      /does not have workflow/,
    )
    await c.runtime.close()
  })

  test("starts once, however often a run id or a key is used, from whatever process", async () => {
    const store = memoryStore()
    const [a, b] = [processOn(store), processOn(store)]
    const work = controlled<number, number>("work")
    const slow = workflow("slow").start(work).build()
    const one = new Runtime({ store, workflows: [slow], clock: a.clock })
    const two = new Runtime({ store, workflows: [slow], clock: b.clock })
    const first = one.start(slow, 1, { key: "order 7" })
    await settled()
    const again = one.start(slow, 1, { key: "order 7" })
    const elsewhere = two.start(slow, 1, { key: "order 7" })
    await settled()
    expect(work.atWork).toHaveLength(1)
    work.finish(5)
    await pass(1_000, a.clock, b.clock)
    expect((await first).outputs).toEqual([5])
    expect((await again).runId).toBe(first.id)
    expect((await elsewhere).outputs).toEqual([5])
    expect((await one.start(slow, 1, { runId: first.id })).outputs).toEqual([5])
    await expect(one.start(slow, 2, { key: "order 7" }).result).rejects.toMatchObject({ code: "RUN_EXISTS" })
    await Promise.all([one.close(), two.close()])
  })
})

describe("when a process dies", () => {
  test("another one continues with its runs by itself, after the lease and not before", async () => {
    const store = memoryStore()
    const [dead, alive] = [processOn(store), processOn(store)]
    const run = dead.runtime.start(nap, 1, { runId: "r" })
    const result = run.result
    await settled()
    await alive.runtime.recover()
    await pass(9_000, alive.clock)
    expect((await store.run("r"))?.token).toBe(1)
    await pass(3_000, alive.clock)
    expect((await store.run("r"))?.token).toBe(2)
    await pass(60_000, alive.clock)
    expect(await store.run("r")).toMatchObject({ status: "completed" })
    expect((await alive.runtime.get("r")).outputs).toEqual([2])
    // The one that was only slow wakes up: it finds that the run is not its own any more, and does no harm.
    await pass(61_000, dead.clock)
    expect((await result).outputs).toEqual([2])
    expect((await store.read("r", 0)).filter(({ entry }) => entry.type === "task.finished")).toHaveLength(1)
  })

  test("a process that beats keeps its runs", async () => {
    const store = memoryStore()
    const [a, b] = [processOn(store), processOn(store)]
    a.runtime.start(nap, 1, { runId: "r" })
    await b.runtime.recover()
    await pass(30_000, a.clock, b.clock)
    expect(await store.run("r")).toMatchObject({ token: 1, status: "waiting" })
    await Promise.all([a.runtime.close(), b.runtime.close()])
  })

  test("a clock that jumps back neither keeps a dead holder alive nor silences a living one", async () => {
    const store = memoryStore()
    const [dead, alive] = [processOn(store), processOn(store)]
    dead.clock.set(9_000_000)
    dead.runtime.start(nap, 1, { runId: "of the dead" })
    // Timers use a monotonic clock, as a computer's do; the wall clock jumps.
    const { clock } = alive
    let jumped = 0
    const jumping = {
      monotonic: () => clock.monotonic?.() ?? 0,
      now: () => clock.now() - jumped,
      setTimer: (at: number, callback: () => void) => clock.setTimer(at + jumped, callback),
    }
    const runtime = new Runtime({ store, workflows: [double, ask, nap], clock: jumping, machine: "jumping" })
    runtime.start(nap, 1, { runId: "of the living" })
    await runtime.recover()
    // By the clock of the living, the lease of the dead ends in 8,000 seconds.
    await pass(14_000, clock)
    expect((await store.run("of the dead"))?.token).toBe(2)
    jumped = 500_000
    const [before] = await store.holders()
    await pass(5_000, clock)
    const [after] = await store.holders()
    expect(after?.id).toBe(before?.id)
    expect(after?.beat).toBeGreaterThan(before?.beat ?? 0)
    await runtime.close()
  })

  test("a run that no process survives is quarantined, and not tried without end", async () => {
    const store = memoryStore()
    const deadly = workflow("deadly")
      .start(node("deadly", () => new Promise<never>(() => undefined)))
      .build()
    const options = { workflows: [deadly], maxTakeovers: 2 }
    const first = processOn(store, options)
    first.runtime.start(deadly, 1, { runId: "r" })
    await settled()
    for (let deaths = 1; deaths <= 3; deaths++) {
      const next = processOn(store, options)
      await next.runtime.recover()
      await pass(15_000, next.clock)
      const row = await store.run("r")
      expect(row?.status).toBe(deaths <= 2 ? "running" : "quarantined")
    }
    const { runtime } = processOn(store, options)
    await expect(runtime.get("r").result).rejects.toMatchObject({
      code: "RUN_QUARANTINED",
      message: expect.stringContaining("3 processes died while they executed it"),
    })
  })

  test("progress forgives: a run that is written to starts counting anew", async () => {
    const store = memoryStore()
    const steps = workflow("steps")
      .start(
        node("steps", async (count: number, ctx: Context) => {
          for (let i = 0; i < count; i++) await ctx.step(`${i}`, () => i)
          await new Promise(() => undefined)
        }),
      )
      .build()
    const grow = (count: number) =>
      workflow("steps")
        .start(
          node("steps", async (_: number, ctx: Context) => {
            for (let i = 0; i < count; i++) await ctx.step(`${i}`, () => i)
            await new Promise(() => undefined)
          }),
        )
        .build()
    const first = processOn(store, { workflows: [steps] })
    first.runtime.start(steps, 1, { runId: "r" })
    await settled()
    for (let life = 1; life <= 6; life++) {
      const next = processOn(store, { workflows: [grow(life + 1)], maxTakeovers: 1 })
      await next.runtime.recover()
      await pass(15_000, next.clock)
      expect((await store.read("r", 0)).filter(({ entry }) => entry.type === "step.recorded")).toHaveLength(
        life + 1,
      )
    }
    expect(await store.run("r")).toMatchObject({ status: "running", takeovers: 0 })
  })

  test("runs of workflows that this process does not have are left alone", async () => {
    const store = memoryStore()
    const dead = processOn(store)
    dead.runtime.start(nap, 1, { runId: "r" })
    await settled()
    const other = processOn(store, { workflows: [double] })
    await other.runtime.recover()
    await pass(15_000, other.clock)
    expect(await store.run("r")).toMatchObject({ holder: undefined, status: "waiting" })
  })

  test("a closed runtime lets go at once: another continues without waiting for a lease", async () => {
    const store = memoryStore()
    const [a, b] = [processOn(store), processOn(store)]
    const run = a.runtime.start(nap, 1, { runId: "r" })
    const awaited = expect(run.result).rejects.toMatchObject({ code: "RUNTIME_CLOSED" })
    await settled()
    await a.runtime.close()
    await awaited
    expect(await store.holders()).toEqual([])
    const { resumed } = await b.runtime.recover()
    expect(resumed).toEqual(["r"])
    await pass(61_000, b.clock)
    expect((await b.runtime.get("r")).outputs).toEqual([2])
  })
})

test("a run whose store failed for a moment is let go when it answers again, and continues", async () => {
  const inside = memoryStore()
  let full = false
  const store: Store = {
    ...inside,
    append: (...args) => (full ? Promise.reject(new Error("disk full")) : inside.append(...args)),
  }
  const { runtime, clock } = processOn(store)
  const run = runtime.start(nap, 1, { runId: "r" })
  const lost = expect(run.result).rejects.toMatchObject({ code: "JOURNAL_LOST" })
  await settled()
  full = true
  await pass(60_000, clock)
  await lost
  full = false
  await pass(3_000, clock)
  expect(await store.run("r")).toMatchObject({ status: "completed" })
  await runtime.close()
})

describe("a run that waits", () => {
  test("is unloaded after a while, and comes back on its answer", async () => {
    const store = memoryStore()
    const { runtime, clock } = processOn(store)
    const run = runtime.start(ask, 7, { runId: "r" })
    expect((await run).status).toBe("waiting")
    await pass(12_000, clock)
    expect((await store.run("r"))?.holder).toBeUndefined()
    // The handle that was kept still works, and so does a new one.
    expect((await run).requests).toMatchObject([{ id: "r1", prompt: "Continue?" }])
    await run.respond("r1", "yes", { by: "Ada" })
    expect((await run).outputs).toEqual(["7: yes"])
    expect(await runtime.requests({ outcome: ["answered"] })).toMatchObject([
      { runId: "r", id: "r1", by: "Ada" },
    ])
    await runtime.close()
  })

  test("comes back in time by itself", async () => {
    const store = memoryStore()
    const { runtime, clock } = processOn(store, { evictAfter: 0 })
    runtime.start(nap, 1, { runId: "r" })
    await pass(3_000, clock)
    expect(await store.run("r")).toMatchObject({ holder: undefined, wakeAt: 1_060_000, status: "waiting" })
    await pass(60_000, clock)
    expect(await store.run("r")).toMatchObject({ status: "completed" })
    await runtime.close()
  })

  test("stays as long as somebody awaits or watches it", async () => {
    const store = memoryStore()
    const { runtime, clock } = processOn(store, { evictAfter: 0 })
    const awaited = runtime.start(nap, 1, { runId: "awaited" })
    const result = awaited.result
    const watched = runtime.stream(nap, 1)
    const seen = (async () => {
      const types: string[] = []
      for await (const { type } of watched) types.push(type)
      return types
    })()
    await pass(5_000, clock)
    expect((await store.run("awaited"))?.holder).toBeDefined()
    expect((await store.run(watched.id))?.holder).toBeDefined()
    await pass(60_000, clock)
    expect((await result).outputs).toEqual([2])
    expect((await seen).at(-1)).toBe("run.finished")
    await runtime.close()
  })

  test("is not unloaded in the middle of a step", async () => {
    const store = memoryStore()
    let calls = 0
    const release: (() => void)[] = []
    const both = workflow("both")
      .start(
        node("both", async (_: number, ctx: Context) => {
          const paid = ctx.step("paid", () => {
            calls++
            return new Promise<number>((resolve) => release.push(() => resolve(1)))
          })
          const answer = await ctx.ask<string>("Continue?")
          return `${answer} ${await paid}`
        }),
      )
      .build()
    const { runtime, clock } = processOn(store, { workflows: [both], evictAfter: 0 })
    runtime.start(both, 1, { runId: "r" })
    await pass(5_000, clock)
    expect((await store.run("r"))?.holder).toBeDefined()
    release[0]?.()
    await pass(3_000, clock)
    expect((await store.run("r"))?.holder).toBeUndefined()
    await runtime.respond("r", "r1", "yes")
    expect((await runtime.get("r")).outputs).toEqual(["yes 1"])
    expect(calls).toBe(1)
    await runtime.close()
  })

  test("more than so many are not kept in memory, whatever the time", async () => {
    const store = memoryStore()
    const { runtime } = processOn(store, { maxIdle: 5 })
    for (let i = 0; i < 50; i++) runtime.start(ask, i, { runId: `r${i}` })
    await settled()
    const held = (await runtime.runs({ limit: 100 })).filter(({ holder }) => holder !== undefined)
    expect(held).toHaveLength(5)
    for (const { runId, id } of await runtime.requests({ limit: 100 })) await runtime.respond(runId, id, "ok")
    expect(await runtime.runs({ status: ["completed"], limit: 100 })).toHaveLength(50)
    await runtime.close()
  })
})

describe("a new version of a workflow", () => {
  /** A chain of nodes; the one called `ask` asks what to add. */
  const version = (...ids: string[]) => {
    const nodes = ids.map((id) =>
      node(id, async (n: number, ctx: Context): Promise<number> => {
        return id === "ask" ? n + (await ctx.ask<number>("?")) : n
      }),
    )
    return workflow("w")
      .chain(...(nodes as [(typeof nodes)[0]]))
      .build()
  }

  test("is checked against the runs in flight before it is deployed", async () => {
    const store = memoryStore()
    const v1 = version("a", "ask", "b")
    const { runtime } = processOn(store, { workflows: [v1] })
    await runtime.start(v1, 1, { runId: "r" })
    expect(await runtime.check(v1)).toEqual([])
    const [more] = await runtime.check(version("a", "ask", "b", "c"))
    expect(more).toMatchObject({ runId: "r", status: "waiting" })
    expect(more?.problem).toBeUndefined()
    expect(more?.difference).toContain("+ node c")
    const [less] = await runtime.check(version("a", "b"))
    expect(less?.problem).toContain('node "ask"')
    await runtime.close()
  })

  test("does not touch a run of the old one, unless asked to, and says why", async () => {
    const store = memoryStore()
    const v1 = version("a", "ask", "b")
    const first = processOn(store, { workflows: [v1] })
    await first.runtime.start(v1, 1, { runId: "r" })
    await first.runtime.close()
    const v2 = version("a", "ask", "b", "c")
    const problems: unknown[] = []
    const strict = processOn(store, { workflows: [v2], onProblem: (problem) => problems.push(problem) })
    await expect(strict.runtime.respond("r", "r1", 5)).rejects.toMatchObject({ code: "GRAPH_CHANGED" })
    await strict.runtime.close()
    const lenient = processOn(store, { workflows: [v2], onGraphChange: "continue" })
    await lenient.runtime.respond("r", "r1", 5)
    expect((await lenient.runtime.get("r")).outputs).toEqual([6])
    expect((await store.run("r"))?.graph).not.toBe("")
    await lenient.runtime.close()
  })
})

describe("what is kept", () => {
  test("old runs go by themselves, pinned ones and those in flight stay", async () => {
    const store = memoryStore()
    const { runtime, clock } = processOn(store, { retention: { keep: 2 } })
    for (let i = 0; i < 6; i++) {
      await runtime.start(double, i, { runId: `r${i}` })
      await clock.advance(1)
    }
    await runtime.pin("r0")
    await runtime.start(ask, 1, { runId: "asks" })
    await clock.advance(1_000)
    const left = (await runtime.runs()).map(({ runId }) => runId)
    expect(left.toSorted()).toEqual(["asks", "r0", "r4", "r5"])
    expect((await runtime.storage()).runs).toEqual({ completed: 3, waiting: 1 })
    await expect(runtime.remove("asks")).rejects.toMatchObject({ code: "RUN_KEPT" })
    await runtime.remove("r4")
    await expect(runtime.remove("r4")).rejects.toMatchObject({ code: "RUN_UNKNOWN" })
    expect(await runtime.prune({ maxAge: 0 })).toMatchObject({ count: 1 })
    await runtime.close()
  })

  test("a policy in the store is for all its processes, in place of their own", async () => {
    const store = memoryStore()
    const { runtime, clock } = processOn(store, { retention: { keep: 0 } })
    await storeRetention(store, { keep: 2 }, { by: "ada", at: 7 })
    expect(await storedRetention(store)).toEqual({ keep: 2, setAt: 7, setBy: "ada" })
    await expect(storeRetention(store, { keep: 0.5 }, { by: "eve", at: 8 })).rejects.toMatchObject({
      code: "OPTION_INVALID",
    })
    for (let i = 0; i < 4; i++) await runtime.start(double, i)
    await clock.advance(1_000)
    expect((await runtime.storage()).runs).toEqual({ completed: 2 })
    // It is read again before each sweep that deletes, once an hour.
    await storeRetention(store, { keep: 1 }, { by: "ada", at: 9 })
    await clock.advance(3_600_000)
    expect((await runtime.storage()).runs).toEqual({ completed: 1 })
    await storeRetention(store, undefined, { by: "ada", at: 10 })
    expect(await runtime.prune()).toMatchObject({ count: 1 })
    await runtime.close()
  })

  test("a run brings its graph again when retention has removed it with the runs before", async () => {
    const store = memoryStore()
    const { runtime, clock } = processOn(store)
    await runtime.start(ask, 1, { runId: "first" })
    const graph = (await store.run("first"))?.graph as string
    await runtime.cancel("first")
    await clock.advance(1)
    expect(await runtime.prune({ maxAge: 0 })).toMatchObject({ count: 1 })
    expect(await store.graph(graph)).toBeUndefined()
    await runtime.start(ask, 1, { runId: "second" })
    expect(await store.graph(graph)).toBeDefined()
    await runtime.close()
    const other = processOn(store)
    expect(await other.runtime.resume(ask, "second")).toMatchObject({ status: "waiting" })
    await other.runtime.close()
  })
})

describe("looking back", () => {
  const cheap = (n: number) => {
    if (n > 100) throw new Error("too dear")
    return n
  }
  const risky = (price: number, check: (n: number) => number = cheap) =>
    workflow("risky")
      .chain(
        node("price", (n: number, ctx: Context) => ctx.step("look up", () => n * price)),
        node("check", check),
        node("ask", async (n: number, ctx: Context) => `${n} ${await ctx.ask<string>("Buy?")}`),
      )
      .build()

  test("a run that failed is run again from there, with the code as it is now", async () => {
    const store = memoryStore()
    const flow = risky(60)
    const first = processOn(store, { workflows: [flow] })
    await first.runtime.start(flow, 2, { runId: "r" }).result
    await first.runtime.close()
    const fixed = risky(1_000, (n) => n - 50)
    const { runtime } = processOn(store, { workflows: [fixed] })
    const again = await runtime.rerun("r")
    expect((await runtime.get(again)).requests).toMatchObject([{ prompt: "Buy?" }])
    await runtime.respond(again, "r1", "yes")
    // What was looked up is on record: 120, not 2,000.
    expect((await runtime.get(again)).outputs).toEqual(["70 yes"])
    expect(await store.run(again)).toMatchObject({ forkOf: { runId: "r" } })
    await runtime.close()
  })

  test("a fork continues from any place with another answer, and the run it comes from stays as it is", async () => {
    const flow = risky(10)
    const { runtime } = processOn(memoryStore(), { workflows: [flow] })
    await runtime.start(flow, 2, { runId: "r" })
    await runtime.respond("r", "r1", "yes")
    const other = await runtime.fork("r", { answers: { r1: "no" } })
    expect((await runtime.get(other)).outputs).toEqual(["20 no"])
    expect((await runtime.get("r")).outputs).toEqual(["20 yes"])
    const { checkpoints } = await runtime.history("r")
    expect(checkpoints.map(({ superstep }) => superstep)).toEqual([0, 1, 2, 3])
    await runtime.close()
  })

  test("a replay against changed code tells the first difference, offline", async () => {
    const flow = risky(10)
    const { runtime } = processOn(memoryStore(), { workflows: [flow] })
    await runtime.start(flow, 2, { runId: "r" })
    await runtime.respond("r", "r1", "yes")
    expect(await runtime.replay("r", risky(99))).toMatchObject({ same: true })
    const report = await runtime.replay(
      "r",
      risky(10, (n) => n + 1),
    )
    expect(report).toMatchObject({ same: false, outputs: { before: ["20 yes"], after: ["21 yes"] } })
    expect(report.divergence).toMatchObject({ node: "check" })
    expect((await runtime.toFixture("r")).workflow).toBe("risky")
    await runtime.close()
  })
})
