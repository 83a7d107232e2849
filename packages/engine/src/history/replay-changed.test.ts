import { describe, expect, test } from "vitest"
import { z } from "zod"
import { add, append, channel, memoryStore, node, reducer, type Workflow, workflow } from "../index.ts"
import { controlled, manualClock, settled } from "../testing/index.ts"
import { recordingOf, replay } from "./index.ts"
import { counting, record, start } from "./replays.test-support.ts"

describe("a replay against a changed workflow", () => {
  test("reports the first task that differs, and the consequences", async () => {
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

  test("returns the recorded results of steps, whatever they would do now", async () => {
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

  test("fails a step that is not recorded, and does not retry it (R2)", async () => {
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
      divergence: { index: 1, node: "work", what: 'Step "another model" of "work" is not recorded.' },
      status: { after: "failed" },
      error: { after: 'REPLAY_DIVERGED: Step "another model" of "work" is not recorded.' },
      usage: { difference: { modelCalls: -1, inputTokens: -10 } },
    })
    expect(attempts).toEqual([1])
  })

  test("reports such a step even if the handler catches its error", async () => {
    const before = workflow("w")
      .start(node("work", () => "plain"))
      .build()
    const after = workflow("w")
      .start(node("work", (_: number, ctx) => ctx.step("new", () => "fancy").catch(() => "plain")))
      .build()
    expect(await replay(await record(before, 1), after)).toMatchObject({
      same: false,
      divergence: { what: 'Step "new" of "work" is not recorded.' },
      outputs: { before: ["plain"], after: ["plain"] },
    })
  })

  test("runs such a step for real with `live`", async () => {
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
      divergence: { what: '"work" (task 2) runs step "another" now but did not run it before.' },
      status: { after: "completed" },
      outputs: { after: [9] },
    })
  })

  test("waits at a question that is not recorded, and rejects an answer that no longer matches", async () => {
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
          'The recorded answer is rejected: The answer to request "r1" is not valid',
        ),
      },
    })
    const twice = workflow("w")
      .start(node("asks", async (_: number, ctx) => [await ctx.ask("Well?"), await ctx.ask("Sure?")]))
      .build()
    expect(await replay(recording, twice)).toMatchObject({
      status: { after: "waiting" },
      divergence: { what: '"asks" (task 1) asks {"prompt":"Sure?"} now but did not ask it before.' },
    })
  })

  test("fires timers that are not recorded when nothing else is left (R4)", async () => {
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

  test("shows that a bug is fixed: a task that failed on every attempt now finishes", async () => {
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

  test("fails a node with its recorded timeout, unless it has more time now", async () => {
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

  test("continues after a failure that is fixed now (R3)", async () => {
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

  test("may differ only in its state or outputs, even if every task does the same", async () => {
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

  test("differs in writes, local state, routes, calls and steps", async () => {
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
    expect(await what("called")).toBe('Task 1 ran "one" before and runs "other" now.')
    expect(await what("not called")).toBe('"work" (task 1) called "inner" before but does not call it now.')
    expect(await what("longer")).toBe('"left" (task 2) sent 1 to the outputs before, and to "more" now.')
  })

  test("is stuck if a handler waits for something that a replay does not have", async () => {
    const built = (hangs: boolean) =>
      workflow("w")
        .start(node("work", () => (hangs ? new Promise(() => undefined) : 1)))
        .build()
    await expect(replay(await record(built(false), 1), built(true), { patience: 5 })).rejects.toMatchObject({
      code: "REPLAY_STUCK",
      message: expect.stringContaining('"work" (task 1) waits for something that a replay does not have'),
    })
  })

  test("shows a start that no longer accepts the input as rejected", async () => {
    const built = (schema: z.ZodType) =>
      workflow("w")
        .start(node({ id: "start", input: schema, run: (n) => n }))
        .build()
    const report = await replay(await record(built(z.number()), 1), built(z.string()))
    expect(report.divergence?.what).toContain('"start" (task 1) finished before, and was rejected')
  })
})
