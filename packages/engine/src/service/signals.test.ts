/** Signals, updates and queries from any process, to runs that may be at work anywhere. */
import { describe, expect, test } from "vitest"
import { z } from "zod"
import { append, type Context, channel, memoryStore, node, workflow } from "../index.ts"
import { settled } from "../testing/index.ts"
import { pass, processOn } from "./processes.test-support.ts"

const seen = channel("seen", append<string>())

const order = workflow("order", { state: [seen] })
  .start(
    node("order", async (_: null, ctx: Context) => {
      ctx.state.write(seen, ["ordered"])
      const paid = await ctx.waitFor("paid", { schema: z.object({ usd: z.number() }) })
      return `paid ${paid.usd}`
    }),
  )
  .build()

const counter = workflow("counter")
  .start(
    node("count", async (_: null, ctx: Context) => {
      for (let sum = 0; ; ) {
        const { value, reply } = await ctx.waitForUpdate<number>("add")
        sum += value
        await reply(sum)
        if (value === 0) return sum
      }
    }),
  )
  .build()

const workflows = [order, counter]

describe("a signal", () => {
  test("reaches a run where it is at work, and is checked there", async () => {
    const store = memoryStore()
    const [a, b] = [processOn(store, { workflows }), processOn(store, { workflows })]
    const run = a.runtime.start(order, null, { runId: "r", key: "order-17" })
    await run
    const wrong = expect(b.runtime.signal("r", "paid", { usd: "?" })).rejects.toMatchObject({
      code: "SIGNAL_INVALID",
    })
    await pass(2_000, a.clock, b.clock)
    await wrong
    const sent = b.runtime.signal({ key: "order-17" }, "paid", { usd: 5 })
    await pass(2_000, a.clock, b.clock)
    expect(await sent).toBe("taken")
    expect((await run).outputs).toEqual(["paid 5"])
    await Promise.all([a.runtime.close(), b.runtime.close()])
  })

  test("is taken once, though two processes send it under one id", async () => {
    const store = memoryStore()
    const [a, b, c] = [1, 2, 3].map(() => processOn(store, { workflows })) as [Process, Process, Process]
    await a.runtime.start(counter, null, { runId: "r" })
    const sent = [b, c].map(({ runtime }) => runtime.update("r", "add", 4, { id: "same" }))
    await pass(4_000, a.clock, b.clock, c.clock)
    expect(await Promise.all(sent)).toEqual([4, 4])
    const next = b.runtime.update("r", "add", 1)
    await pass(4_000, a.clock, b.clock, c.clock)
    expect(await next).toBe(5)
    await Promise.all([a, b, c].map(({ runtime }) => runtime.close()))
  })

  test("to a run that no process executes is checked, stored, and delivered when it resumes", async () => {
    const store = memoryStore()
    const a = processOn(store, { workflows })
    await a.runtime.start(order, null, { runId: "r" })
    await a.runtime.close()
    const clerk = processOn(store, { workflows: [] })
    await expect(clerk.runtime.signal("r", "paid", { usd: "?" })).rejects.toMatchObject({
      code: "SIGNAL_INVALID",
    })
    expect(await clerk.runtime.signal("r", "paid", { usd: 3 }, { id: "a" })).toBe("stored")
    expect(await clerk.runtime.signal("r", "paid", { usd: 3 }, { id: "a" })).toBe("stored")
    const worker = processOn(store, { workflows })
    await worker.runtime.recover()
    await pass(2_000, worker.clock)
    expect(await store.run("r")).toMatchObject({ status: "completed" })
    expect(await worker.runtime.get("r")).toMatchObject({ outputs: ["paid 3"] })
    await Promise.all([clerk.runtime.close(), worker.runtime.close()])
  })

  test("wakes a run that was unloaded, and one in this process that nobody loaded", async () => {
    const store = memoryStore()
    const a = processOn(store, { workflows, evictAfter: 1_000 })
    await a.runtime.start(order, null, { runId: "r" })
    await pass(4_000, a.clock)
    expect(await store.run("r")).toMatchObject({ status: "waiting", executing: false })
    expect((await store.run("r"))?.holder).toBeUndefined()
    expect(await a.runtime.signal("r", "paid", { usd: 1 })).toBe("taken")
    expect(await a.runtime.get("r")).toMatchObject({ outputs: ["paid 1"] })
    await a.runtime.close()
  })

  test("that is buffered leaves a waiting run at rest: it is unloaded, and keeps the signal", async () => {
    const store = memoryStore()
    const a = processOn(store, { workflows, evictAfter: 1_000 })
    await a.runtime.start(order, null, { runId: "r" })
    await a.runtime.signal("r", "other", 1, { id: "o" })
    expect(await store.run("r")).toMatchObject({ status: "waiting", executing: false })
    await pass(4_000, a.clock)
    expect((await store.run("r"))?.holder).toBeUndefined()
    expect(await a.runtime.state("r")).toMatchObject({
      status: "waiting",
      signals: [{ id: "o", name: "other", value: 1 }],
    })
    await a.runtime.close()
  })

  test("to a queued run waits for it, and does not start it early", async () => {
    const store = memoryStore()
    const a = processOn(store, { workflows })
    await a.runtime.enqueue(order, null, { runId: "r", delay: 10_000 })
    expect(await a.runtime.signal("r", "paid", { usd: 2 })).toBe("stored")
    await pass(8_000, a.clock)
    expect(await store.run("r")).toMatchObject({ status: "queued" })
    await pass(4_000, a.clock)
    expect(await a.runtime.get("r")).toMatchObject({ outputs: ["paid 2"] })
    await a.runtime.close()
  })

  test("that was stored is not lost when a process cannot load the run", async () => {
    const store = memoryStore()
    const a = processOn(store, { workflows })
    await a.runtime.start(order, null, { runId: "r" })
    await a.runtime.close()
    const clerk = processOn(store, { workflows: [] })
    await clerk.runtime.signal("r", "paid", { usd: 9 }, { id: "a" })
    const other = workflow("order")
      .start(node("renamed", (_: null) => 1))
      .build()
    const problems: unknown[] = []
    const broken = processOn(store, { workflows: [other], onProblem: ({ error }) => problems.push(error) })
    await broken.runtime.recover()
    await pass(5_000, broken.clock)
    expect(problems).toHaveLength(1)
    expect(await broken.runtime.state("r")).toMatchObject({ signals: [{ id: "a", name: "paid" }] })
    await broken.runtime.close()
    const worker = processOn(store, { workflows })
    await worker.clock.advance(100_000)
    await worker.runtime.recover()
    await pass(2_000, worker.clock)
    expect(await worker.runtime.get("r")).toMatchObject({ outputs: ["paid 9"] })
    await Promise.all([clerk.runtime.close(), worker.runtime.close()])
  })

  test("that was stored in time comes before the timeout, though no process ran until later", async () => {
    const store = memoryStore()
    const timed = workflow("timed")
      .start(
        node("timed", async (_: null, ctx: Context) =>
          ctx.waitFor("go", { timeout: 60_000, default: "late" }),
        ),
      )
      .build()
    const a = processOn(store, { workflows: [timed] })
    await a.runtime.start(timed, null, { runId: "r" })
    await a.runtime.close()
    const clerk = processOn(store, { workflows: [] })
    expect(await clerk.runtime.signal("r", "go", "in time")).toBe("stored")
    const worker = processOn(store, { workflows: [timed] })
    await worker.clock.advance(100_000)
    await worker.runtime.recover()
    expect(await worker.runtime.get("r")).toMatchObject({ outputs: ["in time"] })
    await Promise.all([clerk.runtime.close(), worker.runtime.close()])
  })

  test("that no process reads in time is stored, and taken later", async () => {
    const store = memoryStore()
    const [a, b] = [processOn(store, { workflows }), processOn(store, { workflows: [] })]
    const run = a.runtime.start(order, null, { runId: "r" })
    await run
    // It is alive, and does not read its mail: its clock stands still, but it sends heartbeats.
    const sent = b.runtime.signal("r", "paid", { usd: 4 }, { id: "a" })
    for (let i = 0; i < 70; i++) {
      await store.beat({ id: (await store.run("r"))?.holder ?? "", machine: "x", pid: 1, born: "" })
      await pass(500, b.clock)
    }
    expect(await sent).toBe("stored")
    await pass(2_000, a.clock)
    expect((await run).outputs).toEqual(["paid 4"])
    await Promise.all([a.runtime.close(), b.runtime.close()])
  })

  test("is awaited with its run: nobody gets the result from before it", async () => {
    const store = memoryStore()
    const [a, b] = [processOn(store, { workflows }), processOn(store, { workflows: [] })]
    await a.runtime.start(order, null, { runId: "r" })
    expect((await b.runtime.get("r")).status).toBe("waiting")
    const command = { type: "signal", id: "s", name: "paid", value: { usd: 6 } } as const
    await store.post({ id: "m", runId: "r", at: 0, command })
    const awaited = b.runtime.get("r").result
    await pass(2_000, a.clock, b.clock)
    expect((await awaited).outputs).toEqual(["paid 6"])
    await Promise.all([a.runtime.close(), b.runtime.close()])
  })

  test("is refused if too many wait in the store", async () => {
    const store = memoryStore()
    const a = processOn(store, { workflows })
    await a.runtime.start(order, null, { runId: "r" })
    await a.runtime.close()
    const clerk = processOn(store, { workflows: [] })
    for (let i = 0; i < 1_000; i++) {
      const command = { type: "signal", id: `s${i}`, name: "other", value: i, isAccepted: true } as const
      await store.post({ id: `m${i}`, runId: "r", at: 0, command })
    }
    await expect(clerk.runtime.signal("r", "paid", { usd: 1 })).rejects.toMatchObject({
      code: "SIGNALS_FULL",
    })
    const worker = processOn(store, { workflows })
    await worker.runtime.recover()
    await pass(2_000, worker.clock)
    expect((await worker.runtime.state("r")).signals.map(({ value }) => value)).toEqual(
      Array.from({ length: 1_000 }, (_, i) => i),
    )
    await Promise.all([clerk.runtime.close(), worker.runtime.close()])
  })

  test("to a run that has ended, or that does not exist, is an error", async () => {
    const store = memoryStore()
    const a = processOn(store, { workflows })
    const run = a.runtime.start(order, null, { runId: "r" })
    await run
    await a.runtime.signal("r", "paid", { usd: 1 }, { id: "a" })
    await run
    await expect(a.runtime.signal("r", "paid", { usd: 1 })).rejects.toMatchObject({ code: "RUN_OVER" })
    // It was received before the end.
    expect(await a.runtime.signal("r", "paid", { usd: 1 }, { id: "a" })).toBe("taken")
    await expect(a.runtime.signal("none", "paid")).rejects.toMatchObject({ code: "RUN_UNKNOWN" })
    await expect(a.runtime.signal({ key: "none" }, "paid")).rejects.toMatchObject({ code: "RUN_UNKNOWN" })
    await expect(a.runtime.state({ key: "none" })).rejects.toMatchObject({ code: "RUN_UNKNOWN" })
    await a.runtime.close()
  })
})

type Process = ReturnType<typeof processOn>

describe("an update from another process", () => {
  test("gets the reply from the journal, also after the run has ended", async () => {
    const store = memoryStore()
    const [a, b] = [processOn(store, { workflows }), processOn(store, { workflows })]
    await a.runtime.start(counter, null, { runId: "r" })
    const first = b.runtime.update("r", "add", 2, { id: "x" })
    await pass(4_000, a.clock, b.clock)
    expect(await first).toBe(2)
    const last = b.runtime.update("r", "add", 0)
    await pass(4_000, a.clock, b.clock)
    expect(await last).toBe(2)
    expect(await b.runtime.update("r", "add", 2, { id: "x" })).toBe(2)
    await Promise.all([a.runtime.close(), b.runtime.close()])
  })

  test("ends in time if nobody replies", async () => {
    const store = memoryStore()
    const [a, b] = [processOn(store, { workflows }), processOn(store, { workflows })]
    await a.runtime.start(order, null, { runId: "r" })
    const sent = expect(b.runtime.update("r", "other", 1, { timeout: 3_000 })).rejects.toMatchObject({
      code: "UPDATE_TIMEOUT",
    })
    await pass(6_000, a.clock, b.clock)
    await sent
    await Promise.all([a.runtime.close(), b.runtime.close()])
  })

  test("continues elsewhere when the run leaves this process", async () => {
    const store = memoryStore()
    const [a, b] = [processOn(store, { workflows }), processOn(store, { workflows })]
    await a.runtime.start(order, null, { runId: "r" })
    const sent = a.runtime.update("r", "later", 1, { id: "u", timeout: 20_000 })
    sent.catch(() => undefined)
    await settled()
    const taken = b.runtime.resume(order, "r", { takeOver: true })
    await pass(2_000, a.clock, b.clock)
    await taken.signal("paid", { usd: 1 })
    await pass(2_000, a.clock, b.clock)
    await expect(sent).rejects.toMatchObject({ code: "RUN_OVER" })
    await Promise.all([a.runtime.close(), b.runtime.close()])
  })
})

test("any process reads the state of a run while it executes", async () => {
  const store = memoryStore()
  const first = node("first", (_: null, ctx: Context) => {
    ctx.state.write(seen, ["first"])
    return 1
  })
  const second = node("second", async (n: number, ctx: Context) => [
    n,
    await ctx.waitFor("go", { timeout: 60_000 }),
  ])
  const two = workflow("two", { state: [seen] })
    .chain(first, second)
    .build()
  const [a, b] = [processOn(store, { workflows: [two] }), processOn(store, { workflows: [] })]
  const run = a.runtime.start(two, null, { runId: "r", key: "k" })
  await run
  expect(await b.runtime.state({ key: "k" })).toEqual({
    runId: "r",
    workflow: "two",
    status: "waiting",
    seq: expect.any(Number),
    at: 1_000_000,
    state: { seen: ["first"] },
    outputs: [],
    requests: [],
    waits: [{ name: "go", node: "second", task: 2, frame: "", deadline: 1_060_000 }],
    signals: [],
    usage: {},
    supersteps: 2,
  })
  await a.runtime.signal("r", "go", true)
  await run
  expect(await b.runtime.state("r")).toMatchObject({ status: "completed", outputs: [[1, true]], waits: [] })
  await Promise.all([a.runtime.close(), b.runtime.close()])
})
