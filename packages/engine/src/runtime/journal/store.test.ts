import { describe, expect, test } from "vitest"
import {
  type Context,
  memoryStore,
  node,
  type RunEvent,
  type Store,
  SuperstepError,
  workflow,
} from "../../index.ts"
import { controlled, manualClock, settled } from "../../testing/index.ts"
import { failingStore, handDrivenStore, textStore } from "./stores.test-support.ts"

const start = node("start", (n: number) => n)
const add = node("add", (n: number) => n + 1)

describe("a store", () => {
  test("gets the journal of a run in order, without a gap", async () => {
    const store = memoryStore()
    await workflow("w").chain(start, add).build().run(1, { store, runId: "r" })
    const records = await store.read("r", 0)
    expect(records.map(({ seq }) => seq)).toEqual(records.map((_, i) => i + 1))
    expect(records.map(({ entry }) => entry.type)).toEqual(["run.started", "task.finished", "task.finished"])
    expect(await store.read("r", 2)).toEqual(records.slice(2))
    expect(await store.read("nobody", 0)).toEqual([])
  })

  test("grows with the work, not with the state: each step adds the same", async () => {
    const store = textStore()
    const loop = workflow("w", { limits: { supersteps: 1_000 } })
      .start(add)
      .loop(add, add, { while: (n) => n < 900 })
      .build()
    await loop.run(100, { store, runId: "r" })
    const sizes = store.lines("r").map((line) => line.length)
    expect(Math.max(...sizes.slice(10)) - Math.min(...sizes.slice(10))).toBeLessThan(20)
  })

  test("refuses another run under the same id, and that run gets RUN_EXISTS", async () => {
    const store = memoryStore()
    const built = workflow("w").start(start).build()
    await built.run(1, { store, runId: "r" })
    const before = await store.read("r", 0)
    await expect(built.run(2, { store, runId: "r" })).rejects.toMatchObject({ code: "RUN_EXISTS" })
    expect(await store.read("r", 0)).toEqual(before)
  })

  test("keeps the runs of many apart", async () => {
    const store = memoryStore()
    const built = workflow("w").chain(start, add).build()
    const runs = Array.from({ length: 20 }, (_, i) => built.run(i, { store, runId: `r${i}` }))
    const results = await Promise.all(runs)
    expect(results.map(({ outputs }) => outputs[0])).toEqual(runs.map((_, i) => i + 1))
    for (let i = 0; i < 20; i++) expect(await store.read(`r${i}`, 0)).toHaveLength(3)
  })
})

describe.each(["throws", "rejects"] as const)("a store that %s", (how) => {
  const broken = new Error("disk full")
  const after = (seq: number): Store => failingStore((record) => record.seq <= seq, broken, how)

  test("rejects the run, with its error as the cause", async () => {
    const run = workflow("w")
      .chain(start, add)
      .build()
      .run(1, { store: after(1) })
    await expect(run).rejects.toMatchObject({ code: "JOURNAL_LOST", cause: broken })
    await expect(run.result).rejects.toMatchObject({ code: "JOURNAL_LOST" })
    await expect(run).rejects.toThrow(run.id)
  })

  test("at the very first entry lets no handler run", async () => {
    let ran = 0
    const run = workflow("w")
      .start(node("counts", () => ++ran))
      .build()
      .run(1, { store: after(0) })
    await expect(run).rejects.toMatchObject({ code: "JOURNAL_LOST" })
    expect(ran).toBe(0)
  })

  test("tells handlers at work to stop, and nothing follows", async () => {
    const clock = manualClock()
    const [a, b] = [controlled<number, number>("a"), controlled<number, number>("b", { timeout: 5_000 })]
    const next = controlled<number, number>("next")
    const sleeps = node("sleeps", async (_: number, ctx: Context) => ctx.sleep(1_000))
    const run = workflow("w")
      .start(start)
      .fanOut(start, [sleeps, a, b])
      .edge(a, next)
      .build()
      .run(1, { store: after(3), clock })
    const [first, second] = [await a.started(), await b.started()]
    const rejected = expect(run).rejects.toMatchObject({ code: "JOURNAL_LOST" })
    first.finish(1)
    await rejected
    expect(second.ctx.signal.aborted).toBe(true)
    second.finish(2)
    await clock.advance(10_000)
    expect(next.atWork).toHaveLength(0)
    expect(clock.pending).toBe(0)
  })

  test("stops sub-workflows too", async () => {
    const hold = controlled<number, number>("hold")
    const other = controlled<number, number>("other")
    const inner = workflow("inner").start(hold).build()
    const run = workflow("w")
      .start(start)
      .fanOut(start, [inner.asNode(), other])
      .build()
      .run(1, {
        store: failingStore(({ entry }) => entry.type !== "task.finished" || entry.task !== 3, broken, how),
      })
    const { ctx } = await hold.started()
    await other.started()
    other.finish(1)
    await expect(run).rejects.toMatchObject({ code: "JOURNAL_LOST" })
    expect(ctx.signal.aborted).toBe(true)
  })

  test("gives whoever cancels the same error: the run stays lost", async () => {
    const run = workflow("w")
      .chain(start, add)
      .build()
      .run(1, { store: after(1) })
    await run.result.catch(() => undefined)
    run.cancel()
    await expect(run).rejects.toMatchObject({ code: "JOURNAL_LOST" })
  })

  test("with an error of the family lets that through as it is", async () => {
    const own = new SuperstepError("LEASE_LOST", "another process has it")
    const run = workflow("w")
      .start(start)
      .build()
      .run(1, { store: failingStore(() => false, own, how) })
    await expect(run).rejects.toMatchObject({ code: "LEASE_LOST" })
  })

  test("does not bring the process down when nobody awaits the run", async () => {
    workflow("w")
      .chain(start, add)
      .build()
      .run(1, { store: after(1) })
    await settled()
  })
})

describe("a store that takes its time", () => {
  test("no handler starts before the run's first entry is durable (M2)", async () => {
    const store = handDrivenStore()
    const first = controlled<number, number>("first")
    const run = workflow("w").start(first).build().run(1, { store })
    await settled()
    expect(first.atWork).toHaveLength(0)
    await store.complete()
    expect(first.atWork).toHaveLength(1)
    first.finish(1)
    await store.completeAll()
    expect((await run).outputs).toEqual([1])
  })

  test("no dependent task starts before its cause is durable (M2)", async () => {
    const store = handDrivenStore()
    const [a, b, c] = ["a", "b", "c"].map((id) => controlled<number, number>(id)) as [
      ReturnType<typeof controlled<number, number>>,
      ReturnType<typeof controlled<number, number>>,
      ReturnType<typeof controlled<number, number>>,
    ]
    const run = workflow("w").chain(a, b, c).build().run(1, { store })
    for (const task of [a, b, c]) {
      await settled()
      expect(task.atWork).toHaveLength(0)
      await store.complete()
      expect(task.atWork).toHaveLength(1)
      task.finish(1)
    }
    await settled()
    await store.complete()
    expect((await run).status).toBe("completed")
  })

  test("the run is not over before its last entry is durable, nor does a watcher hear of it", async () => {
    const store = handDrivenStore()
    const run = workflow("w").start(start).build().stream(1, { store })
    const events: RunEvent[] = []
    const watched = (async () => {
      for await (const event of run) events.push(event)
    })()
    let over = false
    void run.result.then(() => {
      over = true
    })
    await store.complete()
    expect(over).toBe(false)
    expect(events.map(({ type }) => type)).toEqual(["run.started", "superstep.started", "task.started"])
    await store.complete()
    await watched
    expect(over).toBe(true)
    expect(events.at(-1)?.type).toBe("run.finished")
  })

  test("a step's result is given to the handler when it is durable", async () => {
    const store = handDrivenStore()
    const seen: number[] = []
    const steps = node("steps", async (n: number, ctx: Context) => {
      seen.push(await ctx.step("one", () => n))
      seen.push(await ctx.step("two", () => n + 1))
      return "done"
    })
    const run = workflow("w").start(steps).build().run(1, { store })
    await store.complete()
    expect(seen).toEqual([])
    await store.complete()
    expect(seen).toEqual([1])
    await store.completeAll()
    expect((await run).outputs).toEqual(["done"])
  })

  test("a question is open when it is durable", async () => {
    const store = handDrivenStore()
    const asks = node("asks", async (_: number, ctx: Context) => ctx.ask("?"))
    const run = workflow("w").start(asks).build().run(1, { store })
    let waiting = false
    void run.result.then(() => {
      waiting = true
    })
    await store.complete()
    expect(waiting).toBe(false)
    await store.complete()
    expect(waiting).toBe(true)
  })

  test("a called workflow starts when the call is durable, and continues like any", async () => {
    const store = handDrivenStore()
    const hold = controlled<number, number>("hold")
    const inner = workflow("inner").chain(hold, add).build()
    const run = workflow("w").chain(start, inner.asNode()).build().run(1, { store })
    for (let i = 0; i < 4 && hold.atWork.length === 0; i++) await store.complete()
    const types = store
      .journal(run.id)
      .map(({ frame, entry }) => [frame === "" ? "root" : "inner", entry.type])
    expect(types).toEqual([
      ["root", "run.started"],
      ["root", "task.finished"],
      ["root", "call.started"],
      ["inner", "run.started"],
    ])
    hold.finish(1)
    await store.completeAll()
    expect((await run).outputs).toEqual([2])
  })

  test("entries that come while one is written go together in the next", async () => {
    const store = handDrivenStore()
    const workers = ["a", "b", "c"].map((id) => controlled<number, number>(id))
    const run = workflow("w").start(start).fanOut(start, workers).build().run(1, { store })
    await store.completeAll()
    for (const worker of workers) worker.finish(1)
    await settled()
    expect(store.waiting).toBe(1)
    await store.complete()
    expect(store.waiting).toBe(1)
    await store.complete()
    expect((await run).outputs).toEqual([1, 1, 1])
  })

  test("a cancel reaches the handlers when it is durable, and whatever they still do is not recorded", async () => {
    const store = handDrivenStore()
    const hold = controlled<number, number>("hold")
    const run = workflow("w").start(hold).build().run(1, { store })
    await store.complete()
    const { ctx } = await hold.started()
    run.cancel()
    hold.finish(1)
    await store.completeAll()
    expect(ctx.signal.aborted).toBe(true)
    expect((await run.result).status).toBe("cancelled")
    expect(store.journal(run.id).map(({ entry }) => entry.type)).toEqual(["run.started", "run.cancelled"])
  })

  test("that fails in the middle: what was not durable has not happened", async () => {
    const store = handDrivenStore()
    const hold = controlled<number, number>("hold")
    const next = controlled<number, number>("next")
    const run = workflow("w").chain(hold, next).build().run(1, { store, runId: "r" })
    const rejected = expect(run).rejects.toMatchObject({ code: "JOURNAL_LOST" })
    await store.complete()
    hold.finish(1)
    await settled()
    await store.fail(new Error("gone"))
    await rejected
    expect(next.atWork).toHaveLength(0)
    expect(store.journal("r")).toHaveLength(1)
    expect(store.waiting).toBe(0)
  })
})
