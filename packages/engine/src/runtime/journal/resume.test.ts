import { describe, expect, test } from "vitest"
import { z } from "zod"
import {
  append,
  type Context,
  channel,
  memoryStore,
  node,
  quorum,
  type RunEvent,
  reducer,
  type Workflow,
  workflow,
} from "../../index.ts"
import { controlled, manualClock, settled } from "../../testing/index.ts"
import { storeWithPrefix, textStore } from "./stores.test-support.ts"

const start = node("start", (n: number) => n)
const asks = node("asks", async (_: unknown, ctx: Context) => ctx.ask("?"))

describe("a resumed run", () => {
  test("continues where it was: finished tasks do not run again (M1)", async () => {
    const store = textStore()
    const ran: string[] = []
    const counted = (id: string) =>
      node(id, (n: number) => {
        ran.push(id)
        return n + 1
      })
    const built = workflow("w").chain(counted("a"), counted("b"), asks).build()
    await built.run(1, { store, runId: "r" })
    const again = built.resume("r", { takeOver: true, store })
    expect(await again).toMatchObject({ status: "waiting", requests: [{ id: "r1", prompt: "?" }] })
    await again.respond("r1", "answer")
    expect(await again).toMatchObject({ runId: "r", status: "completed", outputs: ["answer"], supersteps: 3 })
    expect(ran).toEqual(["a", "b"])
  })

  test("runs a task again that had not finished, and only that", async () => {
    const store = textStore()
    const done = node("done", (n: number, ctx: Context) => {
      ctx.use({ toolCalls: 1 })
      return n
    })
    const hold = controlled<number, number>("hold")
    const built = workflow("w").start(start).fanOut(start, [done, hold]).build()
    built.run(1, { store, runId: "r" })
    await hold.started()
    const again = built.resume("r", { takeOver: true, store })
    const second = await hold.started()
    expect(second.ctx).toMatchObject({ task: 3, attempt: 1, runId: "r" })
    second.finish(5)
    expect(await again).toMatchObject({ outputs: [1, 5], usage: { toolCalls: 1 } })
  })

  test("that is over gives its result again, and no handler runs", async () => {
    const store = textStore()
    let ran = 0
    const built = workflow("w")
      .start(node("counts", () => ++ran))
      .build()
    const first = await built.run(1, { store, runId: "r" })
    expect(await built.resume("r", { takeOver: true, store })).toEqual(first)
    expect(ran).toBe(1)
  })

  test("that failed gives the same failure", async () => {
    const store = textStore()
    const fails = node("fails", () => {
      throw new Error("boom")
    })
    const built = workflow("w").start(fails).build()
    await built.run(1, { store, runId: "r" }).result
    const again = built.resume("r", { takeOver: true, store })
    await expect(again).rejects.toMatchObject({ node: "fails", attempt: 1 })
    expect((await again.result).error?.message).toBe("boom")
  })

  test("keeps attempts, and waits only for what is left of a delay (M8)", async () => {
    const store = textStore()
    const clock = manualClock()
    const flaky = controlled<number, number>("flaky", { retry: { attempts: 3, delay: 100 } })
    const built = workflow("w").start(flaky).build()
    built.run(1, { store, clock, runId: "r" })
    await flaky.started()
    flaky.fail(new Error("first"))
    await clock.advance(60)
    const other = manualClock(60)
    const again = built.resume("r", { takeOver: true, store, clock: other })
    await other.advance(39)
    expect(flaky.atWork).toHaveLength(0)
    await other.advance(1)
    const second = await flaky.started()
    expect(second.ctx.attempt).toBe(2)
    second.finish(7)
    expect((await again).outputs).toEqual([7])
  })

  test("keeps what was used, against the same budget (M8)", async () => {
    const store = textStore()
    const spends = (id: string) =>
      node(id, (n: unknown, ctx: Context) => {
        ctx.use({ usd: 1 })
        return n
      })
    const built = workflow("w").chain(spends("a"), asks, spends("b"), spends("c")).build()
    await built.run(1, { store, runId: "r", budget: { usd: 2 } })
    const again = built.resume("r", { takeOver: true, store })
    await again
    await again.respond("r1", 1)
    expect(await again.result).toMatchObject({ status: "limit", usage: { usd: 2 } })
  })

  test("keeps its limits", async () => {
    const store = textStore()
    const clock = manualClock()
    const built = workflow("w")
      .chain(
        start,
        asks,
        node("end", () => 1),
      )
      .build()
    await built.run(1, { store, clock, runId: "r", limits: { supersteps: 2 } })
    const limited = built.resume("r", { takeOver: true, store, clock })
    await limited
    await limited.respond("r1", 1)
    expect((await limited.result).error).toMatchObject({ code: "CONVERGENCE" })
  })

  test("that comes back after its deadline ends as limit", async () => {
    const store = textStore()
    const built = workflow("w").chain(start, asks).build()
    await built.run(1, { store, clock: manualClock(), runId: "r", timeout: 500 })
    const later = manualClock(10_000)
    const again = built.resume("r", { takeOver: true, store, clock: later })
    await again
    await later.advance(0)
    expect(await again.result).toMatchObject({ status: "limit", error: { code: "RUN_TIMEOUT" } })
  })

  test("keeps joins, maps, state, the nodes' own state and the numbers of its tasks", async () => {
    const store = textStore()
    const log = channel("log", append<string>(["first"]))
    const highest = channel(
      "highest",
      reducer<number>("highest", (now, write) => Math.max(now ?? 0, write)),
    )
    const list = node("list", (n: number, ctx: Context) => {
      ctx.state.write(log, ["listed"])
      ctx.state.write(highest, n)
      ctx.local.set("seen", n)
      return [n, n + 1]
    })
    const worker = controlled<number, number>("worker")
    const gather = node("gather", (values: readonly number[], ctx: Context) => ({
      values,
      log: ctx.state.get(log),
      highest: ctx.state.get(highest),
    }))
    const built = workflow("w", { state: [log, highest] })
      .start(list)
      .map(list, worker, gather)
      .build()
    built.run(5, { store, runId: "r" })
    await worker.started(2)
    worker.finish(50)
    await settled()
    const again = built.resume("r", { takeOver: true, store })
    const left = await worker.started(3)
    expect([left.message, left.ctx.task]).toEqual([6, 3])
    left.finish(60)
    expect((await again).outputs).toEqual([{ values: [50, 60], log: ["first", "listed"], highest: 5 }])
  })

  test("lets an answered request stay answered (M7), and a wrong answer is refused as before", async () => {
    const store = textStore()
    const two = workflow("w")
      .start(start)
      .fanOut(start, [asks, controlled<number, number>("hold")])
      .build()
    const first = two.run(1, { store, runId: "r" })
    await settled()
    await first.respond("r1", "once")
    const again = two.resume("r", { takeOver: true, store })
    await settled()
    await expect(again.respond("r1", "twice")).rejects.toMatchObject({ code: "REQUEST_ANSWERED" })
    await expect(again.respond("r9", "?")).rejects.toMatchObject({ code: "REQUEST_UNKNOWN" })
    for (const run of [first, again]) run.cancel()
  })

  test("checks an answer also when the handler has not reached its question again", async () => {
    const store = textStore()
    let gate: Promise<void> = Promise.resolve()
    let open: () => void = () => undefined
    const slow = node("slow", async (_: number, ctx: Context) => {
      await gate
      return ctx.ask({ prompt: "?", schema: z.number() })
    })
    const built = workflow("w").start(slow).build()
    await built.run(1, { store, runId: "r" })
    gate = new Promise((resolve) => {
      open = resolve
    })
    const again = built.resume("r", { takeOver: true, store })
    expect((await again).status).toBe("waiting")
    const wrong = again.respond("r1", "text")
    const refused = expect(wrong).rejects.toMatchObject({ code: "REQUEST_INVALID" })
    await settled()
    open()
    await refused
    await again.respond("r1", 5)
    expect((await again).outputs).toEqual([5])
  })

  test("takes the default of a question whose deadline passed while nobody was there", async () => {
    const store = textStore()
    const dated = node("dated", async (_: number, ctx: Context) =>
      ctx.ask({ prompt: "?", timeout: 100, default: "nobody" }),
    )
    const built = workflow("w").start(dated).build()
    await built.run(1, { store, clock: manualClock(), runId: "r" })
    const later = manualClock(10_000)
    const again = built.resume("r", { takeOver: true, store, clock: later })
    await later.advance(0)
    expect((await again).outputs).toEqual(["nobody"])
  })

  test("keeps the time that a join had left", async () => {
    const store = textStore()
    const hold = controlled<number, number>("hold")
    const both = node("both", (pair: readonly number[]) => pair)
    const built = workflow("w", { schedule: "flow" })
      .start(start)
      .edge(start, hold)
      .fanIn([start, hold], both, { timeout: 100 })
      .build()
    built.run(1, { store, clock: manualClock(), runId: "r" })
    await hold.started()
    const later = manualClock(60)
    const again = built.resume("r", { takeOver: true, store, clock: later })
    await hold.started()
    await later.advance(39)
    expect(later.pending).toBe(1)
    await later.advance(1)
    expect((await again.result).error).toMatchObject({ code: "JOIN_TIMEOUT" })
  })

  test("numbers its events onward, and joins those before it", async () => {
    const store = textStore()
    const built = workflow("w").chain(start, asks).build()
    await built.run(1, { store, runId: "r" })
    const again = built.resume("r", { takeOver: true, store })
    const events: RunEvent[] = []
    const watched = (async () => {
      for await (const event of again.events({ after: 0 })) events.push(event)
    })()
    await again
    await settled()
    await again.respond("r1", 5)
    await watched
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1))
    expect(events.map(({ type }) => type).filter((type) => type.startsWith("run."))).toEqual([
      "run.started",
      "run.waiting",
      "run.resumed",
      "run.finished",
    ])
  })

  test("finds sub-workflows as they were, their requests included", async () => {
    const store = textStore()
    let ran = 0
    const counts = node("counts", (n: number) => n + ++ran)
    const inner = workflow("inner").chain(counts, asks).build()
    const middle = workflow("middle").start(inner.asNode()).build()
    const built = workflow("w").chain(start, middle.asNode()).build()
    const { requests } = await built.run(1, { store, runId: "r" })
    const again = built.resume("r", { takeOver: true, store })
    await settled()
    expect((await again).requests).toEqual(requests)
    await again.respond(requests[0]?.id ?? "", "answer")
    expect((await again).outputs).toEqual(["answer"])
    expect(ran).toBe(1)
  })
})

describe("what cannot be resumed", () => {
  test("a run that the store does not know: RUN_UNKNOWN", async () => {
    const built = workflow("w").start(start).build()
    const run = built.resume("nobody", { store: memoryStore() })
    await expect(run).rejects.toMatchObject({ code: "RUN_UNKNOWN" })
    await expect(run).rejects.toThrow(/"nobody"/)
    await expect(run.respond("r1", 1)).rejects.toMatchObject({ code: "RUN_UNKNOWN" })
    run.cancel()
  })

  test("a store that cannot be read: its error", async () => {
    const store = { ...memoryStore(), run: () => Promise.reject(new Error("no disk")) }
    await expect(workflow("w").start(start).build().resume("r", { takeOver: true, store })).rejects.toThrow(
      "no disk",
    )
  })

  test("a run of a graph that has changed: GRAPH_CHANGED, and no handler runs", async () => {
    const store = memoryStore()
    await workflow("w").chain(start, asks).build().run(1, { store, runId: "r" })
    let ran = 0
    const more = node("more", () => ++ran)
    const changed = workflow("w").chain(start, asks, more).build().resume("r", { takeOver: true, store })
    await expect(changed).rejects.toMatchObject({ code: "GRAPH_CHANGED" })
    expect(ran).toBe(0)
    const other = workflow("other").chain(start, asks).build().resume("r", { takeOver: true, store })
    await expect(other).rejects.toMatchObject({ code: "GRAPH_CHANGED" })
  })

  test("the error says what the difference is", async () => {
    const store = memoryStore()
    await workflow("w").chain(start, asks).build().run(1, { store, runId: "r" })
    const more = node("more", () => 1)
    const changed = workflow("w").chain(start, asks, more).build().resume("r", { takeOver: true, store })
    await expect(changed).rejects.toThrow(/\+ node more/)
  })

  test("a run whose sub-workflow has changed", async () => {
    const store = memoryStore()
    const built = (id: string) => {
      const inner = workflow("inner")
        .start(node(id, async (_: number, ctx) => ctx.ask("?")))
        .build()
      return workflow("w").chain(start, inner.asNode()).build()
    }
    await built("one").run(1, { store, runId: "r" })
    await expect(built("two").resume("r", { takeOver: true, store })).rejects.toMatchObject({
      code: "GRAPH_CHANGED",
    })
    expect((await built("one").resume("r", { takeOver: true, store })).status).toBe("waiting")
  })

  test("a run that calls a workflow which has changed", async () => {
    const store = memoryStore()
    const built = (id: string) => {
      const inner = workflow("inner")
        .start(node(id, async (_: number, ctx) => ctx.ask("?")))
        .build()
      return workflow("w")
        .start(node("calls", async (n: number, ctx) => ctx.call(inner, n)))
        .build()
    }
    await built("one").run(1, { store, runId: "r" })
    const again = built("two").resume("r", { takeOver: true, store })
    const outcome = await again.result.then(
      ({ error }) => error?.code,
      (error: { code: string }) => error.code,
    )
    expect(outcome).toBe("GRAPH_CHANGED")
  })

  test("changed functions, policies and labels are no change of the graph", async () => {
    const store = memoryStore()
    await workflow("w").chain(start, asks).build().run(1, { store, runId: "r" })
    const otherStart = node({ id: "start", retry: { attempts: 9 }, timeout: 5, run: (n: number) => n * 2 })
    const built = workflow("w", { limits: { supersteps: 7 } })
      .chain(otherStart, asks)
      .build()
    expect((await built.resume("r", { takeOver: true, store })).status).toBe("waiting")
  })

  test("a run that another writer has gone on with: the one before it is fenced off", async () => {
    const store = memoryStore()
    const built = workflow("w").start(asks).build()
    const first = built.run(1, { store, runId: "r" })
    await first
    const second = built.resume("r", { takeOver: true, store })
    await second
    await second.respond("r1", "second")
    expect((await second).outputs).toEqual(["second"])
    await expect(first.result).rejects.toMatchObject({ code: "RUN_TAKEN" })
    // It is asked where it is now: it is over there.
    await expect(first.respond("r1", "first")).rejects.toMatchObject({ code: "RUN_OVER" })
  })
})

describe("a crash after any entry of the journal", () => {
  const usage = channel("notes", append<number>())
  const note = (id: string) =>
    node(id, async (n: number, ctx: Context) => {
      const value = await ctx.step("paid", () => n + 1, { usage: () => ({ modelCalls: 1 }) })
      ctx.use({ toolCalls: 1 })
      ctx.state.write(usage, [value])
      return value
    })
  const list = (id: string) => node(id, (n: number) => [n, n + 1, n + 2])
  const sum = (id: string) => node(id, (values: readonly number[]) => values.reduce((a, b) => a + b, 0))
  const state = [usage]
  const flaky = node({
    id: "flaky",
    retry: { attempts: 2, delay: 0 },
    run: (n: number, ctx: Context) => {
      if (ctx.attempt === 1) throw new Error("first time")
      return n
    },
  })
  const all = list("all")
  const inner = workflow("inner", { state })
    .chain(note("a"), flaky, all)
    .map(all, note("each"), sum("sum"))
    .build()
  const graphs: [string, Workflow<number, unknown>][] = [
    ["a chain", workflow("w", { state }).chain(note("a"), note("b"), note("c")).build()],
    [
      "a fan-out with joins",
      (() => {
        const [a, b, c] = [note("a"), note("b"), note("c")]
        return workflow("w", { state })
          .start(start)
          .fanOut(start, [a, b, c])
          .fanIn([a, b, c], sum("all"))
          .fanIn([a, b, c], sum("some"), { join: quorum(2) })
          .build()
      })(),
    ],
    [
      "a loop in flow mode",
      (() => {
        const a = note("a")
        return workflow("w", { state, schedule: "flow" }).start(a).loop(a, a, { max: 4 }).build()
      })(),
    ],
    [
      "a sub-workflow with a map and a retry",
      workflow("w", { state }).chain(note("x"), inner.asNode()).build(),
    ],
    [
      "a question that the caller answers",
      (() => {
        const asking = node("asking", async (n: number, ctx: Context): Promise<number> => {
          ctx.use({ toolCalls: 1 })
          return n + (await ctx.ask<number>("how much?"))
        })
        const sub = workflow("sub", { state }).chain(asking, note("after")).build()
        return workflow("w", { state })
          .chain(note("x"), sub.asNode({ onRequest: () => 10 }))
          .build()
      })(),
    ],
    [
      "calls",
      workflow("w", { state })
        .start(
          node("calls", async (n: number, ctx: Context) => {
            const both = await Promise.all([ctx.call(inner, n), ctx.call(inner, n + 1)])
            return both.flat().concat(await ctx.call(inner, 100))
          }),
        )
        .build(),
    ],
  ]

  test.each(graphs)("of %s: the resumed run ends the same, and counts the same", async (_, built) => {
    const store = textStore()
    const first = await built.run(1, { store, runId: "r" })
    const { outputs, state: end, usage: used, status, supersteps } = first
    const lines = store.lines("r")
    expect(lines.length).toBeGreaterThan(5)
    for (const count of store.ends("r")) {
      const resumed = await built.resume("r", { store: storeWithPrefix("r", lines, count, store) })
      const after = { outputs: resumed.outputs, state: resumed.state, status: resumed.status }
      expect({ count, ...after }).toEqual({ count, outputs, state: end, status })
      expect({ count, supersteps: resumed.supersteps }).toEqual({ count, supersteps })
      expect({ count, usage: resumed.usage }).toEqual({ count, usage: used })
    }
  })
})
