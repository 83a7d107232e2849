import { describe, expect, test } from "vitest"
import { append, type Context, channel, node, type RunEvent, replace, workflow } from "../../index.ts"
import { controlled, settled } from "../../testing/index.ts"

const start = node("start", (n: number) => n)

describe("a superstep", () => {
  test("runs its tasks concurrently and commits when all are done: nothing downstream starts before", async () => {
    const quick = controlled<number, number>("quick")
    const slow = controlled<number, number>("slow")
    const after = controlled<number, number>("after")
    const run = workflow("w").start(start).fanOut(start, [quick, slow]).edge(quick, after).build().run(1)
    await Promise.all([quick.started(), slow.started()])
    quick.finish(1)
    await settled()
    expect(after.atWork).toHaveLength(0)
    slow.finish(2)
    await after.started()
    after.finish(3)
    expect((await run).supersteps).toBe(3)
  })

  test("is atomic: no task sees what another wrote in it", async () => {
    const count = channel("count", replace(0))
    const seen: number[] = []
    const writes = node("writes", (n: number, ctx: Context) => ctx.state.write(count, n))
    const reads = controlled<number, number>("reads")
    const later = node("later", (_: number, ctx: Context) => seen.push(ctx.state.get(count)))
    const built = workflow("w", { state: [count] })
      .start(start)
      .fanOut(start, [writes, reads])
      .edge(reads, later)
      .build()
    const run = built.run(7)
    const { ctx } = await reads.started()
    seen.push(ctx.state.get(count))
    reads.finish(1)
    await run
    expect(seen).toEqual([0, 7])
  })

  test("a task does not see its own write to shared state before the commit", async () => {
    const count = channel("count", replace(0))
    const own = node("own", (n: number, ctx: Context) => {
      ctx.state.write(count, n)
      return ctx.state.get(count)
    })
    const result = await workflow("w", { state: [count] })
      .start(own)
      .build()
      .run(7)
    expect(result).toMatchObject({ outputs: [0], state: { count: 7 } })
  })

  test("applies writes in the order of the tasks, however they finished", async () => {
    const log = channel("log", append<string>())
    const [a, b] = [controlled<number, number>("a"), controlled<number, number>("b")]
    const run = workflow("w", { state: [log] })
      .start(start)
      .fanOut(start, [a, b])
      .build()
      .run(1)
    const [first, second] = [await a.started(), await b.started()]
    second.ctx.state.write(log, ["b"])
    second.finish(2)
    await settled()
    first.ctx.state.write(log, ["a"])
    first.finish(1)
    expect(await run).toMatchObject({ state: { log: ["a", "b"] }, outputs: [1, 2] })
  })

  test("drops what a failed task wrote, sent and put out (M3)", async () => {
    const log = channel("log", append<string>())
    const failing = node("failing", (_: number, ctx: Context): number => {
      ctx.state.write(log, ["written"])
      ctx.local.set("key", 1)
      ctx.send(1)
      ctx.output("put out")
      throw new Error("boom")
    })
    const next = node("next", () => "reached")
    const caught = node("caught", (_: unknown, ctx: Context) => ctx.state.get(log))
    const result = await workflow("w", { state: [log] })
      .start(failing)
      .edge(failing, next)
      .onError(failing, caught)
      .build()
      .run(1)
    expect(result).toMatchObject({ outputs: [[]], state: { log: [] }, undelivered: [] })
  })

  test("reports the messages of siblings that had finished when one of it fails the run (M5)", async () => {
    const done = node("done", (n: number) => n + 1)
    const late = controlled<number, number>("late")
    const next = node("next", (n: number) => n)
    const run = workflow("w").start(start).fanOut(start, [done, late]).edge(done, next).build().run(1)
    await late.started()
    late.fail(new Error("boom"))
    expect((await run.result).undelivered).toEqual([
      expect.objectContaining({ from: "done", value: 2, reason: expect.stringContaining("failed") }),
    ])
  })
})

describe("order", () => {
  test("messages of one source over one edge arrive in the order sent, the returned one last", async () => {
    const sender = node("sender", (_: number, ctx: Context) => {
      for (let i = 0; i < 5; i++) ctx.send(i)
      return 5
    })
    const got = node("got", (n: number) => n)
    expect((await workflow("w").chain(sender, got).build().run(1)).outputs).toEqual([0, 1, 2, 3, 4, 5])
  })

  test("deliveries to one node do not overlap, and keep their order", async () => {
    const sender = node("sender", (_: number, ctx: Context) => {
      for (let i = 0; i < 3; i++) ctx.send(i)
    })
    const got = controlled<number, number>("got")
    const run = workflow("w").start(sender).edge(sender, got).build().run(1)
    for (let i = 0; i < 3; i++) {
      const task = await got.started()
      await settled()
      expect(task.message).toBe(i)
      expect(got.atWork).toHaveLength(1)
      task.finish(i)
    }
    expect((await run).outputs).toEqual([0, 1, 2])
  })

  test("across sources it is that of the tasks that sent, however they finished", async () => {
    const sources = ["a", "b", "c"].map((id) => controlled<number, string>(id))
    const got = node("got", (text: string) => text)
    let building = workflow("w").start(start).fanOut(start, sources)
    for (const source of sources) building = building.edge(source, got)
    const run = building.build().run(1)
    for (const source of [...sources].reverse()) {
      await source.started()
      source.finish(`from ${source.id}`)
      await settled()
    }
    expect((await run).outputs).toEqual(["from a", "from b", "from c"])
  })
})

describe("flow mode", () => {
  const flow = { schedule: "flow" } as const

  test("starts a task as soon as its input is there", async () => {
    const slow = controlled<number, number>("slow")
    const quick = controlled<number, number>("quick")
    const after = controlled<number, number>("after")
    const run = workflow("w", flow)
      .start(start)
      .fanOut(start, [slow, quick])
      .edge(quick, after)
      .build()
      .run(1)
    await quick.started()
    quick.finish(1)
    await after.started()
    expect(slow.atWork).toHaveLength(1)
    after.finish(2)
    await settled()
    slow.finish(3)
    expect((await run).outputs).toEqual([2, 3])
  })

  test("makes a write visible to what starts after it", async () => {
    const count = channel("count", replace(0))
    const slow = controlled<number, number>("slow")
    const writes = node("writes", (n: number, ctx: Context) => {
      ctx.state.write(count, n)
      return n
    })
    const reads = node("reads", (_: number, ctx: Context) => ctx.state.get(count))
    const built = workflow("w", { ...flow, state: [count] })
      .start(start)
      .fanOut(start, [slow, writes])
      .edge(writes, reads)
      .build()
    const run = built.run(7)
    await slow.started()
    await settled()
    slow.finish(0)
    expect((await run).outputs).toEqual([7, 0])
  })

  test("joins, loops and ends like a superstep workflow", async () => {
    const [a, b] = [node("a", (n: number) => n + 1), node("b", async (n: number) => n * 10)]
    const both = node("both", (pair: readonly [number, number]) => pair)
    const built = workflow("w", flow).start(start).fanOut(start, [a, b]).fanIn([a, b], both).build()
    expect(await built.run(1)).toMatchObject({ status: "completed", outputs: [[2, 10]], undelivered: [] })
  })

  test("has no barrier to tell of, and the longest chain of tasks counts as its supersteps", async () => {
    const events: RunEvent[] = []
    const [a, b] = [node("a", (n: number) => n), node("b", (n: number) => n)]
    const run = workflow("w", flow).start(start).fanOut(start, [a, b]).build().stream(1)
    for await (const event of run) events.push(event)
    expect(events.filter(({ type }) => type.startsWith("superstep."))).toEqual([])
    expect((await run).supersteps).toBe(2)
  })
})
