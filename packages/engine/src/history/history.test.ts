import { describe, expect, test } from "vitest"
import { add, append, channel, memoryStore, node, reducer, workflow } from "../index.ts"
import { textStore } from "../runtime/journal/stores.test-support.ts"
import { controlled, manualClock, settled } from "../testing/index.ts"
import { history } from "./index.ts"

const total = channel("total", add())
const log = channel("log", append<string>())
const most = channel(
  "most",
  reducer<number>("most", (current, write) => Math.max(current ?? 0, write)),
)

const start = node("start", (n: number) => n)
const count = (id: string, by: number) =>
  node(id, (n: number, ctx) => {
    ctx.state.write(total, by)
    ctx.state.write(log, [id])
    return n + by
  })

const diamond = workflow("diamond", { state: [total, log] })
  .start(start)
  .fanOut(start, [count("a", 1), count("b", 2)])
  .build()

describe("a run's history", () => {
  test("has a checkpoint for the start and for every commit, with what changed and by which task", async () => {
    const store = textStore()
    const clock = manualClock(100)
    await diamond.run(1, { store, runId: "r", clock })
    const { checkpoints, workflow, status, path } = await history(store, "r")
    expect({ workflow, status, path }).toEqual({ workflow: "diamond", status: "completed", path: [] })
    expect(checkpoints.map(({ kind, superstep, seq, at }) => [kind, superstep, seq, at])).toEqual([
      ["start", 0, 1, 100],
      ["commit", 1, 2, 100],
      ["commit", 2, 4, 100],
    ])
    expect(checkpoints[1]).toMatchObject({ changes: [], finished: [{ task: 1, node: "start", attempt: 1 }] })
    expect(checkpoints[2]?.changes).toEqual([
      { key: "total", reducer: "add", value: 1, task: 2, node: "a" },
      { key: "log", reducer: "append", value: ["a"], task: 2, node: "a" },
      { key: "total", reducer: "add", value: 2, task: 3, node: "b" },
      { key: "log", reducer: "append", value: ["b"], task: 3, node: "b" },
    ])
    expect(checkpoints[2]?.finished).toEqual([
      { task: 2, node: "a", attempt: 1, sends: [{ value: 2, route: { output: true } }] },
      { task: 3, node: "b", attempt: 1, sends: [{ value: 3, route: { output: true } }] },
    ])
  })

  test("tells what changed between two points, and which tasks ended in between", async () => {
    const store = textStore()
    await diamond.run(1, { store, runId: "r" })
    const { diff } = await history(store, "r")
    expect(await diff({ superstep: 1 }, { superstep: 2 })).toMatchObject({
      from: { seq: 2 },
      to: { seq: 4 },
      changes: [
        { key: "total", before: 0, after: 3 },
        { key: "log", before: [], after: ["a", "b"] },
      ],
      finished: [{ node: "a" }, { node: "b" }],
    })
    expect(await diff({ superstep: 0 }, { seq: 2 })).toMatchObject({
      changes: [],
      finished: [{ node: "start" }],
    })
    expect(await diff({ superstep: 2 }, { superstep: 1 })).toMatchObject({
      changes: [{ key: "total", before: 3, after: 0 }, { key: "log" }],
      finished: [],
    })
  })

  test("gives the state at every superstep, and at every record", async () => {
    const store = textStore()
    await diamond.run(1, { store, runId: "r" })
    const { stateAt } = await history(store, "r")
    expect(await stateAt({ superstep: 0 })).toMatchObject({
      seq: 1,
      status: "running",
      state: { total: 0, log: [] },
      tasks: [{ task: 1, node: "start", input: 1, status: "running", attempt: 1, waits: [] }],
      outputs: [],
    })
    expect(await stateAt({ superstep: 1 })).toMatchObject({
      state: { total: 0 },
      tasks: [{ node: "a", from: "start" }, { node: "b" }],
    })
    expect(await stateAt({ seq: 3 })).toMatchObject({
      state: { total: 0 },
      tasks: [{ node: "b" }],
      outputs: [],
    })
    expect(await stateAt({ superstep: 2 })).toMatchObject({
      status: "completed",
      state: { total: 3, log: ["a", "b"] },
      tasks: [],
      outputs: [2, 3],
    })
  })

  test("has the result of a custom reducer for all writes", async () => {
    const store = textStore()
    const writes = (id: string, n: number) => node(id, (_: number, ctx) => ctx.state.write(most, n))
    const built = workflow("w", { state: [most] })
      .start(start)
      .fanOut(start, [writes("a", 5), writes("b", 3)])
      .build()
    await built.run(1, { store, runId: "r" })
    const { checkpoints } = await history(store, "r")
    expect(checkpoints.at(-1)).toMatchObject({
      superstep: 2,
      changes: [{ key: "most", reducer: "replace", value: 5, task: 3, node: "b" }],
      finished: [{ node: "a" }, { node: "b" }],
    })
  })

  test("has an end if the run ended in the middle of a superstep, with the tasks that had ended", async () => {
    const store = textStore()
    const bad = node("bad", () => {
      throw new Error("no luck")
    })
    const built = workflow("w", { state: [total, log] })
      .start(start)
      .fanOut(start, [count("a", 1), bad])
      .build()
    await built.run(1, { store, runId: "r" }).result
    const found = await history(store, "r")
    expect(found).toMatchObject({ status: "failed", error: { message: "no luck", node: "bad" } })
    expect(found.checkpoints.at(-1)).toMatchObject({
      kind: "end",
      superstep: 2,
      changes: [],
      finished: [{ node: "a" }, { node: "bad", sends: [], error: { message: "no luck" } }],
    })
    expect((await found.stateAt({ superstep: 2 })).state).toEqual({ total: 0, log: [] })
  })

  test("counts the attempts of a task, and lists it once", async () => {
    const store = textStore()
    const flaky = node({
      id: "flaky",
      retry: { attempts: 3, delay: 0 },
      run: (_: number, ctx) => {
        if (ctx.attempt < 3) throw new Error("not yet")
        return "done"
      },
    })
    await workflow("w").start(flaky).build().run(1, { store, runId: "r" })
    const { checkpoints } = await history(store, "r")
    expect(checkpoints).toHaveLength(2)
    expect(checkpoints[1]?.finished).toMatchObject([{ node: "flaky", attempt: 3 }])
  })

  test("of a flow schedule has a checkpoint for every task", async () => {
    const store = textStore()
    const slow = controlled<number, number>("slow")
    const a = count("a", 1)
    const built = workflow("flow", { schedule: "flow", state: [total, log, most] })
      .start(start)
      .fanOut(start, [slow, a])
      .edge(
        a,
        node("c", (n: number, ctx) => ctx.state.write(most, n)),
      )
      .build()
    const run = built.run(1, { store, runId: "r" })
    await settled()
    slow.finish(7)
    await run
    const { checkpoints } = await history(store, "r")
    expect(
      checkpoints.map(({ superstep, finished }) => [superstep, finished.map((task) => task.node)]),
    ).toEqual([
      [0, []],
      [1, ["start"]],
      [2, ["a"]],
      [3, ["c"]],
      [2, ["slow"]],
    ])
    expect(checkpoints[3]?.changes).toMatchObject([{ key: "most", value: 2 }])
  })

  test("has one superstep with two commits if a task had waited; its state is that after the last", async () => {
    const store = textStore()
    const asks = node("asks", async (_: number, ctx) => {
      ctx.state.write(log, [`${await ctx.ask("?")}`])
    })
    const built = workflow("w", { state: [total, log] })
      .start(start)
      .fanOut(start, [asks, count("a", 1)])
      .build()
    const run = built.run(1, { store, runId: "r" })
    await run
    await run.respond("r1", "yes")
    await run
    const { checkpoints, stateAt } = await history(store, "r")
    expect(checkpoints.map(({ superstep }) => superstep)).toEqual([0, 1, 2, 2])
    expect((await stateAt({ superstep: 2 })).state).toEqual({ total: 1, log: ["a", "yes"] })
  })

  test("has who answered what, and when", async () => {
    const store = textStore()
    const clock = manualClock(1_000)
    const asks = node("asks", async (_: number, ctx) => {
      const first = await ctx.ask({ prompt: "First?", to: "ann" })
      const second = await ctx.ask({ prompt: "Second?", timeout: 50, default: "none" })
      return [first, second]
    })
    const run = workflow("w").start(asks).build().run(1, { store, runId: "r", clock })
    await run
    await clock.advance(20)
    await run.respond("r1", "yes", { by: "ann" })
    await settled()
    await clock.advance(50)
    await run
    expect((await history(store, "r")).requests).toEqual([
      {
        id: "r1",
        path: [],
        node: "asks",
        task: 1,
        prompt: "First?",
        to: "ann",
        openedAt: 1_000,
        outcome: "answered",
        closedAt: 1_020,
        answer: "yes",
        by: "ann",
      },
      expect.objectContaining({
        id: "r2",
        outcome: "answered",
        closedAt: 1_070,
        answer: "none",
        by: "deadline",
      }),
    ])
  })

  test("shows open questions at the points where they were open", async () => {
    const store = textStore()
    const asks = node("asks", (_: number, ctx) => ctx.ask("Continue?"))
    await workflow("w").start(asks).build().run(1, { store, runId: "r" })
    const { stateAt, requests, status } = await history(store, "r")
    expect(status).toBe("waiting")
    expect(requests).toMatchObject([{ id: "r1", outcome: "open" }])
    expect((await stateAt({ seq: 1 })).requests).toEqual([])
    expect(await stateAt({ seq: 2 })).toMatchObject({
      requests: [{ id: "r1", prompt: "Continue?" }],
      tasks: [{ status: "parked", waits: [{ kind: "request", request: "r1" }] }],
    })
  })
})

describe("a sub-workflow", () => {
  const inner = workflow("inner", { state: [total, log] })
    .chain(count("x", 1), count("y", 2))
    .build()
  const outer = workflow("outer")
    .chain(
      start,
      inner.asNode(),
      node("last", (n: number) => n),
    )
    .build()

  test("has a history of its own, by its path", async () => {
    const store = textStore()
    await outer.run(1, { store, runId: "r" })
    const whole = await history(store, "r")
    expect(whole.subWorkflows).toEqual([{ path: ["inner#2"], workflow: "inner" }])
    const found = await history(store, "r", { path: ["inner#2"] })
    expect(found).toMatchObject({
      workflow: "inner",
      path: ["inner#2"],
      status: "completed",
      subWorkflows: [],
    })
    expect(found.checkpoints.map(({ kind, superstep }) => [kind, superstep])).toEqual([
      ["start", 0],
      ["commit", 1],
      ["commit", 2],
    ])
    expect((await found.stateAt({ superstep: 1 })).state).toEqual({ total: 1, log: ["x"] })
    // It has ended by then, and still has its result.
    expect(await found.stateAt({ seq: 6 })).toMatchObject({ status: "completed", state: { total: 3 } })
  })

  test("that a retry called again is that of the last call; questions of the first were withdrawn", async () => {
    const store = textStore()
    const clock = manualClock()
    const asking = workflow("asking")
      .start(node("asks", (_: number, ctx) => ctx.ask("?")))
      .build()
    const calls = node({
      id: "calls",
      retry: { attempts: 2, delay: 10 },
      run: async (n: number, ctx) => {
        const answer = ctx.call(asking, n)
        if (ctx.attempt === 1) {
          await ctx.sleep(5)
          throw new Error("not yet")
        }
        return answer
      },
    })
    const run = workflow("w").start(calls).build().run(1, { store, runId: "r", clock })
    await clock.advance(5)
    await clock.advance(10)
    const [open] = (await run).requests
    await run.respond(open?.id ?? "", "yes", { by: "ann" })
    await run
    const { requests } = await history(store, "r")
    expect(requests.map(({ id, outcome, path }) => [id, outcome, path])).toEqual([
      ["1.1:call:asking/r1", "withdrawn", ["calls#1"]],
      ["1.2:call:asking/r1", "answered", ["calls#1"]],
    ])
    const found = await history(store, "r", { path: ["calls#1"] })
    expect(found).toMatchObject({ status: "completed", requests: [{ id: "1.2:call:asking/r1", by: "ann" }] })
  })

  test("that does not exist is an error that lists the existing ones", async () => {
    const store = textStore()
    await outer.run(1, { store, runId: "r" })
    await expect(history(store, "r", { path: ["inner#9"] })).rejects.toMatchObject({
      code: "PATH_UNKNOWN",
      message: 'Run "r" has no sub-workflow ["inner#9"]. It has ["inner#2"].',
    })
    const { stateAt } = await history(store, "r", { path: ["inner#2"] })
    await expect(stateAt({ seq: 2 })).rejects.toMatchObject({ code: "SEQ_UNKNOWN" })
  })
})

describe("an unknown", () => {
  test("run is an error", async () => {
    await expect(history(memoryStore(), "none")).rejects.toMatchObject({ code: "RUN_UNKNOWN" })
  })

  test("superstep or record is an error that lists the existing ones", async () => {
    const store = memoryStore()
    await diamond.run(1, { store, runId: "r" })
    const { stateAt } = await history(store, "r")
    await expect(stateAt({ superstep: 7 })).rejects.toMatchObject({
      code: "SUPERSTEP_UNKNOWN",
      message: 'Run "r" has no checkpoint of superstep 7; it has checkpoints of 0 to 2.',
    })
    await expect(stateAt({ seq: 0 })).rejects.toMatchObject({ code: "SEQ_UNKNOWN" })
    await expect(stateAt({ seq: 1.5 })).rejects.toMatchObject({ code: "SEQ_UNKNOWN" })
    await expect(stateAt({ seq: 5 })).rejects.toMatchObject({
      message: 'Run "r" has no state at record 5; its records range from 1 to 4.',
    })
  })
})

test("values that a migration changed are changes, and others are not", async () => {
  const store = textStore()
  const asks = node("asks", (_: number, ctx) => ctx.ask("?"))
  const before = workflow("w", { state: [total, log] })
    .chain(count("a", 1), asks)
    .build()
  await before.run(1, { store, runId: "r" })
  const after = workflow("w", { state: [total, log] })
    .chain(
      count("a", 1),
      asks,
      node("more", (answer: unknown) => `${answer}`),
    )
    .build()
  const run = after.resume("r", {
    takeOver: true,
    store,
    onGraphChange: (state) => ({
      ...state,
      shared: state.shared.map(([key, value]) => [key, key === "total" ? 9 : value]),
    }),
  })
  await run
  const { checkpoints } = await history(store, "r")
  expect(checkpoints.at(-1)).toMatchObject({
    kind: "graph",
    superstep: 1,
    changes: [{ key: "total", reducer: "replace", value: 9 }],
  })
  expect(checkpoints.at(-1)?.changes).toHaveLength(1)
})

test("keeps the changes of a long run, and not its state at every superstep", async () => {
  const store = memoryStore()
  const step = node("step", (n: number, ctx) => {
    ctx.state.write(log, [`${n}`])
    return n + 1
  })
  const built = workflow("long", { state: [log], limits: { supersteps: 3_001 } })
    .start(step)
    .edge(step, step, { when: (n: number) => n < 3_000, max: 3_000 })
    .build()
  await built.run(0, { store, runId: "r" })
  const { checkpoints, stateAt } = await history(store, "r")
  expect(checkpoints).toHaveLength(3_001)
  expect(JSON.stringify(checkpoints).length).toBeLessThan(3 * JSON.stringify(await store.read("r", 0)).length)
  expect((await stateAt({ superstep: 2_000 })).state.log).toHaveLength(2_000)
})
