/** M10 across processes: a paused run starts nothing, loses nothing, and continues when it is resumed. */
import { describe, expect, test } from "vitest"
import { z } from "zod"
import { type Context, memoryStore, node, pastEvents, type RunEvent, workflow } from "../index.ts"
import { manualClock, settled } from "../testing/index.ts"
import { ask, pass, processOn } from "./processes.test-support.ts"

/** A promise that the test settles. */
function gate<T = void>() {
  let open: (value: T) => void = () => undefined
  const opened = new Promise<T>((resolve) => {
    open = resolve
  })
  return { open, opened }
}

const types = async (store: ReturnType<typeof memoryStore>, runId: string) =>
  (await pastEvents(store, runId)).map(({ type }: RunEvent) => type)

describe("a paused run", () => {
  test("finishes what executes, records it, and starts no task until it is resumed", async () => {
    const first = gate()
    const second: number[] = []
    const one = node("first", async (n: number) => first.opened.then(() => n + 1))
    const two = node("second", (n: number) => void second.push(n))
    const flow = workflow("two").start(one).edge(one, two).build()
    const store = memoryStore()
    const { runtime } = processOn(store, { workflows: [flow] })
    const run = runtime.start(flow, 1, { runId: "r" })
    expect(await runtime.pause("r", { reason: "deploy", by: "Ada" })).toBe("taken")
    expect(await runtime.pause("r"), "pausing it again changes nothing").toBe("taken")
    first.open()
    expect((await run).status).toBe("paused")
    expect(second).toEqual([])
    expect(await runtime.runs({ status: ["paused"] })).toMatchObject([{ runId: "r", executing: false }])
    expect((await store.read("r", 0)).map(({ entry }) => entry.type)).toEqual([
      "run.started",
      "run.paused",
      "task.finished",
    ])
    expect(await runtime.resume("r", { by: "Bo" })).toBe("taken")
    expect((await run).status).toBe("completed")
    expect(second).toEqual([2])
    const events = await pastEvents(store, "r")
    expect(events.filter(({ type }) => type === "run.paused" || type === "run.resumed")).toMatchObject([
      { type: "run.paused", reason: "deploy", by: "Ada" },
      { type: "run.resumed", by: "Bo" },
    ])
    await runtime.close()
  })

  test("begins no step, and the time limit of the attempt stands still meanwhile", async () => {
    const began: string[] = []
    const first = gate()
    const flow = workflow("steps")
      .start(
        node({
          id: "steps",
          timeout: 1_000,
          run: async (_: number, ctx: Context) => {
            await ctx.step("one", async () => {
              began.push("one")
              await first.opened
            })
            return await ctx.step("two", () => began.push("two") && "done")
          },
        }),
      )
      .build()
    const store = memoryStore()
    const { runtime, clock } = processOn(store, { workflows: [flow] })
    const run = runtime.start(flow, 1, { runId: "r" })
    await settled()
    await runtime.pause("r")
    first.open()
    await settled()
    await pass(60_000, clock)
    expect(began).toEqual(["one"])
    await runtime.resume("r")
    const done = run.result
    await pass(2_000, clock)
    expect((await done).outputs).toEqual(["done"])
    expect(began).toEqual(["one", "two"])
    await runtime.close()
  })

  test("is unloaded, and continues in another process when it is resumed from a third", async () => {
    const calls: string[] = []
    const flowOf = (name: string) =>
      workflow("moves")
        .start(
          node("asks", async (_: number, ctx: Context) => {
            await ctx.step("once", () => void calls.push(`step ${name}`))
            await ctx.sleep(60_000)
            calls.push(`slept ${name}`)
            return "over"
          }),
        )
        .build()
    const store = memoryStore()
    const flow = flowOf("a")
    const a = processOn(store, { workflows: [flow] })
    a.runtime.start(flow, 1, { runId: "r" })
    await settled()
    await a.runtime.pause("r")
    await a.runtime.close()
    const b = processOn(store, { workflows: [flowOf("b")] })
    const visitor = processOn(store, { workflows: [] })
    await b.runtime.recover()
    await pass(120_000, b.clock, visitor.clock)
    expect(await store.run("r"), "its timer is due, and no process claims it").toMatchObject({
      status: "paused",
      holder: undefined,
    })
    await visitor.runtime.resume("r")
    const result = b.runtime.get("r").result
    await pass(5_000, b.clock, visitor.clock)
    expect((await result).outputs).toEqual(["over"])
    expect(calls).toEqual(["step a", "slept b"])
    await Promise.all([b.runtime.close(), visitor.runtime.close()])
  })

  test("keeps answers and signals that arrive, and uses them when it is resumed", async () => {
    const seen: unknown[] = []
    const flow = workflow("both")
      .start(
        node("both", async (_: number, ctx: Context) => {
          const answer = await ctx.ask({ prompt: "Go?", schema: z.string(), timeout: 1_000, default: "late" })
          seen.push(answer)
          seen.push(await ctx.waitFor("more"))
        }),
      )
      .build()
    const store = memoryStore()
    const { runtime, clock } = processOn(store, { workflows: [flow] })
    const run = runtime.start(flow, 1, { runId: "r" })
    await run
    await runtime.pause("r")
    await pass(5_000, clock)
    await runtime.signal("r", "more", 2)
    expect(await runtime.respond("r", "r1", "yes"), "although its deadline has passed").toBe("taken")
    expect(await runtime.requests()).toEqual([])
    expect(seen).toEqual([])
    await runtime.resume("r")
    expect((await run).status).toBe("completed")
    expect(seen).toEqual(["yes", 2])
    await runtime.close()
  })

  test("that no process holds keeps an answer and a signal in the store", async () => {
    const store = memoryStore()
    const a = processOn(store)
    await a.runtime.start(ask, 1, { runId: "r" })
    await a.runtime.pause("r")
    await a.runtime.close()
    const b = processOn(store)
    expect(await b.runtime.respond("r", "r1", "yes")).toBe("stored")
    await pass(5_000, b.clock)
    expect((await store.run("r"))?.status).toBe("paused")
    await b.runtime.resume("r")
    const result = b.runtime.get("r").result
    await pass(5_000, b.clock)
    expect((await result).outputs).toEqual(["1: yes"])
    await b.runtime.close()
  })

  test("is paused with its sub-workflows", async () => {
    const inner = gate()
    const calls: string[] = []
    const one = node("one", async (n: number) => {
      await inner.opened
      calls.push("one")
      return n
    })
    const two = node("two", (n: number) => calls.push("two") && n + 1)
    const below = workflow("below").start(one).edge(one, two).build()
    const flow = workflow("above")
      .start(node("calls", async (_: number, ctx: Context) => await ctx.call(below, 1)))
      .build()
    const store = memoryStore()
    const { runtime } = processOn(store, { workflows: [flow] })
    const run = runtime.start(flow, 1, { runId: "r" })
    await settled()
    await runtime.pause("r")
    inner.open()
    expect((await run).status).toBe("paused")
    expect(calls).toEqual(["one"])
    await runtime.resume("r")
    expect((await run).outputs).toEqual([[2]])
    expect(calls).toEqual(["one", "two"])
    await runtime.close()
  })

  test("can be cancelled, in memory and in the store", async () => {
    const store = memoryStore()
    const { runtime } = processOn(store)
    const run = runtime.start(ask, 1, { runId: "r" })
    await run
    await runtime.pause("r")
    await runtime.cancel("r")
    expect((await run.result).status).toBe("cancelled")
    await expect(runtime.pause("r")).rejects.toMatchObject({ code: "RUN_OVER" })
    await runtime.start(ask, 1, { runId: "s" })
    await runtime.pause("s")
    await runtime.close()
    const other = processOn(store)
    expect(await other.runtime.cancel("s")).toBe("taken")
    expect((await store.run("s"))?.status).toBe("cancelled")
    await other.runtime.close()
  })

  test("may be one that was queued: it starts when it is resumed", async () => {
    const flow = workflow("queued")
      .start(node("one", (n: number) => n + 1))
      .build()
    const store = memoryStore()
    const elsewhere = processOn(store, { workflows: [flow], recover: false })
    const { runId } = { runId: await elsewhere.runtime.enqueue(flow, 1) }
    expect(await elsewhere.runtime.pause(runId)).toBe("taken")
    const { runtime, clock } = processOn(store, { workflows: [flow] })
    await runtime.recover()
    await pass(5_000, clock)
    expect((await store.run(runId))?.status).toBe("paused")
    await runtime.resume(runId)
    const result = runtime.get(runId).result
    await pass(2_000, clock)
    expect((await result).outputs).toEqual([2])
    const events = (await store.subscriptions.events(0, 100)).map(({ type }) => type)
    expect(events).toEqual(["run.queued", "run.started", "run.paused", "run.resumed", "run.ended"])
    await Promise.all([runtime.close(), elsewhere.runtime.close()])
  })

  test("asked by another process, is paused by the one that executes it", async () => {
    const store = memoryStore()
    const [a, b] = [processOn(store), processOn(store)]
    const run = a.runtime.start(ask, 1, { runId: "r" })
    await run
    const paused = b.runtime.pause("r", { reason: "why" })
    await pass(2_000, a.clock, b.clock)
    expect(await paused).toBe("taken")
    expect(await types(store, "r")).toContain("run.paused")
    const resumed = b.runtime.resume("r")
    await pass(2_000, a.clock, b.clock)
    expect(await resumed).toBe("taken")
    expect((await types(store, "r")).slice(-2), "it waits again").toEqual(["run.resumed", "run.waiting"])
    await Promise.all([a.runtime.close(), b.runtime.close()])
  })

  test("has the time limit of the run without the pause", async () => {
    const clock = manualClock()
    const flow = workflow("limited")
      .start(node("waits", (_: number, ctx: Context) => ctx.waitFor("never")))
      .build()
    const store = memoryStore()
    const run = flow.run(1, { runId: "r", store, clock, timeout: 10_000 })
    await run.result
    await clock.advance(4_000)
    await run.pause()
    await clock.advance(60_000)
    expect((await run.result).status).toBe("paused")
    await run.resume()
    await clock.advance(5_000)
    expect((await run.result).status).toBe("waiting")
    await clock.advance(1_001)
    expect((await run.result).status).toBe("limit")
  })

  test("has forks that are not paused", async () => {
    const store = memoryStore()
    const { runtime } = processOn(store)
    await runtime.start(ask, 1, { runId: "r" })
    await runtime.pause("r")
    const forked = await runtime.fork("r", { answers: { r1: "yes" } })
    expect((await runtime.get(forked)).outputs).toEqual(["1: yes"])
    await runtime.close()
  })
})

test("a command of a later version is refused with the reason, and does not end the run", async () => {
  const store = memoryStore()
  const { runtime, clock } = processOn(store)
  await runtime.start(ask, 1, { runId: "r" })
  await store.post({ id: "m", runId: "r", at: 0, command: { type: "rewind" } as never })
  await pass(2_000, clock)
  const outcome = await store.mailOutcome("m")
  expect(outcome).toMatchObject({ ok: false, code: "COMMAND_UNKNOWN" })
  expect((await store.run("r"))?.status).toBe("waiting")
  await runtime.close()
})
