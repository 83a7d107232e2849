import { describe, expect, test } from "vitest"
import { z } from "zod"
import {
  add,
  append,
  type Context,
  channel,
  memoryStore,
  node,
  type RunOptions,
  reducer,
  type Store,
  SuperstepError,
  type Workflow,
  workflow,
} from "../index.ts"
import { textStore } from "../runtime/stores.test-support.ts"
import { controlled, manualClock, settled } from "../testing/index.ts"
import { fork, type Recording, recordingOf, replay } from "./index.ts"

/** Runs a workflow to its end, and gives what was recorded. */
async function record<In, Out>(
  built: Workflow<In, Out>,
  input: In,
  options: RunOptions = {},
): Promise<Recording> {
  const store = memoryStore()
  await built.run(input, { ...options, store, runId: "r" }).result
  return recordingOf(store, "r")
}

const start = node("start", (n: number) => n)

/** A step that tells how often it really ran. */
function counting(ran: string[], result: (n: number) => number = (n) => n * 2) {
  return node("work", (n: number, ctx) =>
    ctx.step(
      "model",
      () => {
        ran.push("model")
        return result(n)
      },
      { usage: () => ({ modelCalls: 1, inputTokens: 10 }) },
    ),
  )
}

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
      status: { before: "completed", after: "completed" },
    })
    expect(ran).toEqual(["model"])
  })

  test("gives people's recorded answers, waited for or not", async () => {
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

  test("takes sleeps, retries and deadlines at once, at the times on record (R4)", async () => {
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

  test("waits for handlers that are at work on something real", async () => {
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

  test("gives parts of a handler that run at the same time their own records, and agents their usage", async () => {
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

  test("of a run that failed fails the same way, also where a step failed", async () => {
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

  test("of a step that failed at first gives the retry what it gave then", async () => {
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

  test("of a run that is still under way goes as far as the recording does (R3)", async () => {
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

  test("of a run whose question is still open does not let its time run out (R3)", async () => {
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

  test("of a fork changes what the fork changed, when it did", async () => {
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

  test("of a run that was given up as poisoned is given up too", async () => {
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

describe("a replay against a changed workflow", () => {
  test("tells the first task that differs, and what comes of it", async () => {
    const total = channel("total", add())
    const built = (by: number) =>
      workflow("w", { state: [total] })
        .chain(
          start,
          node("adds", (n: number, ctx) => {
            ctx.state.write(total, by)
            return n + by
          }),
          node("last", (n: number) => n * 10),
        )
        .build()
    const report = await replay(await record(built(1), 4), built(2))
    expect(report).toMatchObject({
      same: false,
      divergence: {
        index: 1,
        path: [],
        node: "adds",
        task: 2,
        what: '"adds" (task 2) sent 5 before, and 6 now.',
      },
      state: [{ key: "total", before: 1, after: 2 }],
      outputs: { before: [50], after: [60] },
      status: { before: "completed", after: "completed" },
    })
  })

  test("gives steps what they gave, whatever they would do now", async () => {
    const ran: string[] = []
    const before = workflow("w")
      .chain(
        start,
        counting(ran),
        node("says", (n: number) => `it is ${n}`),
      )
      .build()
    const after = workflow("w")
      .chain(
        start,
        counting(ran, (n) => n * 100),
        node("says", (n: number) => `it is ${n}!`),
      )
      .build()
    const report = await replay(await record(before, 4), after)
    expect(report).toMatchObject({
      outputs: { before: ["it is 8"], after: ["it is 8!"] },
      divergence: { node: "says" },
      usage: { difference: {} },
    })
    expect(ran).toEqual(["model"])
  })

  test("fails a step that is not on record, and does not try it again (R2)", async () => {
    const attempts: number[] = []
    const after = node({
      id: "work",
      retry: { attempts: 5, delay: 0 },
      run: (_: number, ctx) => {
        attempts.push(ctx.attempt)
        return ctx.step("another model", () => 1)
      },
    })
    const recording = await record(workflow("w").chain(start, counting([])).build(), 4)
    const report = await replay(recording, workflow("w").chain(start, after).build())
    expect(report).toMatchObject({
      same: false,
      divergence: { index: 1, node: "work", what: 'Step "another model" of "work" is not on record.' },
      status: { after: "failed" },
      error: { after: 'REPLAY_DIVERGED: Step "another model" of "work" is not on record.' },
      usage: { difference: { modelCalls: -1, inputTokens: -10 } },
    })
    expect(attempts).toEqual([1])
  })

  test("tells of such a step also where the handler makes do without it", async () => {
    const before = workflow("w")
      .start(node("work", () => "plain"))
      .build()
    const after = workflow("w")
      .start(node("work", (_: number, ctx) => ctx.step("new", () => "fancy").catch(() => "plain")))
      .build()
    expect(await replay(await record(before, 1), after)).toMatchObject({
      same: false,
      divergence: { what: 'Step "new" of "work" is not on record.' },
      outputs: { before: ["plain"], after: ["plain"] },
    })
  })

  test("runs such a step for real where that is asked for", async () => {
    const after = node("work", async (n: number, ctx) => {
      const old = await ctx.step("model", () => n * 1_000)
      return ctx.step("another", async () => {
        await settled()
        return old + 1
      })
    })
    const recording = await record(workflow("w").chain(start, counting([])).build(), 4)
    const report = await replay(recording, workflow("w").chain(start, after).build(), { live: true })
    expect(report).toMatchObject({
      same: false,
      divergence: { what: '"work" (task 2) runs step "another" now, and did not before.' },
      status: { after: "completed" },
      outputs: { after: [9] },
    })
  })

  test("waits where it asks what was not asked, and refuses an answer that no longer fits", async () => {
    const asks = (prompt: string, schema: z.ZodType) =>
      workflow("w")
        .start(node("asks", (_: number, ctx) => ctx.ask({ prompt, schema })))
        .build()
    const store = memoryStore()
    const run = asks("Well?", z.string()).run(1, { store, runId: "r" })
    await run
    await run.respond("r1", "yes")
    await run
    const recording = await recordingOf(store, "r")
    expect(await replay(recording, asks("Well now?", z.string()))).toMatchObject({
      same: false,
      divergence: {
        what: '"asks" (task 1) asked {"prompt":"Well?"} before, and {"prompt":"Well now?"} now.',
      },
    })
    expect(await replay(recording, asks("Well?", z.number()))).toMatchObject({
      status: { after: "waiting" },
      divergence: {
        what: expect.stringContaining(
          'The answer on record is refused: The answer to request "r1" does not fit',
        ),
      },
    })
    const twice = workflow("w")
      .start(node("asks", async (_: number, ctx) => [await ctx.ask("Well?"), await ctx.ask("Sure?")]))
      .build()
    expect(await replay(recording, twice)).toMatchObject({
      status: { after: "waiting" },
      divergence: { what: '"asks" (task 1) asks {"prompt":"Sure?"} now, and did not before.' },
    })
  })

  test("fires timers that are not on record when nothing else is left (R4)", async () => {
    const before = workflow("w")
      .chain(
        start,
        node("next", (n: number) => n),
      )
      .build()
    const after = workflow("w")
      .chain(
        start,
        node("next", async (n: number, ctx) => {
          await ctx.sleep(1_000_000)
          return n
        }),
      )
      .build()
    expect(await replay(await record(before, 1), after)).toMatchObject({
      same: true,
      outputs: { after: [1] },
    })
  })

  test("shows that a bug is fixed: what failed on every attempt now finishes", async () => {
    const parse = (fixed: boolean) =>
      workflow("w")
        .start(
          node({
            id: "parse",
            retry: { attempts: 3, delay: 1 },
            run: async (_: number, ctx) => {
              const text = await ctx.step("model", () => "{'a': 1}")
              return fixed ? { a: 1 } : JSON.parse(text)
            },
          }),
        )
        .build()
    const report = await replay(await record(parse(false), 1), parse(true))
    expect(report).toMatchObject({
      status: { before: "failed", after: "completed" },
      outputs: { before: [], after: [{ a: 1 }] },
      divergence: {
        what: expect.stringMatching(/^"parse" \(task 1\) failed with ERROR .* before, and finished now\.$/),
      },
    })
  })

  test("fails a node in time as it did, unless it has more time now", async () => {
    const clock = manualClock()
    const slow = (timeout: number, quick: boolean) =>
      workflow("w")
        .start(node({ id: "slow", timeout, run: () => (quick ? 1 : new Promise<number>(() => undefined)) }))
        .build()
    const recorded = record(slow(30, false), 1, { clock })
    await clock.advance(30)
    const recording = await recorded
    expect(await replay(recording, slow(30, true))).toMatchObject({ same: true })
    expect(await replay(recording, slow(60, true))).toMatchObject({
      status: { before: "failed", after: "completed" },
    })
  })

  test("goes on where the run was ended by what is fixed now (R3)", async () => {
    const hold = controlled<number, string>("hold")
    const bad = (fixed: boolean) =>
      node("bad", () => {
        if (!fixed) throw new Error("a bug")
        return "good"
      })
    const store = memoryStore()
    await workflow("w")
      .start(start)
      .fanOut(start, [hold, bad(false)])
      .build()
      .run(1, { store, runId: "r" }).result
    const held = node("hold", () => "held")
    const report = await replay(
      await recordingOf(store, "r"),
      workflow("w")
        .start(start)
        .fanOut(start, [held, bad(true)])
        .build(),
    )
    expect(report).toMatchObject({
      status: { before: "failed", after: "completed" },
      outputs: { after: ["held", "good"] },
    })
  })

  test("differs by its state or outputs alone where every task does the same", async () => {
    const sum = (by: number) =>
      channel(
        "sum",
        reducer<number>("sum", (current, write) => (current ?? 0) + write * by),
      )
    const built = (by: number) =>
      workflow("w", { state: [sum(by)] })
        .start(node("writes", (n: number, ctx) => ctx.state.write(sum(by), n)))
        .build()
    const report = await replay(await record(built(1), 4), built(2))
    expect(report).toMatchObject({ same: false, state: [{ key: "sum", before: 4, after: 8 }] })
    expect(report.divergence).toBeUndefined()
  })

  test("differs by what was written, kept, routed, called and run", async () => {
    const note = channel("note", append<string>())
    const inner = (id: string) =>
      workflow("inner")
        .start(node(id, (n: number) => n))
        .build()
    const variants: { [name: string]: () => Workflow<number, unknown> } = {
      base: () => make({}),
      written: () => make({ written: "y" }),
      kept: () => make({ kept: 2 }),
      routed: () => make({ route: "right" }),
      called: () => make({ call: "other" }),
      "not called": () => make({ call: "" }),
      longer: () => make({ more: true }),
    }
    function make({
      written = "x",
      kept = 1,
      route = "left",
      call = "one",
      more = false,
    }): Workflow<number, unknown> {
      const work = node("work", async (n: number, ctx) => {
        ctx.state.write(note, [written])
        ctx.local.set("kept", kept)
        if (call !== "") await ctx.call(inner(call), n)
        return n
      })
      const [left, right] = [node("left", (n: number) => n), node("right", (n: number) => n)]
      const built = workflow("w", { state: [note] })
        .start(work)
        .edge(work, left, { when: () => route === "left" })
        .edge(work, right, { when: () => route === "right" })
      return (
        more
          ? built.edge(
              left,
              node("more", (n: number) => n),
            )
          : built
      ).build()
    }
    const recording = await record(make({}), 1)
    const what = async (name: string) =>
      (await replay(recording, variants[name]?.() as never)).divergence?.what
    expect(await what("base")).toBeUndefined()
    expect(await what("written")).toBe('"work" (task 1) wrote ["x"] before, and ["y"] now, under "note".')
    expect(await what("kept")).toBe('"work" (task 1) kept 1 before, and 2 now, under "kept".')
    expect(await what("routed")).toBe('"work" (task 1) sent 1 to "left" before, and to "right" now.')
    expect(await what("called")).toBe('Task 1 was of "one", and is of "other" now.')
    expect(await what("not called")).toBe('"work" (task 1) called "inner" before, and does not now.')
    expect(await what("longer")).toBe('"left" (task 2) sent 1 to the outputs before, and to "more" now.')
  })

  test("is stuck with a handler that waits for what a replay does not have", async () => {
    const built = (hangs: boolean) =>
      workflow("w")
        .start(node("work", () => (hangs ? new Promise(() => undefined) : 1)))
        .build()
    await expect(replay(await record(built(false), 1), built(true), { patience: 5 })).rejects.toMatchObject({
      code: "REPLAY_STUCK",
      message: expect.stringContaining('"work" (task 1) waits for something that a replay does not have'),
    })
  })

  test("shows a start that no longer takes the input as refused", async () => {
    const built = (schema: z.ZodType) =>
      workflow("w")
        .start(node({ id: "start", input: schema, run: (n) => n }))
        .build()
    const report = await replay(await record(built(z.number()), 1), built(z.string()))
    expect(report.divergence?.what).toContain('"start" (task 1) finished before, and was refused')
  })
})

test("handlers that change what they are given change neither the recording nor what is compared", async () => {
  const store = textStore()
  const grows = node("grows", async (list: number[], ctx) => {
    list.push(1)
    const more = await ctx.step("more", () => [2])
    more.push(3)
    return [...list, ...more]
  })
  const built = workflow("w").start(grows).build()
  await built.run([0], { store, runId: "r" })
  const recording = await recordingOf(store, "r")
  for (let i = 0; i < 2; i++) {
    expect(await replay(recording, built)).toMatchObject({ same: true, outputs: { after: [[0, 1, 2, 3]] } })
  }
})

test("a replay leaves the store it was recorded from alone", async () => {
  const store: Store = memoryStore()
  const built = workflow("w").chain(start, counting([])).build()
  await built.run(4, { store, runId: "r" })
  const before = JSON.stringify(await store.read("r", 0))
  await replay(await recordingOf(store, "r"), built)
  expect(JSON.stringify(await store.read("r", 0))).toBe(before)
  expect(await store.runs({})).toHaveLength(1)
})
