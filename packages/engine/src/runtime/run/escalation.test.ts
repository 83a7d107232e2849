import { describe, expect, test } from "vitest"
import { z } from "zod"
import { type Context, memoryStore, node, type RunEvent, settle, workflow } from "../../index.ts"
import { manualClock } from "../../testing/index.ts"
import { asked, asking, asks, requesting, requests, stages, start } from "./escalation.test-support.ts"

describe.each([
  ["ask", asking],
  ["request", requesting],
])("a question of ctx.%s that nobody answers in time", (_, make) => {
  test("continues to the next one, who has the time that is theirs", async () => {
    const clock = manualClock(1_000)
    const run = make().run(1, { clock })
    expect(asked((await run).requests)).toEqual([["ann", 1_100]])
    await clock.advance(99)
    expect(asked((await run).requests)).toEqual([["ann", 1_100]])
    await clock.advance(1)
    expect(asked((await run).requests)).toEqual([["bob", 1_300]])
    await clock.advance(199)
    expect(asked((await run).requests)).toEqual([["bob", 1_300]])
    await clock.advance(1)
    expect(asked((await run).requests)).toEqual([["eve", 1_600]])
  })

  test("stays one question: the same id, open since the same time, asked once", async () => {
    const clock = manualClock(1_000)
    const run = make({ data: { why: "so" } }).run(1, { clock })
    const [first] = (await run).requests
    await clock.advance(300)
    const { requests: open } = await run
    expect(open).toEqual([{ ...first, to: "eve", deadline: 1_600, escalate: [] }])
    expect(open[0]).toMatchObject({ id: "r1", openedAt: 1_000, prompt: "Go?", data: { why: "so" } })
  })

  test("is over with the first answer, whoever gives it: nobody else is asked, and no timer is left", async () => {
    for (const [later, by] of [
      [0, "ann"],
      [100, "bob"],
      [100, "ann, late"],
      [599, "eve"],
    ] as const) {
      const clock = manualClock(1_000)
      const run = make().run(1, { clock })
      await clock.advance(later)
      await run.respond("r1", "yes", { by })
      expect(await run).toMatchObject({ status: "completed", requests: [] })
      expect(clock.pending).toBe(0)
    }
  })

  test("takes its default after the last of them, and not before", async () => {
    const clock = manualClock(1_000)
    const run = make({ default: "no" }).run(1, { clock })
    await clock.advance(599)
    expect(asked((await run).requests)).toEqual([["eve", 1_600]])
    await clock.advance(1)
    const { status, outputs } = await run
    expect(status).toBe("completed")
    expect(outputs).toEqual([make === asking ? "no" : { answer: "no", to: "eve" }])
  })

  test("expires after the last of them where it has no default", async () => {
    const clock = manualClock(1_000)
    const run = make().run(1, { clock })
    await clock.advance(599)
    expect((await run).status).toBe("waiting")
    await clock.advance(1)
    expect(await run.result).toMatchObject({
      status: "failed",
      error: { code: "REQUEST_EXPIRED", message: expect.stringContaining('"Go?"') },
      requests: [],
    })
    await expect(run.respond("r1", "late")).rejects.toMatchObject({ code: "REQUEST_UNKNOWN" })
  })

  test("waits for as long as it takes for one who has no timeout", async () => {
    const clock = manualClock(1_000)
    const run = make({ escalate: [{ to: "bob", timeout: 0 }, { to: "eve" }], default: "never" }).run(1, {
      clock,
    })
    await clock.advance(100)
    expect(asked((await run).requests)).toEqual([["eve", undefined]])
    expect(clock.pending).toBe(0)
    await clock.advance(1_000_000)
    expect((await run).status).toBe("waiting")
    await run.respond("r1", "at last")
    expect((await run).status).toBe("completed")
  })

  test("may begin with nobody in particular", async () => {
    const clock = manualClock(1_000)
    const run = make({ to: undefined, escalate: [{ to: "bob" }] }).run(1, { clock })
    expect(asked((await run).requests)).toEqual([[undefined, 1_100]])
    await clock.advance(100)
    expect(asked((await run).requests)).toEqual([["bob", undefined]])
  })

  test("tells those who watch at every stage, and the run waits throughout", async () => {
    const clock = manualClock(1_000)
    const run = make().stream(1, { clock })
    const events: RunEvent[] = []
    const reading = (async () => {
      for await (const event of run) events.push(event)
    })()
    await clock.advance(300)
    await run.respond("r1", "yes", { by: "eve" })
    await reading
    const reported = events.flatMap((event) => {
      if (event.type === "run.waiting" || event.type === "run.resumed") return [event.type]
      if (event.type === "request.answered") return [`${event.type} by ${event.by} at ${event.at}`]
      if (event.type !== "request.opened" && event.type !== "request.escalated") return []
      const { to, deadline, escalate } = event.request
      return [
        `${event.type} ${to} until ${deadline}, then ${escalate?.map((next) => next.to)} at ${event.at}`,
      ]
    })
    expect(reported).toEqual([
      "request.opened ann until 1100, then bob,eve at 1000",
      "run.waiting",
      "request.escalated bob until 1300, then eve at 1100",
      "request.escalated eve until 1600, then  at 1300",
      "request.answered by eve at 1300",
      "run.resumed",
    ])
  })

  test("gives each one their full time, also when the clock jumped over all of it", async () => {
    const clock = manualClock(1_000)
    const run = make().run(1, { clock })
    await run
    clock.set(50_000)
    await clock.advance(0)
    expect(asked((await run).requests)).toEqual([["bob", 50_200]])
    await clock.advance(200)
    expect(asked((await run).requests)).toEqual([["eve", 50_500]])
  })

  test("is withdrawn at any stage when the run is cancelled", async () => {
    const clock = manualClock(1_000)
    const store = memoryStore()
    const run = make().run(1, { clock, store, runId: "r" })
    await clock.advance(100)
    run.cancel()
    expect(await run.result).toMatchObject({ status: "cancelled", requests: [] })
    expect(clock.pending).toBe(0)
    expect(await store.requests({ outcome: ["withdrawn"] })).toMatchObject([{ to: "bob", closedAt: 1_100 }])
  })
})

describe("ctx.ask", () => {
  test("gives the answer as its schema reads it, at any stage", async () => {
    const clock = manualClock()
    const run = asking({ schema: z.string().trim() }).run(1, { clock })
    await clock.advance(100)
    await expect(run.respond("r1", 5)).rejects.toMatchObject({ code: "REQUEST_INVALID" })
    await run.respond("r1", " yes ")
    expect((await run).outputs).toEqual(["yes"])
  })

  test("that expires is an error to the handler, which may catch it; the node's retries do not ask again", async () => {
    const clock = manualClock()
    let runs = 0
    const catches = node("catches", async (_: number, ctx: Context) => {
      try {
        return await ctx.ask(stages)
      } catch (error) {
        return (error as { code: string }).code
      }
    })
    const fails = node({
      id: "fails",
      retry: { attempts: 3, delay: 0 },
      run: (_: number, ctx: Context) => {
        runs++
        return ctx.ask(stages)
      },
    })
    const run = workflow("w").start(start).fanOut(start, [catches, fails]).build().run(1, { clock })
    await clock.advance(600)
    expect(await run.result).toMatchObject({
      status: "failed",
      error: { code: "REQUEST_EXPIRED", node: "fails" },
    })
    expect((await run.result).outputs).toEqual(["REQUEST_EXPIRED"])
    expect(runs).toBe(1)
  })

  test("that expires takes the node's error edge with what the node was given", async () => {
    const clock = manualClock()
    const failing = asks()
    const rescue = node("rescue", (failure: unknown) => failure)
    const run = workflow("w").chain(start, failing).onError(failing, rescue).build().run(7, { clock })
    await clock.advance(600)
    expect((await run).outputs).toMatchObject([
      { node: "asks", error: { code: "REQUEST_EXPIRED" }, input: 7 },
    ])
  })

  test("escalates each of several questions by itself", async () => {
    const clock = manualClock(1_000)
    const both = node("both", (_: number, ctx: Context) =>
      Promise.all([
        ctx.ask({ ...stages, default: "none" }),
        ctx.ask({ ...stages, timeout: 150, to: "carl" }),
      ]),
    )
    const run = workflow("w").start(both).build().run(1, { clock })
    await clock.advance(100)
    expect(asked((await run).requests)).toEqual([
      ["bob", 1_300],
      ["carl", 1_150],
    ])
    await clock.advance(50)
    await run.respond("r2", "second")
    expect(asked((await run).requests)).toEqual([["bob", 1_300]])
    await clock.advance(450)
    expect((await run).outputs).toEqual([["none", "second"]])
  })
})

describe("ctx.request", () => {
  test("gives the answer to onAnswer, with the question as it was when it was answered", async () => {
    const clock = manualClock(1_000)
    const run = requesting().run(1, { clock })
    await clock.advance(100)
    await run.respond("r1", "yes")
    expect((await run).outputs).toEqual([{ answer: "yes", to: "bob" }])
  })

  test("that expires goes along the node's error edge, with the question's data", async () => {
    const clock = manualClock(1_000)
    const asker = requests()
    const rescue = node("rescue", (failure: unknown) => failure)
    const run = workflow("w").chain(start, asker).onError(asker, rescue).build().run(7, { clock })
    await clock.advance(600)
    expect(await run).toMatchObject({
      status: "completed",
      outputs: [
        {
          node: "requests",
          error: { code: "REQUEST_EXPIRED", message: expect.stringContaining('"Go?"'), node: "requests" },
          input: { n: 7 },
        },
      ],
    })
  })

  test("that expires fails the run where there is no error edge, and says which node asked", async () => {
    const clock = manualClock(1_000)
    const run = requesting().run(1, { clock })
    await clock.advance(600)
    expect((await run.result).error).toMatchObject({ code: "REQUEST_EXPIRED", node: "requests" })
  })

  test("that expires goes to the joins that settle", async () => {
    for (const schedule of ["superstep", "flow"] as const) {
      const clock = manualClock(1_000)
      const [asker, beside] = [requests(), node("beside", (n: number) => n)]
      const gather = node("gather", (all: readonly unknown[]) => all)
      const built = workflow("w", { schedule })
        .start(start)
        .fanOut(start, [asker, beside])
        .fanIn([asker, beside], gather, { join: settle() })
        .build()
      const run = built.run(7, { clock })
      await clock.advance(600)
      expect(await run).toMatchObject({
        status: "completed",
        outputs: [
          [
            { ok: false, error: { code: "REQUEST_EXPIRED", node: "requests" } },
            { ok: true, value: 7 },
          ],
        ],
        undelivered: [],
      })
    }
  })

  test("that expires takes nothing from what else the run does", async () => {
    for (const schedule of ["superstep", "flow"] as const) {
      const clock = manualClock(1_000)
      const asker = requests()
      const rescue = node("rescue", ({ error }: { error: { code: string } }) => error.code)
      const sleeps = node("sleeps", async (n: number, ctx: Context) => {
        await ctx.sleep(1_000)
        return n
      })
      const built = workflow("w", { schedule })
        .start(start)
        .fanOut(start, [asker, sleeps, asks({ timeout: 5_000 })])
        .onError(asker, rescue)
        .build()
      const run = built.run(7, { clock })
      await clock.advance(600)
      expect(asked((await run).requests)).toEqual([["ann", 6_000]])
      await clock.advance(400)
      await run.respond((await run).requests[0]?.id as string, "meanwhile")
      expect((await run).outputs.toSorted()).toEqual([7, "REQUEST_EXPIRED", "meanwhile"])
    }
  })

  test("escalates each of several questions of one task by itself", async () => {
    const clock = manualClock(1_000)
    const several = node({
      id: "several",
      run: (_: number, ctx: Context) => {
        for (const [i, to] of ["ann", "carl"].entries()) {
          ctx.request({ prompt: `${to}?`, to, timeout: 100 + i * 50, escalate: [{ to: "bob" }] })
        }
      },
      onAnswer: (answer: string) => answer,
    })
    const run = workflow("w").start(several).build().run(1, { clock })
    await clock.advance(100)
    expect((await run).requests).toMatchObject([
      { id: "r1", to: "bob", deadline: undefined },
      { id: "r2", to: "carl", deadline: 1_150 },
    ])
    await clock.advance(50)
    await run.respond("r2", "two")
    await run.respond("r1", "one")
    expect((await run).outputs).toEqual(["two", "one"])
  })
})

describe("a question that makes no sense", () => {
  const bad: [string, object, string, RegExp][] = [
    [
      "escalates without a timeout",
      { timeout: undefined },
      "REQUEST_INVALID",
      /"Go\?" cannot escalate.*needs a timeout/,
    ],
    ["has a negative timeout", { timeout: -1 }, "SPAN_INVALID", /"Go\?".*not -1/],
    ["has a timeout that is no number", { timeout: Number.NaN }, "SPAN_INVALID", /"Go\?".*not NaN/],
    [
      "has a timeout without end",
      { timeout: Number.POSITIVE_INFINITY },
      "SPAN_INVALID",
      /"Go\?".*not Infinity/,
    ],
    [
      "has a negative timeout further on",
      {
        escalate: [
          { to: "bob", timeout: 1 },
          { to: "eve", timeout: -5 },
        ],
      },
      "SPAN_INVALID",
      /"Go\?".*not -5/,
    ],
    [
      "has a timeout further on that is no number",
      { escalate: [{ to: "bob", timeout: Number.NaN }] },
      "SPAN_INVALID",
      /"Go\?".*not NaN/,
    ],
    [
      "would never get past one of them",
      { escalate: [{ to: "bob" }, { to: "eve", timeout: 5 }] },
      "REQUEST_INVALID",
      /"bob" needs a timeout/,
    ],
    ["escalates to a string", { escalate: "boss" }, "REQUEST_INVALID", /list of \{ to, timeout \}/],
    [
      "escalates to nobody",
      { escalate: [{ timeout: 5 }] },
      "REQUEST_INVALID",
      /non-empty string.*not undefined/,
    ],
    ["escalates to nothing", { escalate: [null] }, "REQUEST_INVALID", /non-empty string.*not undefined/],
    ["escalates to a number", { escalate: [{ to: 5 }] }, "REQUEST_INVALID", /non-empty string.*not 5/],
    ["is for a number", { to: 5 }, "REQUEST_INVALID", /non-empty string.*not 5/],
    ["is for nobody's name", { to: "" }, "REQUEST_INVALID", /non-empty string.*not ""/],
  ]

  test.each(bad)("is refused when it %s", async (_, question, code, reason) => {
    for (const make of [asking, requesting]) {
      const store = memoryStore()
      const { status, error } = await make(question).run(1, { store, runId: "r" }).result
      expect({ status, code: error?.code }).toEqual({ status: "failed", code })
      expect(error?.message).toMatch(reason)
      expect(await store.requests({ outcome: ["open", "answered", "expired", "withdrawn"] })).toEqual([])
    }
  })

  test("is not tried again, and the handler may catch it", async () => {
    let runs = 0
    const tries = node({
      id: "tries",
      retry: { attempts: 3, delay: 0 },
      run: (_: number, ctx: Context) => {
        runs++
        return ctx.ask({ ...stages, timeout: -1 })
      },
    })
    expect((await workflow("w").start(tries).build().run(1).result).status).toBe("failed")
    expect(runs).toBe(1)
    const catches = node("catches", (_: number, ctx: Context) =>
      ctx.ask({ ...stages, timeout: -1 }).catch((error: { code: string }) => error.code),
    )
    expect((await workflow("w").start(catches).build().run(1)).outputs).toEqual(["SPAN_INVALID"])
  })
})

describe("a question that escalates", () => {
  test("to a list of nobody is like any other", async () => {
    for (const make of [asking, requesting]) {
      const [open] = (await make({ timeout: undefined, escalate: [] }).run(1)).requests
      expect(open).toMatchObject({ to: "ann" })
      expect(open).not.toHaveProperty("escalate")
    }
  })

  test("is kept with what is known of stages, and nothing else that was given", async () => {
    for (const make of [asking, requesting]) {
      const escalate = [{ to: "bob", timeout: 200, call: () => "bob" }]
      const [open] = (await make({ escalate }).run(1)).requests
      expect(open?.escalate).toEqual([{ to: "bob", timeout: 200 }])
    }
  })
})

describe("a question that somebody passes on", () => {
  test("is the other one's, with a note; its deadline and who is asked after that stay", async () => {
    const clock = manualClock(1_000)
    const store = memoryStore()
    const run = asking().run(1, { clock, store, runId: "r" })
    const [first] = (await run).requests
    expect(await run.escalate("r1", { to: "max", note: "Ask him.", by: "ann" })).toBe("taken")
    const passed = { ...first, to: "max", note: "Ask him.", escalatedBy: "ann" }
    expect((await run).requests).toEqual([passed])
    expect(await store.requests({})).toMatchObject([
      { id: "r1", to: "max", note: "Ask him.", outcome: "open" },
    ])
    await clock.advance(100)
    expect(asked((await run).requests)).toEqual([["bob", 1_300]])
    await run.respond("r1", "yes", { by: "max" })
    expect((await run).status).toBe("completed")
    const entries = (await store.read("r", 0)).map(({ entry }) => entry.type)
    expect(entries).toContain("request.escalated")
    await expect(run.escalate("r1", { to: "eve" })).rejects.toMatchObject({ code: "REQUEST_ANSWERED" })
  })

  test("needs somebody to pass it to, and has to be open", async () => {
    const run = asking().run(1, { clock: manualClock() })
    await run
    for (const bad of [{}, { to: "" }, { to: 1 }, { to: "a", extra: 1 }, null]) {
      await expect(run.escalate("r1", bad as never)).rejects.toMatchObject({ code: "OPTION_INVALID" })
    }
    await expect(run.escalate("r9", { to: "max" })).rejects.toMatchObject({ code: "REQUEST_UNKNOWN" })
  })
})
