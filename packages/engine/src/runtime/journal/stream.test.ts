import { describe, expect, test } from "vitest"
import { z } from "zod"
import { type Context, memoryStore, node, type RunEvent, workflow } from "../../index.ts"
import { isCollected } from "../../testing/garbage.test-support.ts"
import { controlled, settled } from "../../testing/index.ts"
import { failingStore, handDrivenStore } from "./stores.test-support.ts"

const start = node("start", (n: number) => n)
const add = node("add", async (n: number) => n + 1)

async function collect(events: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const all: RunEvent[] = []
  for await (const event of events) all.push(event)
  return all
}
const kept = (events: readonly RunEvent[]) => events.filter(({ type }) => type !== "custom" && type !== "log")
const numbers = (events: readonly RunEvent[]) => kept(events).map(({ seq }) => seq)
const upTo = (n: number) => Array.from({ length: n }, (_, i) => i + 1)

describe("a stream", () => {
  test("tells everything in order, from the first event to the end, and ends by itself", async () => {
    const events = await collect(workflow("w").chain(start, add).build().stream(1, { runId: "r" }))
    expect(events.map(({ type }) => type)).toEqual([
      "run.started",
      "superstep.started",
      "task.started",
      "task.finished",
      "superstep.committed",
      "superstep.started",
      "task.started",
      "task.finished",
      "output",
      "superstep.committed",
      "run.finished",
    ])
    expect(numbers(events)).toEqual(upTo(events.length))
    expect(events.every(({ runId, path }) => runId === "r" && path.length === 0)).toBe(true)
  })

  test.each<[string, () => number, string]>([
    ["completed", () => 1, "completed"],
    [
      "failed",
      () => {
        throw new Error("boom")
      },
      "failed",
    ],
  ])("of a run that %s ends with that status", async (_, run, status) => {
    const events = await collect(workflow("w").start(node("x", run)).build().stream(1))
    expect(events.at(-1)).toMatchObject({ type: "run.finished", status })
  })

  test("carries the failing node, attempt and cause", async () => {
    const fails = node("fails", () => {
      throw new Error("boom", { cause: new Error("deep") })
    })
    const events = await collect(workflow("w").start(fails).build().stream(1))
    expect(events).toContainEqual(
      expect.objectContaining({
        type: "task.failed",
        node: "fails",
        attempt: 1,
        error: expect.objectContaining({ message: "boom", cause: { code: "ERROR", message: "deep" } }),
      }),
    )
  })

  test("is a run as well: it can be awaited before, while and after it is read", async () => {
    const run = workflow("w").start(start).build().stream(1)
    expect((await run).outputs).toEqual([1])
    expect((await collect(run)).at(-1)?.type).toBe("run.finished")
    expect((await run).outputs).toEqual([1])
  })

  test("does not end while the run waits for a person", async () => {
    const asks = node("asks", async (_: number, ctx: Context) => ctx.ask("?"))
    const run = workflow("w").start(asks).build().stream(1)
    const types: string[] = []
    for await (const event of run) {
      types.push(event.type)
      if (event.type === "run.waiting") await run.respond("r1", 5)
    }
    expect(types).toContain("request.opened")
    expect(types.indexOf("run.waiting")).toBeLessThan(types.indexOf("request.answered"))
    expect(types.at(-1)).toBe("run.finished")
  })

  test("carries custom events and log lines where they happened, under names of their own", async () => {
    const talks = node("talks", async (n: number, ctx: Context) => {
      ctx.emit("run.finished", { n })
      ctx.log("warn", "careful", { n })
      ctx.emit("bare")
      return n
    })
    const events = await collect(workflow("w").start(talks).build().stream(1))
    const live = events.filter(({ type }) => type === "custom" || type === "log")
    expect(live).toMatchObject([
      { type: "custom", node: "talks", task: 1, name: "run.finished", data: { n: 1 } },
      { type: "log", node: "talks", level: "warn", message: "careful", data: { n: 1 } },
      { type: "custom", name: "bare" },
    ])
    const at = events.findIndex(({ type }) => type === "custom")
    expect(events[at - 1]?.type).toBe("task.started")
    expect(events.filter(({ type }) => type === "run.finished")).toHaveLength(1)
    expect(numbers(events)).toEqual(upTo(kept(events).length))
  })

  test("of a run whose input is refused throws that error", async () => {
    const strict = node({ id: "strict", input: z.string(), run: () => 1 })
    const stream = workflow("w")
      .start(strict)
      .build()
      .stream(1 as never)
    await expect(collect(stream)).rejects.toMatchObject({ code: "INPUT_INVALID" })
  })

  test("of a run whose store fails gives what was durable, then throws", async () => {
    const store = failingStore(({ seq }) => seq < 2, new Error("disk full"), "rejects")
    const seen: string[] = []
    const reading = (async () => {
      for await (const event of workflow("w").chain(start, add).build().stream(1, { store }))
        seen.push(event.type)
    })()
    await expect(reading).rejects.toMatchObject({ code: "JOURNAL_LOST" })
    expect(seen).toEqual(["run.started", "superstep.started", "task.started"])
  })

  test("has no events of its own after the end", async () => {
    const hold = controlled<number, number>("hold")
    const run = workflow("w").start(hold).build().stream(1)
    const { ctx } = await hold.started()
    run.cancel()
    ctx.emit("late")
    expect((await collect(run)).at(-1)?.type).toBe("run.finished")
  })
})

describe("several watchers", () => {
  test("each get every event from when they came", async () => {
    const hold = controlled<number, number>("hold")
    const run = workflow("w").chain(start, hold).build().stream(1)
    await hold.started()
    const [late, later] = [collect(run.events()), collect(run.events())]
    await settled()
    hold.finish(1)
    const all = await collect(run)
    expect(await late).toEqual(await later)
    expect(all.slice(-(await late).length)).toEqual(await late)
    expect((await late)[0]?.type).toBe("task.finished")
  })

  test("who come after the end get nothing, and are not kept waiting", async () => {
    const run = workflow("w").start(start).build().run(1)
    await run
    expect(await collect(run.events())).toEqual([])
  })
})

describe("leaving early", () => {
  test("does not stop the run, nor those who stay", async () => {
    const hold = controlled<number, number>("hold")
    const run = workflow("w").chain(start, hold).build().stream(1)
    const stays = collect(run.events())
    for await (const event of run) if (event.type === "task.started") break
    await hold.started()
    hold.finish(2)
    expect((await run).outputs).toEqual([2])
    expect((await stays).at(-1)?.type).toBe("run.finished")
  })

  test("ends the stream for good: reading it again gives nothing", async () => {
    const run = workflow("w").chain(start, add).build().stream(1)
    for await (const _ of run) break
    expect(await collect(run)).toEqual([])
  })

  test("keeps nothing for who left: what happens after it can be collected", async () => {
    const hold = controlled<number, number>("hold")
    const run = workflow("w").start(hold).build().stream(1)
    const { ctx } = await hold.started()
    for await (const _ of run) break
    const emitted = (() => {
      const data = { large: "x".repeat(1_000) }
      ctx.emit("unseen", data)
      return new WeakRef(data)
    })()
    expect(await isCollected(emitted)).toBe(true)
    hold.finish(1)
    await run
  })

  test("also ends one who joined in the middle", async () => {
    const hold = controlled<number, number>("hold")
    const run = workflow("w").start(hold).build().run(1, { store: memoryStore() })
    await hold.started()
    for await (const _ of run.events({ after: 0 })) break
    hold.finish(1)
    expect((await run).status).toBe("completed")
  })
})

describe("joining again from a number", () => {
  test("leaves no gap and repeats nothing, wherever one left", async () => {
    const built = workflow("w")
      .chain(
        start,
        add,
        node("end", (n: number) => n),
      )
      .build()
    const all = await collect(built.stream(1, { runId: "all" }))
    for (let left = 0; left <= all.length; left++) {
      const hold = controlled<number, number>("add")
      const again = workflow("w")
        .chain(
          start,
          hold,
          node("end", (n: number) => n),
        )
        .build()
      const run = again.run(1, { store: memoryStore() })
      await hold.started()
      const joined = collect(run.events({ after: left }))
      await settled()
      hold.finish(2)
      const events = await joined
      const expected = all.filter(({ seq }) => seq > left).map(({ seq, type }) => [seq, type])
      expect(events.map(({ seq, type }) => [seq, type])).toEqual(expected)
    }
  })

  test("works after the end of the run", async () => {
    const run = workflow("w").chain(start, add).build().stream(1, { store: memoryStore() })
    const all = await collect(run)
    const strip = (events: RunEvent[]) => events.map(({ at: _, ...event }) => event)
    expect(strip(await collect(run.events({ after: 0 })))).toEqual(strip(all))
    expect(strip(await collect(run.events({ after: 7 })))).toEqual(strip(all.slice(7)))
  })

  test("needs a store: without one it says so", async () => {
    const run = workflow("w").start(start).build().run(1)
    await expect(collect(run.events({ after: 0 }))).rejects.toMatchObject({ code: "NO_STORE" })
  })

  test("works while a write is under way: what is not durable yet comes later, once", async () => {
    const store = handDrivenStore()
    const hold = controlled<number, number>("hold")
    const run = workflow("w").chain(hold, add).build().run(1, { store })
    await store.complete()
    await hold.started()
    hold.finish(1)
    await settled()
    expect(store.waiting).toBe(1)
    const joined = collect(run.events({ after: 0 }))
    await settled()
    await store.completeAll()
    const events = await joined
    expect(numbers(events)).toEqual(upTo(events.length))
    expect(events.at(-1)?.type).toBe("run.finished")
  })

  test("gives custom events that happen after it, also before the next kept one", async () => {
    const hold = controlled<number, number>("hold")
    const run = workflow("w").start(hold).build().run(1, { store: memoryStore() })
    const { ctx } = await hold.started()
    const joined = collect(run.events({ after: 0 }))
    await settled()
    ctx.emit("hello")
    hold.finish(1)
    const events = await joined
    expect(events.filter(({ type }) => type === "custom")).toHaveLength(1)
    expect(numbers(events)).toEqual(upTo(kept(events).length))
  })

  test("from the number of a custom event loses nothing that was not delivered yet", async () => {
    const store = handDrivenStore()
    const [a, b] = [controlled<number, number>("a"), controlled<number, number>("b")]
    const run = workflow("w").start(start).fanOut(start, [a, b]).build().stream(1, { store })
    const seen: RunEvent[] = []
    const reading = (async () => {
      for await (const event of run) {
        seen.push(event)
        if (event.type === "custom") break
      }
    })()
    await store.completeAll()
    const { ctx } = await b.started()
    a.finish(1)
    await settled()
    ctx.emit("hello")
    await reading
    const joined = collect(run.events({ after: seen.at(-1)?.seq ?? 0 }))
    b.finish(2)
    await store.completeAll()
    expect([...numbers(seen), ...numbers(await joined)]).toEqual(upTo(14))
  })

  test("covers sub-workflows, with their paths and the ids of their requests", async () => {
    const asks = node("asks", async (_: number, ctx: Context) => ctx.ask("?"))
    const inner = workflow("inner").start(asks).build()
    const run = workflow("w").chain(start, inner.asNode()).build().stream(1, { store: memoryStore() })
    const live = collect(run)
    const { requests } = await run
    await run.respond(requests[0]?.id ?? "", 5)
    const strip = (events: RunEvent[]) => events.map(({ at: _, ...event }) => event)
    const all = strip(await live)
    expect(strip(await collect(run.events({ after: 0 })))).toEqual(all)
    expect(all).toContainEqual(expect.objectContaining({ type: "request.opened", path: ["inner#2"] }))
    expect(all).toContainEqual(
      expect.objectContaining({ type: "request.answered", request: requests[0]?.id }),
    )
  })

  test("covers workflows that are called by code", async () => {
    const inner = workflow("inner").start(add).build()
    const calls = node("calls", async (n: number, ctx: Context) => ctx.call(inner, n))
    const run = workflow("w").start(calls).build().stream(1, { store: memoryStore() })
    const live = numbers(await collect(run))
    expect(live).toEqual(upTo(live.length))
    expect(numbers(await collect(run.events({ after: 0 })))).toEqual(live)
  })
})
