import { describe, expect, test } from "vitest"
import { z } from "zod"
import { add, append, channel, memoryStore, node, replace, workflow } from "../index.ts"
import { textStore } from "../runtime/journal/stores.test-support.ts"
import { controlled, manualClock, settled } from "../testing/index.ts"
import { fork, history } from "./index.ts"

const total = channel("total", add())
const log = channel("log", append<string>())
const mood = channel("mood", replace<string>("calm"))

/** The executed nodes, so that a test sees what a fork runs again. */
function steps(ran: string[]) {
  const step = (id: string) =>
    node(id, (n: number, ctx) => {
      ran.push(id)
      ctx.state.write(total, n)
      ctx.state.write(log, [`${id} ${ctx.state.get(mood)}`])
      return n + 1
    })
  return workflow("steps", { state: [total, log, mood] })
    .chain(step("a"), step("b"), step("c"))
    .build()
}

const approve = node("approve", async (n: number, ctx) => {
  const yes = await ctx.ask({ prompt: "Approve?", schema: z.boolean() })
  return yes ? `paid ${n}` : "refused"
})
const approval = workflow("approval")
  .chain(
    node("start", (n: number) => n),
    approve,
  )
  .build()

describe("a fork", () => {
  test("runs everything after the fork again, and nothing before it", async () => {
    const store = textStore()
    const ran: string[] = []
    const built = steps(ran)
    await built.run(1, { store, runId: "r" })
    const id = await fork(store, "r", { at: { superstep: 1 }, runId: "f" })
    expect(id).toBe("f")
    expect(await store.run("f")).toMatchObject({
      forkOf: { runId: "r", seq: 2 },
      status: "running",
      workflow: "steps",
    })
    ran.length = 0
    expect(await built.resume("f", { store })).toMatchObject({
      runId: "f",
      outputs: [4],
      state: { total: 6 },
    })
    expect(ran).toEqual(["b", "c"])
    expect(await store.run("r")).toMatchObject({ status: "completed" })
  })

  test("shares its past by reference: its own journal has only its own records", async () => {
    const store = memoryStore()
    const fat = node("fat", (n: number) => ({ n, text: "x".repeat(100_000) }))
    const thin = node("thin", ({ n }: { n: number }) => n)
    const built = workflow("w").chain(fat, thin).build()
    await built.run(1, { store, runId: "r" })
    await fork(store, "r", { runId: "f" })
    expect((await store.run("r"))?.bytes).toBeGreaterThan(100_000)
    expect((await store.run("f"))?.bytes).toBeLessThan(300)
    await built.resume("f", { store })
    expect((await store.run("f"))?.bytes).toBeLessThan(600)
    expect((await store.read("f", 0)).slice(0, 2)).toEqual((await store.read("r", 0)).slice(0, 2))
  })

  test("has no holder, so that any process can claim it", async () => {
    const store = textStore()
    await steps([]).run(1, { store, runId: "r" })
    await fork(store, "r", { runId: "f" })
    const free = await store.free({ workflows: ["steps"], now: 0, limit: 9, suspects: false })
    expect(free.map(({ runId, holder, wakeAt }) => [runId, holder, wakeAt])).toEqual([
      ["f", undefined, undefined],
    ])
  })

  test("is free even if the process that created it died before releasing it", async () => {
    const store = textStore()
    const built = steps([])
    await built.run(1, { store, runId: "r" })
    await fork({ ...store, release: () => undefined }, "r", { runId: "f" })
    const free = await store.free({ workflows: ["steps"], now: 1, limit: 9, suspects: false })
    expect(free.map(({ runId }) => runId)).toEqual(["f"])
    expect((await built.resume("f", { store })).outputs).toEqual([4])
  })

  test("by default is at the last checkpoint before the run ended", async () => {
    const store = textStore()
    const ran: string[] = []
    const built = steps(ran)
    await built.run(1, { store, runId: "r" })
    await fork(store, "r", { runId: "f" })
    ran.length = 0
    await built.resume("f", { store })
    expect(ran).toEqual(["c"])
  })

  test("with other state continues with that state", async () => {
    const store = textStore()
    const built = steps([])
    await built.run(1, { store, runId: "r" })
    await fork(store, "r", { at: { superstep: 2 }, state: { mood: "wild", total: 100 }, runId: "f" })
    const { state } = await built.resume("f", { store })
    expect(state).toEqual({ total: 103, log: ["a calm", "b calm", "c wild"], mood: "wild" })
    const { checkpoints, forkOf } = await history(store, "f")
    expect(forkOf).toEqual({ runId: "r", seq: 3 })
    expect(checkpoints.map(({ kind, superstep }) => [kind, superstep])).toEqual([
      ["start", 0],
      ["commit", 1],
      ["commit", 2],
      ["fork", 2],
      ["commit", 3],
    ])
    expect(checkpoints[3]?.changes).toEqual([
      { key: "mood", reducer: "replace", value: "wild" },
      { key: "total", reducer: "replace", value: 100 },
    ])
  })

  test("at a task keeps the work of the other tasks of its superstep", async () => {
    const store = textStore()
    const ran: string[] = []
    const at = (id: string) =>
      node(id, (n: number) => {
        ran.push(id)
        return n
      })
    const first = at("first")
    const built = workflow("w")
      .start(first)
      .fanOut(first, [at("x"), at("y"), at("z")])
      .build()
    await built.run(1, { store, runId: "r" })
    await fork(store, "r", { at: { task: 3 }, runId: "f" })
    ran.length = 0
    await built.resume("f", { store })
    expect(ran).toEqual(["y", "z"])
  })

  test("of a fork shares both pasts", async () => {
    const store = textStore()
    const built = steps([])
    await built.run(1, { store, runId: "r" })
    await fork(store, "r", { at: { superstep: 1 }, state: { mood: "glad" }, runId: "f" })
    await built.resume("f", { store })
    await fork(store, "f", { at: { superstep: 2 }, state: { mood: "sad" }, runId: "g" })
    expect((await built.resume("g", { store })).state.log).toEqual(["a calm", "b glad", "c sad"])
    // A fork at a record that the first fork shares does not have its changes.
    await fork(store, "f", { at: { seq: 2 }, runId: "h" })
    expect((await built.resume("h", { store })).state.log).toEqual(["a calm", "b calm", "c calm"])
  })

  test("does not split records that were written together", async () => {
    const store = textStore()
    const inner = workflow("inner")
      .start(node("uses", (n: number, ctx) => ctx.step("s", () => n, { usage: () => ({ modelCalls: 1 }) })))
      .build()
    const built = workflow("outer")
      .chain(
        inner.asNode(),
        node("last", (n: number) => n),
      )
      .build()
    const { usage } = await built.run(1, { store, runId: "r" })
    const records = await store.read("r", 0)
    const step = records.find(({ entry }) => entry.type === "step.recorded")
    await fork(store, "r", { at: { seq: step?.seq ?? 0 }, runId: "f" })
    expect((await store.run("f"))?.forkOf?.seq).toBe((step?.seq ?? 0) + 1)
    expect((await built.resume("f", { store })).usage).toEqual(usage)
  })
})

describe("the time of a fork", () => {
  test("continues at the time of the fork: sleeping tasks have the same time left", async () => {
    const store = textStore()
    const clock = manualClock(0)
    const sleeps = node("sleeps", async (n: number, ctx) => {
      await ctx.sleep(100)
      return n
    })
    const built = workflow("w").start(sleeps).build()
    const run = built.run(1, { store, runId: "r", clock })
    await clock.advance(100)
    await run
    await clock.advance(900)
    await fork(store, "r", { at: { seq: 2 }, runId: "f", clock })
    expect(await store.run("f")).toMatchObject({ status: "waiting", wakeAt: 1_100 })
    const again = built.resume("f", { store, clock })
    await clock.advance(99)
    expect((await store.run("f"))?.status).toBe("waiting")
    await clock.advance(1)
    expect((await again).outputs).toEqual([1])
  })

  test("in a sub-workflow continues there too", async () => {
    const store = textStore()
    const clock = manualClock(0)
    const inner = workflow("inner")
      .start(node("sleeps", (_: number, ctx) => ctx.sleep(50)))
      .build()
    const built = workflow("outer").start(inner.asNode()).build()
    built.run(1, { store, runId: "r", clock })
    await settled()
    await clock.advance(10)
    const { length } = await store.read("r", 0)
    await fork(store, "r", { at: { seq: length }, runId: "f", clock })
    const own = (await store.read("f", length)).map(({ frame, entry, seq, events }) => ({
      frame,
      type: entry.type,
      seq,
      events,
    }))
    expect(own).toMatchObject([
      { frame: "", type: "run.forked", seq: length + 1 },
      { frame: "1.1:call:inner", type: "run.forked", seq: length + 2 },
    ])
    expect((own[1]?.events ?? 0) - (own[0]?.events ?? 0)).toBe(1)
    const again = built.resume("f", { store, clock })
    await clock.advance(49)
    expect((await store.run("f"))?.status).toBe("waiting")
    await clock.advance(1)
    expect((await again).status).toBe("completed")
  })
})

describe("an answer", () => {
  test("that differs is applied where the question was open", async () => {
    const store = textStore()
    const run = approval.run(5, { store, runId: "r" })
    await run
    await run.respond("r1", true, { by: "ann" })
    expect((await run).outputs).toEqual(["paid 5"])
    await fork(store, "r", { answers: { r1: false }, by: "bob", runId: "f" })
    expect((await approval.resume("f", { store })).outputs).toEqual(["refused"])
    expect((await history(store, "f")).requests).toMatchObject([{ id: "r1", answer: false, by: "bob" }])
    expect(await store.requests({ runId: "f", outcome: ["answered"] })).toMatchObject([
      { id: "r1", by: "bob" },
    ])
  })

  test("to a run that still waits is applied there", async () => {
    const store = textStore()
    await approval.run(5, { store, runId: "r" })
    await fork(store, "r", { answers: { r1: true }, runId: "f" })
    expect((await approval.resume("f", { store })).outputs).toEqual(["paid 5"])
    expect(await store.run("r")).toMatchObject({ status: "waiting" })
  })

  test("in a sub-workflow uses the id that the run knows it by", async () => {
    const store = textStore()
    const built = workflow("outer").start(approval.asNode()).build()
    const run = built.run(5, { store, runId: "r" })
    const [request] = (await run).requests
    const id = request?.id ?? ""
    await run.respond(id, true)
    await run
    await fork(store, "r", { answers: { [id]: false }, runId: "f" })
    expect((await built.resume("f", { store })).outputs).toEqual(["refused"])
  })

  test("to a question that was asked without waiting is delivered as a message", async () => {
    const store = textStore()
    const asks = node({
      id: "asks",
      run: (_: number, ctx) => ctx.request("?"),
      onAnswer: (answer: string) => answer,
    })
    const built = workflow("w").start(asks).build()
    await built.run(1, { store, runId: "r" })
    await fork(store, "r", { answers: { r1: "so" }, runId: "f" })
    expect(await store.run("f")).toMatchObject({ status: "running" })
    expect((await built.resume("f", { store })).outputs).toEqual(["so"])
  })

  test("is rejected if the question was not open or never asked, or if it cannot be stored", async () => {
    const store = textStore()
    await approval.run(5, { store, runId: "r" })
    await expect(fork(store, "r", { at: { seq: 2 }, answers: { r1: true } })).rejects.toMatchObject({
      code: "REQUEST_UNKNOWN",
      message: 'Run "r" has no open request "r1" at record 2. Open: none.',
    })
    await expect(fork(store, "r", { answers: { r7: true } })).rejects.toMatchObject({
      code: "REQUEST_UNKNOWN",
      message: 'Run "r" never had "r7" open at the same time. It asked "r1".',
    })
    await expect(fork(store, "r", { answers: { r1: () => 1 } })).rejects.toMatchObject({
      code: "OPTION_INVALID",
    })
    expect(await store.runs({})).toHaveLength(1)
  })

  test("that does not match its question is rejected, and no run is created", async () => {
    const store = textStore()
    const asks = node("asks", async (_: number, ctx) =>
      ctx.ask({ prompt: "How many?", schema: z.object({ count: z.number().max(9) }) }),
    )
    const built = workflow("w").start(asks).build()
    await built.run(1, { store, runId: "r" })
    await expect(fork(store, "r", { answers: { r1: { count: 10 } }, runId: "f" })).rejects.toMatchObject({
      code: "REQUEST_INVALID",
      message: expect.stringMatching(/^The answer to request "r1" of run "r" does not match: .*count/),
    })
    expect(await store.runs({})).toHaveLength(1)
    await fork(store, "r", { answers: { r1: { count: 9 } }, runId: "f" })
    expect((await built.resume("f", { store })).outputs).toEqual([{ count: 9 }])
  })

  test("leaves other questions open, with the same time left", async () => {
    const store = textStore()
    const clock = manualClock(0)
    const asks = (id: string) =>
      node(id, (_: number, ctx) => ctx.ask({ prompt: id, timeout: 100, default: "late" }))
    const first = node("first", (n: number) => n)
    const built = workflow("w")
      .start(first)
      .fanOut(first, [asks("x"), asks("y")])
      .build()
    built.run(1, { store, runId: "r", clock })
    await settled()
    await clock.advance(40)
    await fork(store, "r", { answers: { r1: "now" }, runId: "f", clock })
    expect(await store.requests({ runId: "f" })).toMatchObject([{ id: "r2", deadline: 140 }])
    const again = built.resume("f", { store, clock })
    await settled()
    await clock.advance(100)
    expect((await again).outputs).toEqual(["now", "late"])
  })
})

describe("another input", () => {
  test("starts the workflow anew, and the row has its origin", async () => {
    const store = textStore()
    const built = steps([])
    await built.run(1, {
      store,
      runId: "r",
      state: { mood: "odd" },
      budget: { modelCalls: 3 },
      limits: { visits: 5 },
    })
    await fork(store, "r", { input: 10, state: { total: 1 }, runId: "f" })
    expect(await store.run("f")).toMatchObject({ forkOf: { runId: "r", seq: 0 }, status: "running" })
    expect(await store.read("f", 0)).toMatchObject([
      {
        seq: 1,
        entry: {
          type: "run.started",
          runId: "f",
          input: 10,
          budget: { modelCalls: 3 },
          limits: { visits: 5 },
        },
      },
    ])
    const { outputs, state } = await built.resume("f", { store })
    expect(outputs).toEqual([13])
    expect(state).toEqual({ total: 34, log: ["a odd", "b odd", "c odd"], mood: "odd" })
  })

  test("has as much time as the run had", async () => {
    const store = textStore()
    const clock = manualClock(0)
    const hold = controlled<number, number>("hold")
    const built = workflow("w").start(hold).build()
    const run = built.run(1, { store, runId: "r", clock, timeout: 50 })
    await clock.advance(50)
    await run.result
    await clock.advance(50)
    await fork(store, "r", { input: 2, runId: "f", clock })
    expect(await store.read("f", 0)).toMatchObject([{ entry: { at: 100, deadline: 150 } }])
  })

  test("is only allowed at the start", async () => {
    const store = textStore()
    await steps([]).run(1, { store, runId: "r" })
    const refused = { code: "OPTION_INVALID" }
    await expect(fork(store, "r", { input: 1, at: { superstep: 1 } })).rejects.toMatchObject(refused)
    await expect(fork(store, "r", { input: 1, answers: { r1: 1 } })).rejects.toMatchObject(refused)
    await expect(fork(store, "r", { input: Number.NaN })).rejects.toMatchObject(refused)
    expect(await fork(store, "r", { input: 1, at: { superstep: 0 }, runId: "f" })).toBe("f")
  })
})

describe("an invalid fork", () => {
  test("is one of a run, superstep, record or task that does not exist", async () => {
    const store = textStore()
    await steps([]).run(1, { store, runId: "r" })
    await expect(fork(store, "none")).rejects.toMatchObject({ code: "RUN_UNKNOWN" })
    await expect(fork(store, "r", { at: { superstep: 9 } })).rejects.toMatchObject({
      code: "SUPERSTEP_UNKNOWN",
    })
    await expect(fork(store, "r", { at: { seq: 9 } })).rejects.toMatchObject({ code: "SEQ_UNKNOWN" })
    await expect(fork(store, "r", { at: { task: 9 } })).rejects.toMatchObject({ code: "TASK_UNKNOWN" })
    await expect(fork(store, "r", { at: { task: 1, path: ["b#2"] } })).rejects.toMatchObject({
      code: "PATH_UNKNOWN",
    })
  })

  test("is one at the end of a run, and the error lists the possible points", async () => {
    const store = textStore()
    await steps([]).run(1, { store, runId: "r" })
    await expect(fork(store, "r", { at: { superstep: 3 } })).rejects.toMatchObject({
      code: "RUN_OVER",
      message: 'Run "r" has ended at record 4. Choose an earlier point: superstep 0 to 2.',
    })
  })

  test("is one with state that the workflow does not accept", async () => {
    const store = textStore()
    await steps([]).run(1, { store, runId: "r" })
    const refused = (state: { [key: string]: unknown }) =>
      expect(fork(store, "r", { state })).rejects.toThrow(expect.objectContaining({ code: "OPTION_INVALID" }))
    await refused({ nope: 1 })
    await refused({ total: "1" })
    await refused({ log: "x" })
    await refused({ mood: new Date() })
  })

  test("is one with the id of an existing run", async () => {
    const store = textStore()
    await steps([]).run(1, { store, runId: "r" })
    await expect(fork(store, "r", { runId: "r" })).rejects.toMatchObject({ code: "RUN_EXISTS" })
  })
})

test("a fork of a thread's run begins with the thread's state at that time, and adds nothing to it", async () => {
  const store = textStore()
  const notes = channel("notes", append<string>(), { persist: true })
  const built = workflow("chat", { state: [notes] })
    .chain(
      node("hears", (text: string, ctx) => {
        ctx.state.write(notes, [text])
        return text
      }),
      node("says", (_: string, ctx) => ctx.state.get(notes).length),
    )
    .build()
  await built.run("one", { store, thread: "t" })
  await built.run("two", { store, thread: "t", runId: "r" })
  await built.run("three", { store, thread: "t" })
  await fork(store, "r", { runId: "f" })
  expect((await built.resume("f", { store })).outputs).toEqual([2])
  await fork(store, "r", { input: "other", runId: "g" })
  expect((await built.resume("g", { store })).state.notes).toEqual(["one", "other"])
  expect((await store.thread("t")).state).toEqual({ notes: ["one", "two", "three"] })
})
