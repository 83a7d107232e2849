import { getEventListeners } from "node:events"
import { describe, expect, test } from "vitest"
import { z } from "zod"
import { type Context, memoryStore, node, type RunEvent, SuperstepError, workflow } from "../../index.ts"
import { controlled, manualClock, settled } from "../../testing/index.ts"

const start = node("start", (n: number) => n)

describe("cancel", () => {
  test("reaches every running handler through its signal, and is a status, an error and an event", async () => {
    const [a, b] = [controlled<number, number>("a"), controlled<number, number>("b")]
    const run = workflow("w").start(start).fanOut(start, [a, b]).build().stream(1)
    const events: RunEvent[] = []
    const watched = (async () => {
      for await (const event of run) events.push(event)
    })()
    const tasks = [await a.started(), await b.started()]
    run.cancel("changed my mind")
    expect(tasks.map(({ ctx }) => ctx.signal.aborted)).toEqual([true, true])
    expect(tasks[0]?.ctx.signal.reason).toMatchObject({ code: "CANCELLED" })
    const { status, error } = await run.result
    expect(status).toBe("cancelled")
    expect(error).toMatchObject({ code: "CANCELLED", message: "changed my mind" })
    await watched
    expect(events.filter(({ type }) => type === "task.cancelled")).toHaveLength(2)
    expect(events.at(-1)).toMatchObject({ type: "run.finished", status: "cancelled" })
  })

  test("makes awaiting the run throw, with what it produced so far", async () => {
    const early = node("early", (n: number) => n)
    const hold = controlled<number, number>("hold")
    const next = controlled<number, number>("next")
    const run = workflow("w").start(start).fanOut(start, [early, hold]).edge(hold, next).build().run(1)
    await hold.started()
    hold.finish(2)
    await next.started()
    run.cancel()
    await expect(run).rejects.toMatchObject({ code: "CANCELLED", result: { outputs: [1] } })
  })

  test("does not wait for a handler that never settles", async () => {
    const deaf = node("deaf", () => new Promise<number>(() => undefined))
    const run = workflow("w").start(deaf).build().run(1)
    run.cancel()
    expect((await run.result).status).toBe("cancelled")
  })

  test("what a handler does after it is ignored", async () => {
    const hold = controlled<number, number>("hold")
    const next = controlled<number, number>("next")
    const run = workflow("w").chain(hold, next).build().run(1)
    const { ctx, finish } = await hold.started()
    run.cancel()
    ctx.send(1)
    ctx.output(2)
    ctx.emit("late")
    await expect(ctx.step("late", () => 1)).rejects.toMatchObject({ code: "CANCELLED" })
    await expect(ctx.ask("late?")).rejects.toMatchObject({ code: "CANCELLED" })
    await expect(ctx.sleep(1)).rejects.toMatchObject({ code: "CANCELLED" })
    finish(3)
    await settled()
    expect(next.atWork).toHaveLength(0)
    expect(await run.result).toMatchObject({ status: "cancelled", outputs: [], requests: [] })
  })

  test("a handler that fails after it is ignored", async () => {
    const hold = controlled<number, number>("hold")
    const run = workflow("w").start(hold).build().run(1)
    const task = await hold.started()
    run.cancel()
    task.fail(new Error("late"))
    await settled()
    expect((await run.result).error).toMatchObject({ code: "CANCELLED" })
  })

  test("a handler that asks for its signal only later finds it aborted", async () => {
    let ctx: Context | undefined
    const deaf = node("deaf", (_: number, own: Context) => {
      ctx = own
      return new Promise<number>(() => undefined)
    })
    workflow("w").start(deaf).build().run(1).cancel()
    await settled()
    expect(ctx?.signal.aborted).toBe(true)
  })

  test("twice is as good as once: the first reason stays", async () => {
    const run = workflow("w").start(controlled<number, number>("hold")).build().run(1)
    run.cancel("first")
    run.cancel("second")
    expect((await run.result).error?.message).toBe("first")
  })

  test("after the end changes nothing", async () => {
    const run = workflow("w").start(start).build().run(1)
    await run
    run.cancel()
    expect(await run).toMatchObject({ status: "completed", outputs: [1] })
  })

  test("before the input is checked still cancels: no handler runs", async () => {
    let ran = 0
    const slow = z.number().refine(async () => true)
    const counts = node({ id: "counts", input: slow, run: () => ++ran })
    const run = workflow("w").start(counts).build().run(1)
    run.cancel()
    expect((await run.result).status).toBe("cancelled")
    expect(ran).toBe(0)
  })

  test("of a run whose input is refused leaves it refused", async () => {
    const strict = node({ id: "strict", input: z.string(), run: () => 1 })
    const run = workflow("w")
      .start(strict)
      .build()
      .run(1 as never)
    run.cancel()
    await expect(run).rejects.toMatchObject({ code: "INPUT_INVALID" })
  })

  test("takes back open requests and timers", async () => {
    const clock = manualClock()
    const asks = node("asks", async (_: number, ctx: Context) => ctx.ask({ prompt: "?", timeout: 1_000 }))
    const sleeps = node("sleeps", async (_: number, ctx: Context) => ctx.sleep(5_000))
    const limited = controlled<number, number>("limited", { timeout: 9_000 })
    const run = workflow("w").start(start).fanOut(start, [asks, sleeps, limited]).build().run(1, { clock })
    await limited.started()
    expect(clock.pending).toBe(3)
    run.cancel()
    expect(await run.result).toMatchObject({ status: "cancelled", requests: [] })
    expect(clock.pending).toBe(0)
    await expect(run.respond("r1", 1)).rejects.toMatchObject({ code: "REQUEST_UNKNOWN" })
  })

  test("reaches handlers in sub-workflows, and their timers", async () => {
    const clock = manualClock()
    const hold = controlled<number, number>("hold", { timeout: 9_000 })
    const inner = workflow("inner").start(hold).build()
    const middle = workflow("middle").start(inner.asNode()).build()
    const run = workflow("w").start(middle.asNode()).build().run(1, { clock })
    const { ctx } = await hold.started()
    run.cancel()
    expect((await run.result).status).toBe("cancelled")
    expect(ctx.signal.aborted).toBe(true)
    expect(clock.pending).toBe(0)
  })

  test("reports the messages that were queued for a node", async () => {
    const source = node("source", (_: number, ctx: Context) => {
      for (const n of [1, 2, 3]) ctx.send(n)
    })
    const hold = controlled<number, number>("hold")
    const run = workflow("w").start(source).edge(source, hold).build().run(0)
    await hold.started()
    run.cancel()
    expect((await run.result).undelivered).toMatchObject([
      { from: "source", to: "hold", value: 2, reason: expect.stringContaining("cancelled") },
      { from: "source", to: "hold", value: 3 },
    ])
  })

  test("reports the messages that a join had kept", async () => {
    const hold = controlled<number, number>("hold")
    const both = node("both", (pair: readonly number[]) => pair)
    const run = workflow("w", { schedule: "flow" })
      .start(start)
      .edge(start, hold)
      .fanIn([start, hold], both)
      .build()
      .run(1)
    await hold.started()
    run.cancel()
    expect((await run.result).undelivered).toMatchObject([{ from: "start", to: "both", value: 1 }])
  })

  test.each<[string, (ctx: Context) => Promise<unknown>]>([
    ["a question", (ctx) => ctx.ask("?")],
    ["a sleep", (ctx) => ctx.sleep(1_000)],
    ["a call", (ctx) => ctx.call(workflow("inner").start(controlled<number, number>("x")).build(), 1)],
  ])("does no harm where a handler holds %s that it does not await yet", async (_, begin) => {
    const unhandled: unknown[] = []
    const listen = (error: unknown) => unhandled.push(error)
    const others = process.listeners("unhandledRejection")
    process.removeAllListeners("unhandledRejection")
    process.on("unhandledRejection", listen)
    try {
      const holds = node("holds", async (_: number, ctx: Context) => {
        const begun = begin(ctx)
        await new Promise(() => undefined)
        return begun
      })
      const run = workflow("w").start(holds).build().run(1, { clock: manualClock() })
      await settled()
      run.cancel()
      expect((await run.result).status).toBe("cancelled")
      await settled()
      expect(unhandled).toEqual([])
    } finally {
      process.removeListener("unhandledRejection", listen)
      for (const other of others) process.on("unhandledRejection", other)
    }
  })
})

describe("options.signal", () => {
  test("cancels the run when it is aborted, with its reason", async () => {
    const controller = new AbortController()
    const hold = controlled<number, number>("hold")
    const run = workflow("w").start(hold).build().run(1, { signal: controller.signal })
    const { ctx } = await hold.started()
    controller.abort(new SuperstepError("STOP", "user left"))
    expect(ctx.signal.aborted).toBe(true)
    expect((await run.result).error).toMatchObject({ code: "CANCELLED", message: "user left" })
  })

  test("that is aborted before the run starts lets no handler run", async () => {
    let ran = 0
    const built = workflow("w")
      .start(node("counts", () => ++ran))
      .build()
    const run = built.run(1, { signal: AbortSignal.abort("too late") })
    expect(await run.result).toMatchObject({ status: "cancelled", error: { message: "too late" } })
    expect(ran).toBe(0)
  })

  test("may serve many runs", async () => {
    const controller = new AbortController()
    const hold = controlled<number, number>("hold")
    const built = workflow("w").start(hold).build()
    const runs = [1, 2, 3].map((n) => built.run(n, { signal: controller.signal }))
    await hold.started(3)
    controller.abort()
    const results = await Promise.all(runs.map((run) => run.result))
    expect(results.map(({ status }) => status)).toEqual(["cancelled", "cancelled", "cancelled"])
  })

  test("is let go of when the run ends, however it ends", async () => {
    const { signal } = new AbortController()
    const listeners = () => getEventListeners(signal, "abort").length
    const hold = controlled<number, number>("hold")
    const built = workflow("w").start(hold).build()
    const [one, other] = [built.run(1, { signal }), built.run(2, { signal })]
    await hold.started(2)
    expect(listeners()).toBe(2)
    hold.finish(1)
    await one
    expect(listeners()).toBe(1)
    hold.fail(new Error("boom"))
    await other.result
    expect(listeners()).toBe(0)
    const refused = workflow("w")
      .start(node({ id: "x", input: z.string(), run: () => 1 }))
      .build()
    await expect(refused.run(1 as never, { signal })).rejects.toThrow()
    expect(listeners()).toBe(0)
  })

  test("cancels a run that was resumed", async () => {
    const controller = new AbortController()
    const store = memoryStore()
    const asks = workflow("w")
      .start(node("asks", async (_: number, ctx: Context) => ctx.ask("?")))
      .build()
    await asks.run(1, { store, runId: "r" })
    const run = asks.resume("r", { store, signal: controller.signal })
    expect((await run).status).toBe("waiting")
    controller.abort()
    expect((await run.result).status).toBe("cancelled")
  })
})
