import { describe, expect, test } from "vitest"
import { any, type Context, node, quorum, type RunEvent, settle, workflow } from "../../index.ts"
import { controlled, manualClock, settled } from "../../testing/index.ts"

const start = node("start", (n: number) => n)
const gather = node("gather", (values: unknown) => values)
const plus = (id: string, by: number) => node(id, (n: number) => n + by)
const never = (id: string) => node(id, (_: number): number | undefined => undefined)
const fails = (id: string) =>
  node(id, (_: number): number => {
    throw new Error(`${id} broke`)
  })

/** Three sources by hand that feed one join. */
function three() {
  const [a, b, c] = ["a", "b", "c"].map((id) => controlled<number, string>(id)) as [
    ReturnType<typeof controlled<number, string>>,
    ReturnType<typeof controlled<number, string>>,
    ReturnType<typeof controlled<number, string>>,
  ]
  return { a, b, c, fan: workflow("w", { schedule: "flow" }).start(start).fanOut(start, [a, b, c]) }
}

describe("all", () => {
  test("fires when every source has sent, with a list in the declared order", async () => {
    const { a, b, c, fan } = three()
    const run = fan.fanIn([c, a, b], gather).build().run(1)
    for (const source of [b, c, a]) {
      await source.started()
      source.finish(source.id)
      await settled()
    }
    expect((await run).outputs).toEqual([["c", "a", "b"]])
  })

  test("keeps what came over supersteps", async () => {
    const [early, first, second] = [plus("early", 0), plus("first", 1), plus("second", 1)]
    const built = workflow("w")
      .start(start)
      .fanOut(start, [early, first])
      .edge(first, second)
      .fanIn([second, early], gather)
      .build()
    expect((await built.run(1)).outputs).toEqual([[3, 1]])
  })

  test("pairs the first message of each source with the first of the others, the second with the second", async () => {
    const twice = node("twice", (n: number, ctx: Context) => {
      ctx.send(n)
      ctx.send(n * 10)
    })
    const alsoTwice = node("alsoTwice", (n: number, ctx: Context) => {
      ctx.send(n + 1)
      return n + 2
    })
    const built = workflow("w")
      .start(start)
      .fanOut(start, [twice, alsoTwice])
      .fanIn([twice, alsoTwice], gather)
      .build()
    const { outputs, undelivered } = await built.run(1)
    expect(outputs).toEqual([
      [1, 2],
      [10, 3],
    ])
    expect(undelivered).toEqual([])
  })

  test("that can no longer complete is reported with what it has and what is missing", async () => {
    const [a, b] = [plus("a", 1), never("b")]
    const result = await workflow("w").start(start).fanOut(start, [a, b]).fanIn([a, b], gather).build().run(1)
    expect(result).toMatchObject({ status: "completed", outputs: [] })
    expect(result.undelivered).toHaveLength(1)
    expect(result.undelivered[0]).toMatchObject({ from: "a", to: "gather", value: 2 })
    expect(result.undelivered[0]?.reason).toMatch(/"gather" still waits for "b"/)
  })

  test("says what it waits for while it waits", async () => {
    const { a, b, c, fan } = three()
    const run = fan.fanIn([a, b, c], gather).build().stream(1)
    const missing: unknown[] = []
    const watched = (async () => {
      for await (const event of run) if (event.type === "join.waiting") missing.push(event.missing)
    })()
    for (const source of [b, a, c]) {
      await source.started()
      source.finish(source.id)
      await settled()
    }
    await watched
    expect(missing).toEqual([["a", "c"], ["c"]])
  })

  test("fails with the run when a source fails", async () => {
    const [a, b] = [plus("a", 1), fails("b")]
    const { status, error } = await workflow("w")
      .start(start)
      .fanOut(start, [a, b])
      .fanIn([a, b], gather)
      .build()
      .run(1).result
    expect(status).toBe("failed")
    expect(error).toMatchObject({ node: "b" })
  })
})

describe("any", () => {
  test("fires with the first message; those of the others are late and reported", async () => {
    const { a, b, c, fan } = three()
    const run = fan.fanIn([a, b, c], gather, { join: any() }).build().run(1)
    for (const source of [b, c, a]) {
      await source.started()
      source.finish(source.id)
      await settled()
    }
    const { outputs, undelivered } = await run
    expect(outputs).toEqual([["b"]])
    expect(undelivered).toEqual([
      { from: "c", to: "gather", reason: "it came after the join had fired", value: "c" },
      { from: "a", to: "gather", reason: "it came after the join had fired", value: "a" },
    ])
  })

  test("within one superstep takes that of the first task, however they finished", async () => {
    const [a, b] = [controlled<number, string>("a"), controlled<number, string>("b")]
    const run = workflow("w")
      .start(start)
      .fanOut(start, [a, b])
      .fanIn([a, b], gather, { join: any() })
      .build()
      .run(1)
    await b.started()
    b.finish("b")
    await settled()
    a.finish("a")
    expect((await run).outputs).toEqual([["a"]])
  })

  test("fires again for the next message of every source", async () => {
    const add = node("add", (n: number) => n + 1)
    const [a, b] = [plus("a", 0), plus("b", 0)]
    const built = workflow("w")
      .start(add)
      .fanOut(add, [a, b])
      .fanIn([a, b], gather, { join: any() })
      .edge(a, add, { when: (n) => n < 2 })
      .build()
    expect((await built.run(0)).outputs).toEqual([[1], [2]])
  })
})

describe("quorum", () => {
  test("fires when so many have sent, with their messages in the declared order", async () => {
    const { a, b, c, fan } = three()
    const run = fan
      .fanIn([a, b, c], gather, { join: quorum(2) })
      .build()
      .run(1)
    for (const source of [c, a, b]) {
      await source.started()
      source.finish(source.id)
      await settled()
    }
    const { outputs, undelivered } = await run
    expect(outputs).toEqual([["a", "c"]])
    expect(undelivered).toMatchObject([{ from: "b", value: "b" }])
  })

  test("that cannot be reached any more is reported", async () => {
    const [a, b, c] = [plus("a", 1), never("b"), never("c")]
    const { outputs, undelivered } = await workflow("w")
      .start(start)
      .fanOut(start, [a, b, c])
      .fanIn([a, b, c], gather, { join: quorum(2) })
      .build()
      .run(1)
    expect(outputs).toEqual([])
    expect(undelivered[0]?.reason).toMatch(/"b", "c"/)
  })
})

describe("settle", () => {
  const settling = (...sources: ReturnType<typeof plus>[]) =>
    workflow("w").start(start).fanOut(start, sources).fanIn(sources, gather, { join: settle() }).build()

  test("wraps every value, and takes a failure of a source as one", async () => {
    const { status, outputs } = await settling(plus("a", 1), fails("b")).run(1)
    expect(status).toBe("completed")
    expect(outputs).toEqual([
      [
        { ok: true, value: 2 },
        { ok: false, error: expect.objectContaining({ node: "b", attempt: 1, message: "b broke" }) },
      ],
    ])
  })

  test("takes a source that can no longer send as a failure that says so", async () => {
    const { outputs } = await settling(plus("a", 1), never("b")).run(1)
    expect(outputs).toEqual([
      [
        { ok: true, value: 2 },
        { ok: false, error: expect.objectContaining({ code: "NOT_SENT", node: "b" }) },
      ],
    ])
  })

  test("fires when all have failed", async () => {
    const { outputs } = await settling(fails("a"), fails("b")).run(1)
    expect(outputs).toEqual([
      [expect.objectContaining({ ok: false }), expect.objectContaining({ ok: false })],
    ])
  })

  test("does not fire at all when no source has sent", async () => {
    expect((await settling(never("a"), never("b")).run(1)).outputs).toEqual([])
  })

  test("takes a failure only after the retries are used up", async () => {
    let tries = 0
    const flaky = node({
      id: "flaky",
      retry: { attempts: 2, delay: 0 },
      run: (n: number) => {
        if (++tries === 1) throw new Error("once")
        return n
      },
    })
    expect((await settling(flaky, plus("b", 1)).run(1)).outputs).toEqual([
      [
        { ok: true, value: 1 },
        { ok: true, value: 2 },
      ],
    ])
  })

  test("waits for a source that is parked", async () => {
    const asks = node("asks", async (_: number, ctx: Context): Promise<number> => ctx.ask("how many?"))
    const run = settling(plus("a", 1), asks).run(1)
    expect(await run).toMatchObject({ status: "waiting", outputs: [] })
    await run.respond("r1", 9)
    expect((await run).outputs).toEqual([
      [
        { ok: true, value: 2 },
        { ok: true, value: 9 },
      ],
    ])
  })
})

describe("a join with a timeout", () => {
  test("fails the run when the time from its first message is up, and names who did not send", async () => {
    const clock = manualClock()
    const { a, b, c, fan } = three()
    const run = fan.fanIn([a, b, c], gather, { timeout: 1_000 }).build().run(1, { clock })
    await b.started()
    await clock.advance(5_000)
    b.finish("b")
    await clock.advance(999)
    expect(b.atWork).toHaveLength(0)
    expect(a.atWork).toHaveLength(1)
    await clock.advance(1)
    const { status, error } = await run.result
    expect(status).toBe("failed")
    expect(error?.code).toBe("JOIN_TIMEOUT")
    expect(error?.message).toMatch(/"gather".*1000 ms.*"a", "c"/)
  })

  test("fires with what is there when it settles; what comes later is late", async () => {
    const clock = manualClock()
    const { a, b, c, fan } = three()
    const run = fan.fanIn([a, b, c], gather, { join: settle(), timeout: 1_000 }).build().run(1, { clock })
    await b.started()
    b.finish("b")
    await clock.advance(1_000)
    a.finish("a")
    c.finish("c")
    const { outputs, undelivered } = await run
    expect(outputs).toEqual([
      [
        expect.objectContaining({ ok: false }),
        { ok: true, value: "b" },
        expect.objectContaining({ ok: false }),
      ],
    ])
    expect(undelivered.map(({ from }) => from)).toEqual(["a", "c"])
  })

  test("keeps no timer once it has fired", async () => {
    const clock = manualClock()
    const { a, b, c, fan } = three()
    const run = fan
      .fanIn([a, b, c], gather, { join: quorum(2), timeout: 1_000 })
      .build()
      .run(1, { clock })
    await a.started()
    a.finish("a")
    await settled()
    expect(clock.pending).toBe(1)
    b.finish("b")
    await settled()
    expect(clock.pending).toBe(0)
    c.finish("c")
    expect((await run).status).toBe("completed")
  })

  test("waits for its time also when nothing else can happen, then tells", async () => {
    const clock = manualClock()
    const [a, b] = [plus("a", 1), never("b")]
    const built = workflow("w")
      .start(start)
      .fanOut(start, [a, b])
      .fanIn([a, b], gather, { timeout: 1_000 })
      .build()
    const events: RunEvent[] = []
    const run = built.stream(1, { clock })
    const watched = (async () => {
      for await (const event of run) events.push(event)
    })()
    await clock.advance(1_000)
    await watched
    expect(events.at(-1)).toMatchObject({ type: "run.finished", error: { code: "JOIN_TIMEOUT" } })
  })
})
