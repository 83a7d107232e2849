import { describe, expect, test } from "vitest"
import { type Context, memoryStore, node, type RunEvent, workflow } from "../../index.ts"
import { controlled, manualClock, settled } from "../../testing/index.ts"

const start = node("start", (n: number) => n)

describe("sleep", () => {
  test("waits so long by the clock, while others continue", async () => {
    const clock = manualClock()
    const sleeps = node("sleeps", async (n: number, ctx: Context) => {
      await ctx.sleep(1_000)
      return `slept ${n}`
    })
    const quick = node("quick", (n: number) => `quick ${n}`)
    const run = workflow("w").start(start).fanOut(start, [sleeps, quick]).build().run(1, { clock })
    await clock.advance(999)
    expect(clock.pending).toBe(1)
    await clock.advance(1)
    expect((await run).outputs).toEqual(["quick 1", "slept 1"])
  })

  test("is no waiting for a person: the run is not given back until it is over", async () => {
    const clock = manualClock()
    const sleeps = node("sleeps", async (_: number, ctx: Context) => ctx.sleep(1_000))
    const run = workflow("w").start(sleeps).build().run(1, { clock })
    let over = false
    void run.result.then(() => {
      over = true
    })
    await clock.advance(500)
    expect(over).toBe(false)
    await clock.advance(500)
    expect((await run).status).toBe("completed")
  })

  test("may be done several times, also at once", async () => {
    const clock = manualClock()
    const woke: number[] = []
    const sleeps = node("sleeps", async (_: number, ctx: Context) => {
      await Promise.all([30, 10, 20].map((ms) => ctx.sleep(ms).then(() => woke.push(clock.now()))))
      await ctx.sleep(5)
      woke.push(clock.now())
    })
    const run = workflow("w").start(sleeps).build().run(1, { clock })
    await clock.advance(100)
    await run
    expect(woke).toEqual([10, 20, 30, 35])
  })

  test("of 0 continues at once", async () => {
    const clock = manualClock()
    const sleeps = node("sleeps", async (n: number, ctx: Context) => {
      await ctx.sleep(0)
      return n
    })
    const run = workflow("w").start(sleeps).build().run(1, { clock })
    await clock.advance(0)
    expect((await run).outputs).toEqual([1])
  })

  test("continues after a resume until the time it was to end, not from the beginning", async () => {
    const clock = manualClock()
    const store = memoryStore()
    const sleeps = node("sleeps", async (n: number, ctx: Context) => {
      await ctx.sleep(1_000)
      return n
    })
    const built = workflow("w").start(sleeps).build()
    built.run(1, { clock, store, runId: "r" })
    await clock.advance(400)
    const other = manualClock(clock.now())
    const again = built.resume("r", { takeOver: true, clock: other, store })
    await other.advance(599)
    expect(other.pending).toBe(1)
    await other.advance(1)
    expect((await again).outputs).toEqual([1])
  })

  test("that is over when the run is resumed ends at once", async () => {
    const clock = manualClock()
    const store = memoryStore()
    const sleeps = node("sleeps", async (n: number, ctx: Context) => {
      await ctx.sleep(1_000)
      return n
    })
    const built = workflow("w").start(sleeps).build()
    built.run(1, { clock, store, runId: "r" })
    await settled()
    const other = manualClock(1_000_000)
    const again = built.resume("r", { takeOver: true, clock: other, store })
    await other.advance(0)
    expect((await again).outputs).toEqual([1])
  })
})

describe("step", () => {
  test("runs its function, and gives its result", async () => {
    const steps = node("steps", async (n: number, ctx: Context) => [
      await ctx.step("plain", () => n),
      await ctx.step("later", async () => ({ deep: [n] })),
    ])
    expect((await workflow("w").start(steps).build().run(1)).outputs).toEqual([[1, { deep: [1] }]])
  })

  test("does not run again in a later attempt: the record answers", async () => {
    let ran = 0
    const flaky = node({
      id: "flaky",
      retry: { attempts: 3, delay: 0 },
      run: async (_: number, ctx: Context) => {
        const value = await ctx.step("once", () => ++ran)
        if (ctx.attempt < 3) throw new Error("again")
        return [value, ctx.attempt]
      },
    })
    expect((await workflow("w").start(flaky).build().run(1)).outputs).toEqual([[1, 3]])
    expect(ran).toBe(1)
  })

  test("that failed is not on record: a later attempt runs it again", async () => {
    let ran = 0
    const flaky = node({
      id: "flaky",
      retry: { attempts: 2, delay: 0 },
      run: (_: number, ctx: Context) =>
        ctx.step("fails", () => {
          if (++ran === 1) throw new Error("first time")
          return ran
        }),
    })
    expect((await workflow("w").start(flaky).build().run(1)).outputs).toEqual([2])
  })

  test("does not run again after a resume", async () => {
    const store = memoryStore()
    let ran = 0
    const steps = node("steps", async (_: number, ctx: Context) => {
      const value = await ctx.step("once", () => ++ran)
      return [value, await ctx.ask("continue?")]
    })
    const built = workflow("w").start(steps).build()
    await built.run(1, { store, runId: "r" })
    const again = built.resume("r", { takeOver: true, store })
    await again
    await again.respond("r1", "yes")
    expect((await again).outputs).toEqual([[1, "yes"]])
    expect(ran).toBe(1)
  })

  test("of one name used several times is distinguished by the order of the calls", async () => {
    let ran = 0
    const flaky = node({
      id: "flaky",
      retry: { attempts: 2, delay: 0 },
      run: async (_: number, ctx: Context) => {
        const values: number[] = []
        for (let i = 0; i < 3; i++) values.push(await ctx.step("same", () => ++ran))
        if (ctx.attempt === 1) throw new Error("again")
        return values
      },
    })
    expect((await workflow("w").start(flaky).build().run(1)).outputs).toEqual([[1, 2, 3]])
    expect(ran).toBe(3)
  })

  test.each(["s#2", "s:2", "step:s", "", "__proto__", "a/b"])("of any name is its own: %j", async (name) => {
    const steps = node("steps", async (_: number, ctx: Context) => [
      await ctx.step("s", () => 1),
      await ctx.step("s", () => 2),
      await ctx.step(name, () => 3),
    ])
    expect((await workflow("w").start(steps).build().run(1)).outputs).toEqual([[1, 2, 3]])
  })

  test("that gives nothing gives the same from the record", async () => {
    const seen: unknown[] = []
    const flaky = node({
      id: "flaky",
      retry: { attempts: 2, delay: 0 },
      run: async (_: number, ctx: Context) => {
        seen.push(await ctx.step("nothing", () => undefined))
        if (ctx.attempt === 1) throw new Error("again")
      },
    })
    await workflow("w").start(flaky).build().run(1)
    expect(seen[1]).toBe(seen[0])
  })

  test("tells those who watch", async () => {
    const steps = node("steps", async (_: number, ctx: Context) => ctx.step("named", () => 5))
    const events: RunEvent[] = []
    for await (const event of workflow("w").start(steps).build().stream(1)) events.push(event)
    expect(events).toContainEqual(
      expect.objectContaining({
        type: "step.recorded",
        node: "steps",
        key: expect.stringContaining("named"),
        value: 5,
      }),
    )
  })

  test("keys that something must not happen twice under stay the same over attempts and resumes", async () => {
    const store = memoryStore()
    const keys: string[] = []
    const flaky = node({
      id: "flaky",
      retry: { attempts: 2, delay: 0 },
      run: async (_: number, ctx: Context) => {
        keys.push(ctx.idempotencyKey)
        if (ctx.attempt === 1) throw new Error("again")
        return ctx.ask("?")
      },
    })
    const built = workflow("w")
      .start(start)
      .fanOut(start, [flaky, controlled<number, number>("other")])
      .build()
    const first = built.run(1, { store, runId: "r" })
    await settled()
    expect(keys).toHaveLength(2)
    const again = built.resume("r", { takeOver: true, store })
    await settled()
    expect(keys).toHaveLength(3)
    expect(new Set(keys).size).toBe(1)
    for (const run of [first, again]) run.cancel()
  })

  test("keys differ between tasks, runs, and sub-workflows", async () => {
    const keys: string[] = []
    const says = node("says", (n: number, ctx: Context) => {
      keys.push(ctx.idempotencyKey)
      return n
    })
    const inner = workflow("inner").start(says).build()
    const twice = node("twice", (n: number, ctx: Context) => {
      ctx.send(n)
      return n
    })
    const built = workflow("w")
      .start(twice)
      .fanOut(twice, [says, inner.asNode({ id: "one" }), inner.asNode({ id: "two" })])
      .build()
    await Promise.all([built.run(1), built.run(1)])
    expect(keys).toHaveLength(12)
    expect(new Set(keys).size).toBe(12)
  })
})

describe("a task that waits", () => {
  test("says so to those who watch, and when it continues", async () => {
    const asks = node("asks", async (_: number, ctx: Context) => ctx.ask("?"))
    const run = workflow("w").start(asks).build().stream(1)
    const types: string[] = []
    for await (const event of run) {
      types.push(event.type)
      if (event.type === "run.waiting") await run.respond("r1", 5)
    }
    expect(types.filter((type) => /^(task|run)\./.test(type))).toEqual([
      "run.started",
      "task.started",
      "task.parked",
      "run.waiting",
      "run.resumed",
      "task.resumed",
      "task.finished",
      "run.finished",
    ])
  })

  test("leaves its superstep: what others sent is delivered", async () => {
    const asks = node("asks", async (_: number, ctx: Context) => ctx.ask("?"))
    const other = node("other", (n: number) => n)
    const next = node("next", (n: number) => `next ${n}`)
    const run = workflow("w").start(start).fanOut(start, [asks, other]).edge(other, next).build().run(1)
    expect(await run).toMatchObject({ status: "waiting", outputs: ["next 1"] })
  })

  test("keeps its place at its node: the next message waits for it", async () => {
    const source = node("source", (_: number, ctx: Context) => {
      ctx.send("a")
      return "b"
    })
    const asks = node("asks", async (text: string, ctx: Context) => ctx.ask(text))
    const run = workflow("w").chain(source, asks).build().run(1)
    expect((await run).requests.map(({ prompt }) => prompt)).toEqual(["a"])
    await run.respond("r1", 1)
    expect((await run).requests.map(({ prompt }) => prompt)).toEqual(["b"])
    await run.respond("r2", 2)
    expect((await run).outputs).toEqual([1, 2])
  })

  test("that ends without its answer takes the question back", async () => {
    const go = controlled<number, number>("go")
    const hasty = node("hasty", async (_: number, ctx: Context) => {
      void ctx.ask("never mind")
      await ctx.step("work", () => 1)
      return "done"
    })
    const run = workflow("w").start(start).fanOut(start, [hasty, go]).build().run(1)
    await go.started()
    await settled()
    go.finish(1)
    expect(await run).toMatchObject({ status: "completed", requests: [] })
    await expect(run.respond("r1", 1)).rejects.toMatchObject({ code: "REQUEST_UNKNOWN" })
  })
})
