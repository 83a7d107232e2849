import { describe, expect, test } from "vitest"
import {
  add,
  type Context,
  channel,
  memoryStore,
  node,
  type RunOptions,
  type Store,
  workflow,
} from "../../index.ts"
import { controlled, manualClock, settled } from "../../testing/index.ts"
import { textStore } from "./stores.test-support.ts"
import {
  asking,
  chat,
  dyingStore,
  eventsOf,
  messages,
  says,
  slowStore,
  stateOf,
  turn,
} from "./thread.test-support.ts"

describe("a thread has one run at a time", () => {
  const busy = (store: Store, text = "other") => chat.run(text, { store, thread: "t" }).result

  test("another one is refused while the first is at work, and the error names it", async () => {
    const store = memoryStore()
    const stuck = controlled<string, string>("stuck")
    const built = workflow("w", { state: [messages] })
      .start(stuck)
      .build()
    const run = built.run("one", { store, thread: "t", runId: "first" })
    await stuck.started()
    await expect(busy(store)).rejects.toMatchObject({ code: "THREAD_BUSY", run: "first" })
    await expect(busy(store)).rejects.toThrow(/"t".*"first"/)
    expect((await chat.run("beside", { store, thread: "u" })).status).toBe("completed")
    stuck.finish("done")
    await run
    expect((await chat.run("two", { store, thread: "t" })).status).toBe("completed")
  })

  test("another one is refused while the first waits for a person", async () => {
    const store = memoryStore()
    const run = asking.run("one", { store, thread: "t", runId: "first" })
    expect((await run).status).toBe("waiting")
    await expect(busy(store)).rejects.toMatchObject({ code: "THREAD_BUSY", run: "first" })
    await run.respond("r1", "yes")
    expect((await run).status).toBe("completed")
    expect((await chat.run("two", { store, thread: "t" })).outputs).toEqual([["one"]])
  })

  test("one that is refused has run no handler, and is not in the store", async () => {
    const store = memoryStore()
    const first = asking.run("one", { store, thread: "t" })
    await first
    let ran = false
    const built = workflow("w", { state: [messages] })
      .start(
        node("n", () => {
          ran = true
        }),
      )
      .build()
    const refused = built.run("two", { store, thread: "t", runId: "refused" })
    await expect(refused.result).rejects.toMatchObject({ code: "THREAD_BUSY" })
    expect([ran, await store.run("refused")]).toEqual([false, undefined])
    first.cancel()
    await first.result
    expect((await built.run("two", { store, thread: "t", runId: "refused" })).status).toBe("completed")
  })

  test("whoever watches one that is refused gets the error", async () => {
    const store = memoryStore()
    await asking.run("one", { store, thread: "t" })
    const watch = async () => {
      for await (const event of chat.stream("two", { store, thread: "t" })) expect(event).toBeUndefined()
    }
    await expect(watch()).rejects.toMatchObject({ code: "THREAD_BUSY" })
  })

  test("of several that start at once one goes, and the others are refused", async () => {
    for (const store of [memoryStore(), slowStore(memoryStore())]) {
      const results = await Promise.allSettled(
        ["a", "b", "c", "d"].map((text) => asking.run(text, { store, thread: "t" }).result),
      )
      expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1)
      for (const result of results) {
        if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "THREAD_BUSY" })
      }
    }
  })

  test.each<[string, (store: Store) => Promise<unknown>]>([
    ["completes", (store) => chat.run("one", { store, thread: "t" }).result],
    [
      "fails",
      (store) => {
        const fails = node("fails", (): never => {
          throw new Error("no luck")
        })
        return workflow("w", { state: [messages] })
          .start(fails)
          .build()
          .run("one", { store, thread: "t" }).result
      },
    ],
    [
      "is cancelled while it waits",
      async (store) => {
        const run = asking.run("one", { store, thread: "t" })
        await run
        run.cancel()
        return run.result
      },
    ],
    [
      "is cancelled before it began",
      (store) => chat.run("one", { store, thread: "t", signal: AbortSignal.abort() }).result,
    ],
    [
      "runs out of time",
      async (store) => {
        const clock = manualClock()
        const run = asking.run("one", { store, thread: "t", clock, timeout: 100 })
        await clock.advance(100)
        return run.result
      },
    ],
  ])("it is free as soon as its run %s", async (_, end) => {
    const store = memoryStore()
    await end(store)
    expect((await chat.run("next", { store, thread: "t" })).status).toBe("completed")
  })

  test("one that read it just before the last one added to it is refused, and begins with that when tried again", async () => {
    const store = memoryStore()
    let answer = () => {}
    const slow: Store = {
      ...store,
      thread: (...args) => {
        const found = store.thread(...args)
        return new Promise((resolve) => {
          answer = () => resolve(found)
        })
      },
    }
    const first = asking.run("one", { store, thread: "t" })
    await first
    const late = chat.run("two", { store: slow, thread: "t", runId: "late" }).result
    await settled()
    await first.respond("r1", "yes")
    expect((await first).status).toBe("completed")
    answer()
    await expect(late).rejects.toMatchObject({ code: "THREAD_BUSY", message: expect.stringContaining('"t"') })
    expect(await store.run("late")).toBeUndefined()
    expect((await chat.run("two", { store, thread: "t", runId: "late" })).outputs).toEqual([["one"]])
  })

  test("starting the same run again, by its id or key, is joining it", async () => {
    const store = memoryStore()
    const options: RunOptions = { store, thread: "t", key: "k" }
    const first = asking.run("one", options)
    await first
    const again = asking.run("one", options)
    expect(await again).toMatchObject({ runId: first.id, status: "waiting" })
    const byId = asking.run("one", { store, thread: "t", runId: first.id })
    expect((await byId).status).toBe("waiting")
    await again.respond("r1", "yes")
    expect((await first).status).toBe("completed")
    expect(await stateOf(store)).toEqual({ messages: ["one"] })
  })
})

describe("a run of a thread that is resumed", () => {
  test("keeps the thread, and adds to it once", async () => {
    const store = textStore()
    await chat.run("zero", { store, thread: "t" })
    await asking.run("one", { store, thread: "t", runId: "r" })
    const again = asking.resume("r", { store })
    expect(await again).toMatchObject({ status: "waiting", state: { messages: ["zero", "one"] } })
    await expect(chat.run("other", { store, thread: "t" }).result).rejects.toMatchObject({
      code: "THREAD_BUSY",
    })
    await again.respond("r1", "yes")
    expect((await again).state).toEqual({ messages: ["zero", "one"] })
    expect(await stateOf(store)).toEqual({ messages: ["zero", "one"] })
    expect((await chat.run("two", { store, thread: "t" })).outputs).toEqual([["zero", "one"]])
  })

  test("has what it found when it started, whatever was written after it", async () => {
    const store = textStore()
    for (const text of ["one", "two", "three"]) await chat.run(text, { store, thread: "t", runId: text })
    expect(await chat.resume("two", { store })).toMatchObject({
      outputs: [["one"]],
      state: { messages: ["one", "two"], turn: ["two"] },
    })
  })

  test("has of a thread that workflows share what it has a channel for, as before", async () => {
    const store = textStore()
    const count = channel("count", add(), { persist: true })
    const counts = workflow("counts", { state: [count] })
      .start(node("n", (_: number, ctx: Context) => ctx.state.write(count, 1)))
      .build()
    // The same name, and does not last.
    const own = channel("count", add())
    const both = workflow("both", { state: [messages, own] })
      .start(node("asks", (_: string, ctx: Context) => ctx.ask("And?")))
      .build()
    await counts.run(1, { store, thread: "t" })
    for (const built of [asking, both]) {
      const { runId, state } = await built.run("one", { store, thread: "t" })
      const again = built.resume(runId, { store })
      expect((await again).state).toEqual(state)
      again.cancel()
      await again.result
      const [started] = await eventsOf(again.events({ after: 0 }))
      expect(started).toMatchObject({ type: "run.started", state: { messages: [] } })
      expect(started).not.toHaveProperty("state.count", 1)
    }
  })

  test("ends as it would have without, at whatever write the process died", async () => {
    const built = workflow("w", { state: [messages, turn] })
      .chain(
        says,
        node("again", (heard: readonly string[], ctx: Context) => {
          ctx.state.write(messages, [`heard ${heard.length}`])
          return ctx.step("step", () => heard.length)
        }),
      )
      .build()
    const undisturbed = textStore()
    await chat.run("zero", { store: undisturbed, thread: "t" })
    const { state, outputs } = await built.run("one", { store: undisturbed, thread: "t", runId: "r" })
    const appends = undisturbed.ends("r").length
    expect(appends).toBeGreaterThan(2)
    for (let dies = 1; dies < appends; dies++) {
      const store = textStore()
      await chat.run("zero", { store, thread: "t" })
      const dead = built.run("one", { store: dyingStore(store, dies), thread: "t", runId: "r" })
      await expect(dead.result).rejects.toMatchObject({ code: "JOURNAL_LOST" })
      await expect(chat.run("x", { store, thread: "t" }).result).rejects.toMatchObject({
        code: "THREAD_BUSY",
        run: "r",
      })
      expect({ dies, ...(await built.resume("r", { store, takeOver: true })) }).toMatchObject({
        dies,
        state,
        outputs,
      })
      expect(await store.thread("t")).toEqual(await undisturbed.thread("t"))
    }
  })

  test("tells the same events again as those who watched it saw", async () => {
    const store = textStore()
    await chat.run("zero", { store, thread: "t" })
    const run = chat.stream("one", { store, thread: "t" })
    const live = await eventsOf(run)
    expect(await eventsOf(run.events({ after: 0 }))).toEqual(live)
    expect(live[0]).toMatchObject({ type: "run.started", state: { messages: ["zero"] } })
  })
})

describe("a fork of a thread's run", () => {
  /** A run that has the first records of another one. */
  async function fork(store: Store, from: string, seq: number, runId: string, at: number): Promise<void> {
    const row = await store.run(from)
    const past = (await store.read(from, 0))[seq - 1]
    if (row === undefined || past === undefined) throw new Error(`no record ${seq} of ${from}`)
    const entry = { type: "run.forked", at, runId, from: { runId: from, seq }, later: 0 } as const
    const lease = { runId, holder: "whoever forks", token: 1 }
    const created = { workflow: row.workflow, graph: row.graph, forkOf: { runId: from, seq } }
    await store.append(lease, seq, [{ seq: seq + 1, frame: "", entry, events: past.events + 1 }], { created })
    await store.release(lease, undefined)
  }

  test("has the thread as its first run found it, by reference, though it has gone on", async () => {
    const store = textStore()
    await chat.run("one", { store, thread: "t" })
    const before = await store.thread("t")
    await asking.run("two", { store, thread: "t", runId: "r" })
    const waiting = await store.run("r")
    const run = asking.resume("r", { store })
    await run
    await run.respond("r1", "yes")
    await run
    await chat.run("three", { store, thread: "t" })
    expect(await stateOf(store)).toEqual({ messages: ["one", "two", "three"] })
    expect(await store.thread("t", before.version)).toEqual(before)

    await fork(store, "r", waiting?.seq as number, "f", 0)
    const forked = asking.resume("f", { store })
    expect(await forked).toMatchObject({ runId: "f", status: "waiting", state: { messages: ["one", "two"] } })
    await forked.respond("r1", "no")
    expect(await forked).toMatchObject({ outputs: ["no"], state: { messages: ["one", "two"] } })
    const own = JSON.stringify((await store.read("f", waiting?.seq as number)).map(({ entry }) => entry))
    expect(own).not.toContain("one")
  })

  test("that is not of the thread leaves it alone, and is not kept out by its runs", async () => {
    const store = textStore()
    await chat.run("one", { store, thread: "t" })
    await asking.run("two", { store, thread: "t", runId: "r" })
    const waiting = await store.run("r")
    await fork(store, "r", waiting?.seq as number, "f", 0)
    const forked = asking.resume("f", { store })
    await forked
    await forked.respond("r1", "no")
    expect((await forked).status).toBe("completed")
    expect(await stateOf(store)).toEqual({ messages: ["one"] })
    await expect(chat.run("x", { store, thread: "t" }).result).rejects.toMatchObject({
      code: "THREAD_BUSY",
      run: "r",
    })
  })
})
