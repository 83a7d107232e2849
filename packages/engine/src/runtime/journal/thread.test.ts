import { describe, expect, test } from "vitest"
import {
  add,
  append,
  type Channel,
  type Context,
  channel,
  memoryStore,
  merge,
  node,
  reducer,
  replace,
  type Store,
  union,
  workflow,
} from "../../index.ts"
import { controlled, settled } from "../../testing/index.ts"
import { textStore } from "./stores.test-support.ts"
import { chat, messages, stateOf, turn, watched } from "./thread.test-support.ts"

describe("state of a thread", () => {
  test("lasts from run to run: each one begins with what those before it left", async () => {
    const store = memoryStore()
    const heard: unknown[] = []
    for (const text of ["one", "two", "three"]) {
      const { outputs, state } = await chat.run(text, { store, thread: "t" })
      heard.push(outputs[0])
      expect((state.messages as string[]).at(-1)).toBe(text)
    }
    expect(heard).toEqual([[], ["one"], ["one", "two"]])
    expect(await stateOf(store)).toEqual({ messages: ["one", "two", "three"] })
  })

  test("is that of its persistent channels alone: the others begin anew", async () => {
    const store = memoryStore()
    await chat.run("one", { store, thread: "t" })
    const { state } = await chat.run("two", { store, thread: "t" })
    expect(state).toEqual({ messages: ["one", "two"], turn: ["two"] })
  })

  test("is its own: other threads, and runs without one, have nothing of it", async () => {
    const store = memoryStore()
    await chat.run("one", { store, thread: "a" })
    expect((await chat.run("two", { store, thread: "b" })).outputs).toEqual([[]])
    expect((await chat.run("three", { store })).state.messages).toEqual(["three"])
    expect((await chat.run("four", { store: memoryStore(), thread: "a" })).outputs).toEqual([[]])
    expect(await stateOf(store, "a")).toEqual({ messages: ["one"] })
    expect(await stateOf(store, "b")).toEqual({ messages: ["two"] })
  })

  test("begins with a channel's first value, once", async () => {
    const store = memoryStore()
    const greeted = channel("messages", append(["hello"]), { persist: true })
    const built = workflow("w", { state: [greeted] })
      .start(node("n", (text: string, ctx: Context) => ctx.state.write(greeted, [text])))
      .build()
    await built.run("one", { store, thread: "t" })
    expect((await built.run("two", { store, thread: "t" })).state.messages).toEqual(["hello", "one", "two"])
    expect(await stateOf(store)).toEqual({ messages: ["hello", "one", "two"] })
  })

  test("is written at the end, in the write that ends the run, and not before", async () => {
    const store = watched(memoryStore())
    const last = controlled<string, string>("last")
    const built = workflow("w", { state: [messages, turn] })
      .chain(
        node("n", (text: string, ctx: Context) => {
          ctx.state.write(messages, [text])
          return text
        }),
        last,
      )
      .build()
    const run = built.run("one", { store, thread: "t" })
    await last.started()
    expect(await stateOf(store)).toEqual({})
    last.finish("done")
    await run
    expect(store.writes).toEqual([[{ key: "messages", kind: "append", value: ["one"] }]])
  })

  test("is known to a store as that of the run's thread", async () => {
    const store = memoryStore()
    await chat.run("one", { store, thread: "t", runId: "r" })
    await chat.run("two", { store, thread: "other" })
    expect(await store.run("r")).toMatchObject({ thread: "t" })
    expect((await store.runs({ thread: "t" })).map(({ runId }) => runId)).toEqual(["r"])
  })

  test("may be shared by workflows: each takes what it has a channel for, and leaves the rest alone", async () => {
    const store = textStore()
    const count = channel("count", add(), { persist: true })
    const counts = workflow("counts", { state: [count] })
      .start(node("n", (_: number, ctx: Context) => ctx.state.write(count, 1)))
      .build()
    await chat.run("one", { store, thread: "t" })
    expect((await counts.run(1, { store, thread: "t" })).state).toEqual({ count: 1 })
    expect((await chat.run("two", { store, thread: "t" })).state).toEqual({
      messages: ["one", "two"],
      turn: ["two"],
    })
    expect((await counts.run(1, { store, thread: "t" })).state).toEqual({ count: 2 })
    expect(await stateOf(store)).toEqual({ messages: ["one", "two"], count: 2 })
  })

  test("is the run's, not that of the workflows that it calls", async () => {
    const store = memoryStore()
    await chat.run("before", { store, thread: "t" })
    const outer = workflow("outer", { state: [messages] })
      .start(
        node("calls", async (text: string, ctx: Context) => {
          ctx.state.write(messages, ["outer"])
          return ctx.call(chat, text)
        }),
      )
      .build()
    const { outputs, state } = await outer.run("inner", { store, thread: "t" })
    expect(outputs).toEqual([[[]]])
    expect(state.messages).toEqual(["before", "outer"])
    expect(await stateOf(store)).toEqual({ messages: ["before", "outer"] })
  })

  test("begins anew when the thread is removed", async () => {
    const store = memoryStore()
    await chat.run("one", { store, thread: "t" })
    await store.removeThread("t")
    expect((await chat.run("two", { store, thread: "t" })).outputs).toEqual([[]])
  })

  test("may be given beside: first values of the channels that do not last", async () => {
    const store = memoryStore()
    await chat.run("one", { store, thread: "t" })
    const { state } = await chat.run("two", { store, thread: "t", state: { turn: ["passed"] } })
    expect(state).toEqual({ messages: ["one", "two"], turn: ["passed", "two"] })
  })
})

describe("what a run adds to its thread", () => {
  const list = channel("list", append<number>(), { persist: true })
  const set = channel("set", union<string>(), { persist: true })
  const sum = channel("sum", add(), { persist: true })
  const facts = channel("facts", merge<{ a?: number; b?: number }>({}), { persist: true })
  const last = channel("last", replace<number>(), { persist: true })
  const longest = channel(
    "longest",
    reducer<string>("longest", (now, write) => ((now?.length ?? 0) < write.length ? write : (now ?? "")), ""),
    { persist: true },
  )
  type Writes = {
    list?: number[]
    set?: string[]
    sum?: number
    facts?: object
    last?: number
    longest?: string
  }
  const all: Channel[] = [list, set, sum, facts, last, longest]
  const writes = node("writes", (input: Writes, ctx: Context) => {
    for (const one of all) {
      const value = input[one.key as keyof Writes]
      if (value !== undefined) ctx.state.write(one, value as never)
    }
  })
  const built = workflow("w", { state: all }).start(writes).build()

  test("is the new items of a list, and the new value of everything else", async () => {
    const store = watched(memoryStore())
    await built.run(
      { list: [1, 2], set: ["x", "y"], sum: 5, facts: { a: 1 }, last: 1, longest: "long" },
      { store, thread: "t" },
    )
    await built.run(
      { list: [3], set: ["y", "z"], sum: 2, facts: { b: 2 }, last: 2, longest: "longer" },
      { store, thread: "t" },
    )
    expect(store.writes[1]).toEqual([
      { key: "list", kind: "append", value: [3] },
      { key: "set", kind: "append", value: ["z"] },
      { key: "sum", kind: "set", value: 7 },
      { key: "facts", kind: "set", value: { a: 1, b: 2 } },
      { key: "last", kind: "set", value: 2 },
      { key: "longest", kind: "set", value: "longer" },
    ])
    const end = {
      list: [1, 2, 3],
      set: ["x", "y", "z"],
      sum: 7,
      facts: { a: 1, b: 2 },
      last: 2,
      longest: "longer",
    }
    expect(await stateOf(store)).toEqual(end)
    expect((await built.run({}, { store, thread: "t" })).state).toEqual(end)
  })

  test("is nothing where nothing changed", async () => {
    const store = watched(memoryStore())
    const same = { set: ["x"], facts: { a: 1 }, last: 1, longest: "long" }
    await built.run({ ...same, list: [1] }, { store, thread: "t" })
    const { version } = await store.thread("t")
    await built.run({ ...same, list: [], sum: 0 }, { store, thread: "t" })
    expect(store.writes[1]).toEqual([])
    expect((await store.thread("t")).version).toBe(version)
  })

  test("leaves earlier versions as they were", async () => {
    const store = memoryStore()
    const versions: { version: number; list: unknown; facts: unknown }[] = []
    for (let i = 1; i <= 4; i++) {
      await built.run({ list: [i], facts: i % 2 === 0 ? { a: i } : { b: i } }, { store, thread: "t" })
      const { version, state } = await store.thread("t")
      versions.push({ version, list: state.list, facts: state.facts })
    }
    expect(versions.map(({ list: items }) => items)).toEqual([[1], [1, 2], [1, 2, 3], [1, 2, 3, 4]])
    for (const { version, ...then } of versions) {
      expect((await store.thread("t", version)).state).toMatchObject(then)
    }
  })

  test("is nothing when it failed or was cancelled, and what it has when it hit a limit", async () => {
    const store = watched(memoryStore())
    await chat.run("kept", { store, thread: "t" })
    const ends = node("ends", (how: string, ctx: Context) => {
      ctx.state.write(messages, [how])
      return how
    })
    const then = node("then", (how: string): Promise<string> | string => {
      if (how === "fails") throw new Error("no luck")
      return how === "hangs" ? new Promise(() => undefined) : how
    })
    const ending = workflow("ending", { state: [messages] })
      .chain(ends, then)
      .loop(then, then, { while: (how) => how === "continues" })
      .build()
    expect((await ending.run("fails", { store, thread: "t" }).result).status).toBe("failed")
    const hangs = ending.run("hangs", { store, thread: "t" })
    await settled()
    hangs.cancel()
    expect((await hangs.result).status).toBe("cancelled")
    expect(store.writes).toHaveLength(1)
    const limited = ending.run("continues", { store, thread: "t", limits: { supersteps: 5 } })
    expect((await limited.result).status).toBe("limit")
    expect(store.writes).toHaveLength(2)
    expect((await chat.run("next", { store, thread: "t" })).outputs).toEqual([["kept", "continues"]])
  })

  test("is what it has when it completed along its way out of a limit", async () => {
    const store = memoryStore()
    const again = node("again", (text: string, ctx: Context) => {
      ctx.state.write(messages, [text])
      return text
    })
    const out = node("out", ({ code }: { code: string }) => code)
    const built = workflow("w", { state: [messages], limits: { supersteps: 3 } })
      .start(again)
      .loop(again, again, { while: () => true })
      .onLimit(out)
      .build()
    expect((await built.run("x", { store, thread: "t" })).status).toBe("completed")
    expect(await stateOf(store)).toEqual({ messages: ["x", "x", "x"] })
  })
})

describe("a thread's journals", () => {
  test("do not repeat its state: the second run names the version that it began with", async () => {
    const store = textStore()
    await chat.run("a secret of the first run", { store, thread: "t", runId: "first" })
    await chat.run("two", { store, thread: "t", runId: "second" })
    const [started, ...rest] = await store.read("second", 0)
    expect(started?.entry).toMatchObject({ type: "run.started", thread: { id: "t", version: 1 } })
    expect(started?.entry).not.toHaveProperty("state")
    // Messages are in the output, which the node made of them; the engine itself writes them nowhere else.
    expect(JSON.stringify(started)).not.toContain("secret")
    expect(JSON.stringify(rest.map(({ entry }) => ({ ...entry, sends: [] })))).not.toContain("secret")
  })

  test("stay as short as a turn is, over 200 of them", async () => {
    const store = watched(textStore())
    const talks = workflow("talks", { state: [messages] })
      .chain(
        node("hears", (text: string, ctx: Context) => {
          ctx.state.write(messages, [text])
          return ctx.state.get(messages).length
        }),
        node("answers", (count: number, ctx: Context) => {
          ctx.state.write(messages, [`answer ${String(count).padStart(4)}`])
        }),
      )
      .build()
    const bytes: number[] = []
    for (let i = 0; i < 200; i++) {
      const text = `turn ${String(i).padStart(4)} ${"x".repeat(200)}`
      const { runId, state } = await talks.run(text, { store, thread: "t" })
      expect((state.messages as string[]).length).toBe(2 * (i + 1))
      const row = await store.run(runId)
      bytes.push(row?.bytes ?? Number.POSITIVE_INFINITY)
    }
    // But for the digits of numbers that grow.
    expect(Math.max(...bytes) - Math.min(...bytes)).toBeLessThan(20)
    expect(store.writes.every((writes) => JSON.stringify(writes).length < 400)).toBe(true)
    expect((await stateOf(store)).messages).toHaveLength(400)
    const { threads } = await store.report()
    expect(threads.bytes).toBeLessThan(200 * 400)
  })
})

describe("a thread that cannot be had", () => {
  const nothing = workflow("nothing", { state: [turn] })
    .start(node("n", (n: string) => n))
    .build()

  test("a workflow without a persistent channel: it would keep nothing", async () => {
    const run = nothing.run("x", { store: memoryStore(), thread: "t" })
    await expect(run.result).rejects.toMatchObject({ code: "OPTION_INVALID" })
    await expect(run.result).rejects.toThrow(/"nothing" has no persistent channel.*"t".*persist: true/)
  })

  test("a value for a persistent channel: it has one already", async () => {
    const store = memoryStore()
    const run = chat.run("x", { store, thread: "t", state: { messages: ["passed"] } })
    await expect(run.result).rejects.toMatchObject({ code: "OPTION_INVALID" })
    await expect(run.result).rejects.toThrow(/state\.messages.*"t"/)
    expect(await store.runs({})).toEqual([])
    // Without a thread it may be passed.
    expect((await chat.run("x", { store, state: { messages: ["passed"] } })).outputs).toEqual([["passed"]])
  })

  test("no store to keep it", async () => {
    const run = chat.run("x", { thread: "t" })
    await expect(run.result).rejects.toMatchObject({ code: "OPTION_INVALID" })
    await expect(run.result).rejects.toThrow(/"t" needs a store/)
  })

  test.each([[""], [5], [null], [{}]])("a name that is none: %j", async (thread) => {
    const run = chat.run("x", { store: memoryStore(), thread: thread as never })
    await expect(run.result).rejects.toMatchObject({
      code: "OPTION_INVALID",
      message: expect.stringContaining("thread must be a non-empty string"),
    })
  })

  test("a value that the channel does not take: it is refused before anything runs, and the thread stays free", async () => {
    const store = memoryStore()
    const text = channel("messages", replace<string>(), { persist: true })
    const other = workflow("other", { state: [text] })
      .start(node("n", (value: string, ctx: Context) => ctx.state.write(text, value)))
      .build()
    await other.run("not a list", { store, thread: "t" })
    const run = chat.run("x", { store, thread: "t", runId: "r" })
    await expect(run.result).rejects.toMatchObject({ code: "OPTION_INVALID" })
    await expect(run.result).rejects.toThrow(/"t".*messages.*"append" needs a list/)
    expect(await store.run("r")).toBeUndefined()
    expect((await other.run("still free", { store, thread: "t" })).status).toBe("completed")
  })

  test("a store that cannot be asked for it: its error, and nothing ran", async () => {
    for (const thread of [
      () => Promise.reject(new Error("no disk")),
      () => {
        throw new Error("no disk")
      },
    ]) {
      const store: Store = { ...memoryStore(), thread }
      await expect(chat.run("x", { store, thread: "t" }).result).rejects.toThrow("no disk")
      expect(await store.runs({})).toEqual([])
    }
  })
})
