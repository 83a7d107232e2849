import { describe, expect, test } from "vitest"
import { z } from "zod"
import {
  add,
  append,
  type Context,
  channel,
  memoryStore,
  node,
  type Store,
  SuperstepError,
  workflow,
} from "../index.ts"
import { textStore } from "../runtime/journal/stores.test-support.ts"
import { controlled, manualClock, settled } from "../testing/index.ts"
import { fork, recordingOf, replay } from "./index.ts"
import { counting, record, start } from "./replays.test-support.ts"

describe("a replay against the same workflow", () => {
  test("is the same, and no step runs (R2)", async () => {
    const ran: string[] = []
    const built = workflow("w").chain(start, counting(ran)).build()
    const recording = await record(built, 4)
    const report = await replay(recording, built)
    expect(report).toEqual({
      same: true,
      runId: "r",
      workflow: "w",
      path: { before: ["start", "work"], after: ["start", "work"] },
      state: [],
      outputs: { before: [8], after: [8] },
      usage: {
        before: { modelCalls: 1, inputTokens: 10 },
        after: { modelCalls: 1, inputTokens: 10 },
        difference: {},
      },
      recordedModelCalls: 0,
      status: { before: "completed", after: "completed" },
    })
    expect(ran).toEqual(["model"])
  })

  test("returns recorded answers, awaited or not", async () => {
    const store = memoryStore()
    const asks = node({
      id: "asks",
      run: async (n: number, ctx) => {
        const yes = await ctx.ask({ prompt: "Well?", schema: z.boolean() })
        ctx.request(`And ${n}?`)
        ctx.request("And more?")
        return yes
      },
      onAnswer: (answer: string) => answer,
    })
    const built = workflow("w").start(asks).build()
    const run = built.run(1, { store, runId: "r" })
    await run
    await run.respond("r1", true)
    await run
    await run.respond("r3", "more")
    await run.respond("r2", "so")
    expect((await run).outputs).toEqual([true, "more", "so"])
    const report = await replay(await recordingOf(store, "r"), built)
    expect(report).toMatchObject({ same: true, outputs: { after: [true, "more", "so"] } })
  })

  test("does not wait for sleeps, retries and deadlines, and uses their recorded times (R4)", async () => {
    const store = memoryStore()
    const clock = manualClock(1_000)
    const patient = node({
      id: "patient",
      retry: { attempts: 2, delay: 60_000 },
      run: async (_: number, ctx: Context) => {
        await ctx.sleep(3_600_000)
        if (ctx.attempt === 1) throw new Error("not yet")
        return ctx.ask({ prompt: "Still there?", timeout: 86_400_000, default: "no" })
      },
    })
    const built = workflow("w").start(patient).build()
    const run = built.run(1, { store, runId: "r", clock })
    await clock.advance(10 * 86_400_000)
    expect((await run).outputs).toEqual(["no"])
    expect(await replay(await recordingOf(store, "r"), built)).toMatchObject({
      same: true,
      outputs: { after: ["no"] },
    })
  })

  test("of a flow schedule keeps the order in which tasks ended (R1)", async () => {
    const store = memoryStore()
    const log = channel("log", append<string>())
    const [a, b] = [controlled<number, string>("a"), controlled<number, string>("b")]
    const seen = node("seen", (text: string, ctx) => {
      ctx.state.write(log, [`${text} after ${ctx.state.get(log).length}`])
    })
    const built = (first: typeof a, second: typeof b) =>
      workflow("w", { schedule: "flow", state: [log] })
        .start(start)
        .fanOut(start, [first, second])
        .edge(first, seen)
        .edge(second, seen)
        .build()
    const run = built(a, b).run(1, { store, runId: "r" })
    await settled()
    b.finish("b")
    await settled()
    a.finish("a")
    expect((await run).state).toEqual({ log: ["b after 0", "a after 1"] })
    const [quickA, quickB] = ["a", "b"].map((id) => node(id, () => id))
    const quick = built(quickA as never, quickB as never)
    expect(await replay(await recordingOf(store, "r"), quick)).toMatchObject({ same: true })
  })

  test("waits for handlers that do real work", async () => {
    const slow = (id: string, turns: number) =>
      node(id, async () => {
        for (let i = 0; i < turns; i++) await settled()
        return id
      })
    const built = workflow("w", { schedule: "flow" })
      .start(start)
      .fanOut(start, [slow("a", 9), slow("b", 3), node("c", () => "c")])
      .build()
    expect(await replay(await record(built, 1), built)).toMatchObject({ same: true })
  })

  test("of a run with very many tasks is the same too", async () => {
    const step = node("step", (n: number) => n + 1)
    const built = workflow("w", { limits: { supersteps: 2_500 } })
      .start(step)
      .edge(step, step, { when: (n: number) => n < 2_500, max: 2_500 })
      .build()
    const { same, path } = await replay(await record(built, 0), built)
    expect({ same, tasks: path.after.length }).toEqual({ same: true, tasks: 2_500 })
  })

  test("matches concurrent parts of a handler with their own records, and agents with their usage", async () => {
    const inner = workflow("inner")
      .start(node("asks", (n: number, ctx) => ctx.step("s", () => n * 3)))
      .build()
    const both = node("both", async (n: number, ctx) => {
      const part = async (name: string, turns: number) => {
        const own = ctx.scope(name)
        for (let i = 0; i < turns; i++) await settled()
        const options = { usage: () => ({ modelCalls: 1 }), source: () => ({ agent: name }) }
        const first = await own.step("model", () => `${name} ${n}`, options)
        await own.sleep(1)
        return [first, await own.call(inner, n)]
      }
      const parts = await Promise.all([part("slow", 9), part("quick", 1)])
      return [parts, ctx.usedBy("quick")]
    })
    const built = workflow("w").start(both).build()
    const { same, outputs } = await replay(await record(built, 1), built)
    expect(same).toBe(true)
    expect(outputs.after).toEqual([
      [
        [
          ["slow 1", [3]],
          ["quick 1", [3]],
        ],
        { modelCalls: 1 },
      ],
    ])
  })

  test("runs sub-workflows again, with their own records", async () => {
    const ran: string[] = []
    const inner = workflow("inner")
      .chain(
        counting(ran),
        node("ask", (n: number, ctx) => ctx.ask(`${n}?`)),
      )
      .build()
    const built = workflow("outer")
      .start(
        node("calls", async (n: number, ctx) => [
          ...(await ctx.call(inner, n)),
          ...(await ctx.call(inner, n + 1)),
        ]),
      )
      .build()
    const store = memoryStore()
    const run = built.run(1, { store, runId: "r" })
    for (const answer of ["one", "two"]) {
      const [request] = (await run).requests
      await run.respond(request?.id ?? "", answer)
    }
    await run
    ran.length = 0
    const report = await replay(await recordingOf(store, "r"), built)
    expect(report).toMatchObject({
      same: true,
      path: { after: ["calls", "calls > work", "calls > ask", "calls > work", "calls > ask"] },
      outputs: { after: [["one", "two"]] },
      usage: { after: { modelCalls: 2 } },
    })
    expect(ran).toEqual([])
  })

  test("of a run that failed fails the same way, even if a step failed", async () => {
    const fails = node({
      id: "fails",
      retry: { attempts: 3, delay: 5 },
      run: (_: number, ctx) =>
        ctx.step("model", () => {
          throw new SuperstepError("RATE_LIMIT", `attempt ${ctx.attempt} was too many`)
        }),
    })
    const built = workflow("w").chain(start, fails).build()
    const report = await replay(await record(built, 1), built)
    expect(report).toMatchObject({
      same: true,
      status: { before: "failed", after: "failed" },
      error: { after: "RATE_LIMIT: attempt 3 was too many" },
    })
  })

  test("of a step that failed at first returns the recorded result of its retry", async () => {
    let calls = 0
    const flaky = node({
      id: "flaky",
      retry: { attempts: 2, delay: 0 },
      run: (_: number, ctx) =>
        ctx.step("model", () => {
          if (++calls === 1) throw new Error("busy")
          return `call ${calls}`
        }),
    })
    const built = workflow("w").start(flaky).build()
    const recording = await record(built, 1)
    expect(await replay(recording, built)).toMatchObject({ same: true, outputs: { after: ["call 2"] } })
    expect(calls).toBe(2)
  })

  test("of a run that was cancelled, or whose node or run took too long, ends the same way", async () => {
    const hangs = node("hangs", () => new Promise<number>(() => undefined))
    const limited = node({ id: "limited", timeout: 30, run: () => new Promise<number>(() => undefined) })
    const clock = manualClock()

    const store = memoryStore()
    const run = workflow("w").start(hangs).build().run(1, { store, runId: "r" })
    await settled()
    run.cancel("enough")
    await run.result
    expect(await replay(await recordingOf(store, "r"), workflow("w").start(hangs).build())).toMatchObject({
      same: true,
      status: { after: "cancelled" },
      error: { after: "CANCELLED: enough" },
    })

    for (const [built, options] of [
      [workflow("w").start(limited).build(), {}],
      [workflow("w").start(hangs).build(), { timeout: 50 }],
    ] as const) {
      const recorded = record(built, 1, { clock, ...options })
      await clock.advance(60)
      expect(await replay(await recorded, built)).toMatchObject({ same: true })
    }
  })

  test("of a run in progress ends where the recording ends (R3)", async () => {
    const store = memoryStore()
    const ran: string[] = []
    const never = controlled<number, number>("never")
    const sleeps = node("sleeps", (_: number, ctx) => ctx.sleep(1_000_000))
    const asks = node("asks", (_: number, ctx) => ctx.ask("?"))
    const half = (finish: boolean) =>
      node("half", async (_: number, ctx) => {
        await ctx.step("one", () => ran.push("one"))
        await ctx.step("two", () => (finish ? 2 : new Promise<number>(() => undefined)))
        return "never seen"
      })
    const built = (finish: boolean) =>
      workflow("w")
        .start(start)
        .fanOut(start, [never, sleeps, asks, half(finish)])
        .build()
    built(false).run(1, { store, runId: "r" })
    await settled()
    const recording = await recordingOf(store, "r")
    const report = replay(recording, built(true))
    await settled()
    never.finish(1)
    expect(await report).toMatchObject({ same: true, status: { before: "running", after: "running" } })
    expect(ran).toEqual(["one"])
  })

  test("of a run with an open question does not fire its deadline (R3)", async () => {
    const store = memoryStore()
    const asks = node({
      id: "asks",
      run: (_: number, ctx) => ctx.request({ prompt: "?", timeout: 1_000, default: "nobody" }),
      onAnswer: (answer: string) => answer,
    })
    const built = workflow("w").start(asks).build()
    await built.run(1, { store, runId: "r", clock: manualClock() })
    const report = await replay(await recordingOf(store, "r"), built)
    expect(report).toMatchObject({
      same: true,
      status: { before: "waiting", after: "waiting" },
      outputs: { after: [] },
    })
  })

  test("of a fork applies the fork's changes at the same point", async () => {
    const store = memoryStore()
    const total = channel("total", add())
    const step = (id: string) =>
      node(id, async (n: number, ctx) => {
        await ctx.sleep(10)
        ctx.state.write(total, n)
        return n + ctx.state.get(total)
      })
    const built = workflow("w", { state: [total] })
      .chain(step("a"), step("b"), step("c"))
      .build()
    const clock = manualClock()
    const run = built.run(1, { store, runId: "r", clock })
    for (let i = 0; i < 3; i++) await clock.advance(10)
    await run
    await fork(store, "r", { at: { superstep: 1 }, state: { total: 50 }, runId: "f", clock })
    const again = built.resume("f", { store, clock })
    await settled()
    for (let i = 0; i < 2; i++) await clock.advance(10)
    const { outputs } = await again
    expect(await replay(await recordingOf(store, "f"), built)).toMatchObject({
      same: true,
      outputs: { after: outputs },
    })
  })

  test("of a run that was quarantined fails the same way", async () => {
    const recording = await record(
      workflow("w")
        .start(node("dies", () => new Promise(() => undefined)))
        .build(),
      1,
      {
        signal: AbortSignal.abort(),
      },
    )
    const error = { code: "POISONED", message: "3 processes died" }
    const records = recording.records.map((one) =>
      one.entry.type === "run.cancelled"
        ? { ...one, entry: { type: "run.failed", at: one.entry.at, error } as const }
        : one,
    )
    const built = workflow("w")
      .start(node("dies", () => new Promise(() => undefined)))
      .build()
    expect(await replay({ ...recording, records }, built)).toMatchObject({
      same: true,
      status: { after: "failed" },
    })
  })
})

test("handlers can change neither the recording nor the compared values", async () => {
  const store = textStore()
  const grows = node("grows", async (list: number[], ctx) => {
    const more = await ctx.step("more", () => [2])
    for (const returned of [list, more]) expect(() => returned.push(1)).toThrow(TypeError)
    return [...list, ...more]
  })
  const built = workflow("w").start(grows).build()
  await built.run([0], { store, runId: "r" })
  const recording = await recordingOf(store, "r")
  for (let i = 0; i < 2; i++) {
    expect(await replay(recording, built)).toMatchObject({ same: true, outputs: { after: [[0, 2]] } })
  }
})

test("a replay does not change the store of the recording", async () => {
  const store: Store = memoryStore()
  const built = workflow("w").chain(start, counting([])).build()
  await built.run(4, { store, runId: "r" })
  const before = JSON.stringify(await store.read("r", 0))
  await replay(await recordingOf(store, "r"), built)
  expect(JSON.stringify(await store.read("r", 0))).toBe(before)
  expect(await store.runs({})).toHaveLength(1)
})
