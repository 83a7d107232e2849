/** Waiting for signals in a handler, within one process. */
import { describe, expect, test } from "vitest"
import { z } from "zod"
import { type Context, memoryStore, node, type RunEvent, workflow } from "../../index.ts"
import { explore, manualClock, settled, simulate } from "../../testing/index.ts"

const waits = (...names: string[]) =>
  workflow("w")
    .start(
      node("wait", async (_: null, ctx: Context) => {
        const values: unknown[] = []
        for (const name of names) values.push(await ctx.waitFor(name))
        return values
      }),
    )
    .build()

describe("ctx.waitFor", () => {
  test("parks the task until the signal arrives, and the run says what it waits for", async () => {
    const run = waits("paid").run(null)
    const first = await run
    expect(first).toMatchObject({ status: "waiting", requests: [] })
    expect(first.waits).toEqual([{ name: "paid", node: "wait", task: 1, frame: "" }])
    expect(await run.signal("paid", { usd: 5 })).toBe("taken")
    expect(await run).toMatchObject({ status: "completed", outputs: [[{ usd: 5 }]], waits: [] })
  })

  test("takes a signal that arrived before the wait; each wait takes one, in order", async () => {
    const run = waits("first", "go", "go").run(null)
    await run
    await run.signal("go", 1)
    await run.signal("go", 2)
    await run.signal("go", 3)
    await run.signal("first", 0)
    const result = await run
    expect(result.outputs).toEqual([[0, 1, 2]])
  })

  test("a signal without a value is null", async () => {
    const run = waits("go").run(null)
    await run
    await run.signal("go")
    expect((await run).outputs).toEqual([[null]])
  })

  test("a signal with a known id changes nothing, before the wait, after it, and after the end", async () => {
    const run = waits("go", "other", "go").run(null)
    await run
    for (let i = 0; i < 2; i++) expect(await run.signal("go", "once", { id: "a" })).toBe("taken")
    await run.signal("go", "changed", { id: "a" })
    await run.signal("other")
    expect((await run).waits).toMatchObject([{ name: "go" }])
    await run.signal("go", "last", { id: "b" })
    expect((await run).outputs).toEqual([["once", null, "last"]])
    expect(await run.signal("go", "late", { id: "b" })).toBe("taken")
    await expect(run.signal("go", "late", { id: "c" })).rejects.toMatchObject({ code: "RUN_OVER" })
  })

  test("open waits for a name are served first come, first served, in whatever workflow they are", async () => {
    const inner = workflow("inner")
      .start(
        node("inner", async (name: string, ctx: Context) => `${name} ${await ctx.waitFor<string>("go")}`),
      )
      .build()
    const outer = workflow("outer")
      .start(
        node("outer", async (_: null, ctx: Context) => {
          const below = ctx.call(inner, "below")
          await ctx.waitFor("begin")
          const own = ctx.waitFor<string>("go")
          return [(await below)[0], `own ${await own}`]
        }),
      )
      .build()
    const store = memoryStore()
    const run = outer.run(null, { store, runId: "r" })
    expect((await run).waits.map(({ name, node }) => [name, node])).toEqual([
      ["begin", "outer"],
      ["go", "inner"],
    ])
    await run.signal("begin")
    await run.signal("go", 1)
    await run.signal("go", 2)
    expect((await run).outputs).toEqual([["below 1", "own 2"]])
  })

  test("a task that ends without its wait takes no signal", async () => {
    const either = node("either", async (_: null, ctx: Context) =>
      Promise.race([ctx.waitFor("a"), ctx.waitFor("b")]),
    )
    const then = node("then", async (first: unknown, ctx: Context) => [first, await ctx.waitFor("b")])
    const run = workflow("w").start(either).edge(either, then).build().run(null)
    await run
    await run.signal("a", "A")
    await run
    await run.signal("b", "B")
    expect((await run).outputs).toEqual([["A", "B"]])
  })

  test("a retried attempt keeps the signals that its task took", async () => {
    const flaky = node({
      id: "flaky",
      retry: { attempts: 2, delay: 0 },
      run: async (_: null, ctx: Context) => {
        const value = await ctx.waitFor("go")
        if (ctx.attempt === 1) throw new Error("no")
        return value
      },
    })
    const run = workflow("w").start(flaky).build().run(null)
    await run
    await run.signal("go", 1)
    expect((await run).outputs).toEqual([1])
  })
})

describe("a wait with a timeout", () => {
  const timed = (fallback?: string) =>
    workflow("w")
      .start(
        node("wait", async (_: null, ctx: Context) =>
          ctx.waitFor("paid", { timeout: 1_000, ...(fallback === undefined ? {} : { default: fallback }) }),
        ),
      )
      .build()

  test("fails with SIGNAL_TIMEOUT", async () => {
    const clock = manualClock(0)
    const run = timed().run(null, { clock })
    expect((await run).waits).toMatchObject([{ deadline: 1_000 }])
    await clock.advance(1_000)
    await expect(run).rejects.toMatchObject({ code: "SIGNAL_TIMEOUT", node: "wait" })
  })

  test("or ends with its default", async () => {
    const clock = manualClock(0)
    const run = timed("nothing").run(null, { clock })
    await run
    await clock.advance(1_000)
    expect((await run).outputs).toEqual(["nothing"])
  })

  test("its timer ends with the signal", async () => {
    const clock = manualClock(0)
    const run = timed("nothing").run(null, { clock })
    await run
    await run.signal("paid", "yes")
    await clock.advance(2_000)
    expect((await run).outputs).toEqual(["yes"])
  })
})

describe("a wait with a schema", () => {
  const amount = z.object({ usd: z.coerce.number() })
  const checked = workflow("w")
    .start(
      node("wait", async (_: null, ctx: Context) => {
        await ctx.waitFor("begin")
        try {
          return (await ctx.waitFor("paid", { schema: amount })).usd
        } catch (error) {
          return (error as { code: string }).code
        }
      }),
    )
    .build()

  test("refuses a bad value at the sender while it is open, and parses a good one", async () => {
    const run = checked.run(null)
    await run
    await run.signal("begin")
    const { waits: open } = await run
    expect(open).toMatchObject([{ name: "paid", schema: { type: "object" } }])
    await expect(run.signal("paid", { usd: "?" }, { id: "a" })).rejects.toMatchObject({
      code: "SIGNAL_INVALID",
      message: expect.stringContaining("Nothing was recorded"),
    })
    await run.signal("paid", { usd: "7" }, { id: "a" })
    expect((await run).outputs).toEqual([7])
  })

  test("throws SIGNAL_INVALID for a bad value that was buffered", async () => {
    const run = checked.run(null)
    await run
    await run.signal("paid", { usd: "?" })
    await run.signal("begin")
    expect((await run).outputs).toEqual(["SIGNAL_INVALID"])
  })

  test("checks its own default", async () => {
    const bad = node("wait", async (_: null, ctx: Context) =>
      ctx.waitFor("paid", { schema: amount, timeout: 1, default: { usd: "?" } as never }),
    )
    await expect(workflow("w").start(bad).build().run(null)).rejects.toMatchObject({ code: "SIGNAL_INVALID" })
  })
})

describe("what is refused", () => {
  test("names, ids, options and timeouts that cannot be meant", async () => {
    const run = waits("go").run(null)
    await run
    await expect(run.signal("")).rejects.toMatchObject({ code: "SIGNAL_INVALID" })
    await expect(run.signal("x".repeat(201))).rejects.toMatchObject({ code: "SIGNAL_INVALID" })
    await expect(run.signal("go", 1, { id: "" })).rejects.toMatchObject({ code: "SIGNAL_INVALID" })
    await expect(run.signal("go", 1, { di: "a" } as never)).rejects.toMatchObject({ code: "OPTION_INVALID" })
    await expect(run.signal("go", () => 1)).rejects.toMatchObject({ code: "NOT_SERIALISABLE" })
    await expect(run.update("go", 1, { timeout: -1 })).rejects.toMatchObject({ code: "SPAN_INVALID" })
    for (const options of [{ timeout: -1 }, { schemas: 1 }]) {
      const wrong = node("wait", async (_: null, ctx: Context) => ctx.waitFor("go", options as never))
      const refused = workflow("w").start(wrong).build().run(null)
      await expect(refused).rejects.toMatchObject({ code: expect.stringMatching(/SPAN|OPTION/) })
    }
    await run.signal("go", 1)
    expect((await run).status).toBe("completed")
  })

  test("more signals, or more bytes, than a run buffers", async () => {
    const run = waits("go").run(null, { limits: { valueBytes: 100_000 } })
    await run
    await run.signal("other", "x".repeat(60_000))
    const full = { code: "SIGNALS_FULL", message: expect.stringContaining("100000 bytes") }
    await expect(run.signal("other", "x".repeat(60_000))).rejects.toMatchObject(full)
    for (let i = 1; i < 1_000; i++) await run.signal("other", i)
    await expect(run.signal("other", 1_000)).rejects.toMatchObject({ code: "SIGNALS_FULL" })
    // A signal that a wait takes is not buffered.
    await run.signal("go", "gone")
    expect((await run).outputs).toEqual([["gone"]])
  })
})

describe("an update", () => {
  const counter = workflow("counter")
    .start(
      node("count", async (_: null, ctx: Context) => {
        let sum = 0
        for (;;) {
          const update = await ctx.waitForUpdate("add", { schema: z.number() })
          sum += update.value
          await update.reply(sum)
          if (sum >= 10) return sum
        }
      }),
    )
    .build()

  test("gets the reply of the handler, and the same one again under the same id", async () => {
    const run = counter.run(null)
    await run
    expect(await run.update("add", 3, { id: "a" })).toBe(3)
    expect(await run.update("add", 4)).toBe(7)
    expect(await run.update("add", 3, { id: "a" })).toBe(3)
    expect(await run.update("add", 5, { id: "z" })).toBe(12)
    expect((await run).outputs).toEqual([12])
    expect(await run.update("add", 5, { id: "z" })).toBe(12)
    await expect(run.update("add", 5)).rejects.toMatchObject({ code: "RUN_OVER" })
  })

  test("that nobody replies to fails in time, or with the end of the run", async () => {
    const clock = manualClock(0)
    const run = waits("other", "end").run(null, { clock })
    await run
    const unanswered = run.update("other", 1, { id: "u", timeout: 500 })
    const refused = expect(unanswered).rejects.toMatchObject({ code: "UPDATE_TIMEOUT" })
    await settled()
    await clock.advance(500)
    await refused
    const last = expect(run.update("other", 1, { id: "u" })).rejects.toMatchObject({ code: "RUN_OVER" })
    await run.signal("end")
    await last
  })

  test("is replied to once, whatever happens to the processes", async () => {
    const signals = [3, 4, 5].map((value) => ({ name: "add", value }))
    const { outcome } = await explore(counter, null, { signals, runs: 60 })
    expect(outcome).toMatchObject({ status: "completed", outputs: [12] })
  })
})

describe("what is recorded", () => {
  test("watchers see the signal arrive, and who took it", async () => {
    const run = waits("go").stream(null)
    const events: RunEvent[] = []
    const watching = (async () => {
      for await (const event of run) events.push(event)
    })()
    await settled()
    await run.signal("go", 1, { id: "a" })
    await watching
    expect(events.filter(({ type }) => /signal|task.parked/.test(type))).toMatchObject([
      { type: "task.parked", wait: { kind: "signal", name: "go", order: 1 } },
      { type: "signal.received", id: "a", name: "go", value: 1 },
      { type: "signal.taken", id: "a", name: "go", task: 1, node: "wait" },
    ])
  })

  test("a signal for an open wait is one write: received and taken", async () => {
    const store = memoryStore()
    const run = waits("go").run(null, { store, runId: "r" })
    await run
    const before = (await store.run("r"))?.seq
    await run.signal("go", 1, { id: "a" })
    const [received, taken] = await store.read("r", before as number)
    expect(received?.entry).toMatchObject({ type: "signal.received", id: "a", name: "go", value: 1 })
    expect(taken?.entry).toMatchObject({ type: "signal.taken", id: "a", task: 1 })
    expect(taken?.entry).not.toHaveProperty("value")
  })

  test("a thousand signals are linear: two records each, and no more", async () => {
    const store = memoryStore()
    const many = waits(...Array.from({ length: 1_000 }, () => "go"))
    const run = many.run(null, { store, runId: "r" })
    await run
    for (let i = 0; i < 1_000; i++) await run.signal("go", i)
    expect((await run).outputs).toEqual([Array.from({ length: 1_000 }, (_, i) => i)])
    expect((await store.run("r"))?.seq).toBe(1 + 3 * 1_000 + 1)
  })
})

test("crashes and retries: every accepted signal is taken once, in order", async () => {
  const gather = node({
    id: "gather",
    retry: { attempts: 3 },
    run: async (n: number, ctx: Context) => {
      const first = await ctx.waitFor("a")
      const second = await ctx.step("think", () => n)
      return [first, second, await ctx.waitFor("b", { timeout: 1_000, default: "none" })]
    },
  })
  const below = workflow("below").start(gather).build()
  const both = workflow("both")
    .start(
      node("both", async (_: null, ctx: Context) => {
        const [one] = await ctx.call(below, 1)
        const [other] = await ctx.call(below, 2)
        return [one, other, await ctx.waitFor("a")]
      }),
    )
    .build()
  const signals = ["a", "b", "a", "b", "a"].map((name, value) => ({ name, value }))
  for (let seed = 1; seed <= 16; seed++) {
    const faults = { crash: 4, takeOver: 0.3, fail: 0.2, duplicateTimers: 0.2 }
    const { result, journal } = await simulate(both, null, { seed, signals, faults })
    const received = journal.filter(({ entry }) => entry.type === "signal.received")
    expect(received.length, `seed ${seed}`).toBe(5)
    const taken = journal.flatMap(({ entry, frame }) =>
      entry.type === "signal.taken" && (frame !== "" || entry.task !== undefined) ? [entry.id] : [],
    )
    expect(new Set(taken).size, `seed ${seed}`).toBe(taken.length)
    const [one, other, last] = result.outputs[0] as [unknown[], unknown[], unknown]
    expect([one[0], other[0], last], `seed ${seed}`).toEqual([0, 2, 4])
  }
})
