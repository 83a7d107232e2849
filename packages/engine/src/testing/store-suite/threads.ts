/** Store suite: threads. State that persists from run to run, at every version that it had. */
import assert from "node:assert/strict"
import type { Json } from "../../core/index.ts"
import type { ThreadWrite } from "../../runtime/index.ts"
import { add, end, rejects, type StoreCases, set, start, startAndEnd, take, write } from "./steps.ts"
import { VALUES } from "./values.ts"

export const threadCases: StoreCases = {
  async "admits a run only if the thread has not changed since the run read it"(store) {
    await startAndEnd(store, "first", { thread: "t", threadVersion: 0, change: { thread: [set("k", 1)] } })
    await rejects(() => start(store, "late", { thread: "t", threadVersion: 0 }), "THREAD_BUSY")
    assert.equal(await store.run("late"), undefined)
    await start(store, "next", { thread: "t", threadVersion: 1 })
  },

  async "has an empty state, at version 0, of an unknown thread"(store) {
    assert.deepEqual(await store.thread("t"), { version: 0, state: {} })
    assert.deepEqual(await store.thread("t", 0), { version: 0, state: {} })
    assert.deepEqual(await store.thread("t", 3), { version: 0, state: {} })
    await start(store, "r", { thread: "t" })
    assert.deepEqual(await store.thread("t"), { version: 0, state: {} })
  },

  async "has the state after each of its writes, for as long as the thread exists"(store) {
    const writes: ThreadWrite[] = [
      set("name", "anna"),
      add("messages", "one"),
      add("messages", "two", "three"),
      set("name", "ben"),
      add("messages"),
      set("messages", ["new"]),
      add("messages", ["a list in the list"], null),
      set("name", null),
    ]
    const states: { [key: string]: Json }[] = [
      {},
      { name: "anna" },
      { name: "anna", messages: ["one"] },
      { name: "anna", messages: ["one", "two", "three"] },
      { name: "ben", messages: ["one", "two", "three"] },
      { name: "ben", messages: ["one", "two", "three"] },
      { name: "ben", messages: ["new"] },
      { name: "ben", messages: ["new", ["a list in the list"], null] },
      { name: null, messages: ["new", ["a list in the list"], null] },
    ]
    const lease = await start(store, "r", { thread: "t", change: { thread: writes.slice(0, 3) } })
    await write(store, lease, { thread: writes.slice(3, 4) })
    await write(store, lease, { thread: writes.slice(4) })
    for (const [version, state] of states.entries()) {
      assert.deepEqual(await store.thread("t", version), { version, state })
    }
    assert.deepEqual(await store.thread("t"), { version: 8, state: states[8] })
    assert.deepEqual(await store.thread("t", 99), { version: 8, state: states[8] })
  },

  async "creates the list if the first write to a key is an addition, even an empty one"(store) {
    await start(store, "r", { thread: "t", change: { thread: [add("some", 1, 2), add("none")] } })
    assert.deepEqual(await store.thread("t"), { version: 2, state: { some: [1, 2], none: [] } })
  },

  async "persists from run to run, whatever their workflows"(store) {
    for (let i = 0; i < 5; i++) {
      const thread = [add("turns", `turn ${i}`), set("last", i)]
      await startAndEnd(store, `run ${i}`, { thread: "t", workflow: `w${i}`, change: { thread } })
    }
    const turns = ["turn 0", "turn 1", "turn 2", "turn 3", "turn 4"]
    assert.deepEqual(await store.thread("t"), { version: 10, state: { turns, last: 4 } })
    assert.deepEqual(await store.thread("t", 3), { version: 3, state: { turns: turns.slice(0, 2), last: 0 } })
  },

  async "has the writes of the append that ended the run, by its holder"(store) {
    await start(store, "r", { thread: "t", change: { thread: [add("by", "first")] } })
    const lease = await take(store, "r", "other")
    await write(store, lease, { thread: [add("by", "second")] })
    await write(store, lease, { status: "completed", thread: [add("by", "end")] })
    assert.deepEqual(await store.thread("t"), { version: 3, state: { by: ["first", "second", "end"] } })
  },

  async "accepts writes without a record"(store) {
    const lease = await start(store, "r", { thread: "t" })
    await store.append(lease, 1, [], { thread: [set("k", 1)] })
    assert.deepEqual(await store.thread("t"), { version: 1, state: { k: 1 } })
  },

  async "keeps nothing of a rejected append"(store) {
    const lease = await start(store, "r", { thread: "t" })
    await rejects(() => store.append(lease, 7, [], { thread: [set("k", 1)] }), "JOURNAL_CONFLICT")
    await take(store, "r", "other")
    await rejects(() => store.append(lease, 1, [], { thread: [set("k", 1)] }), "RUN_TAKEN")
    await rejects(
      () => start(store, "second", { thread: "t", change: { thread: [set("k", 1)] } }),
      "THREAD_BUSY",
    )
    assert.deepEqual(await store.thread("t"), { version: 0, state: {} })
  },

  async "keeps values of every kind, set and added"(store) {
    const writes = VALUES.flatMap((value, i) => [set(`${i}`, value), add("all", value)])
    await start(store, "r", { thread: "t", change: { thread: writes } })
    const state: { [key: string]: Json } = Object.fromEntries(VALUES.map((value, i) => [`${i}`, value]))
    assert.deepEqual(await store.thread("t"), {
      version: writes.length,
      state: { ...state, all: [...VALUES] },
    })
  },

  async "separates threads from each other, and from the state of runs without one"(store) {
    await start(store, "a", { thread: "a", change: { thread: [set("k", "a")] } })
    await start(store, "b", { thread: "b", change: { thread: [set("k", "b")] } })
    await start(store, "c")
    assert.deepEqual(await store.thread("a"), { version: 1, state: { k: "a" } })
    assert.deepEqual(await store.thread("b"), { version: 1, state: { k: "b" } })
    assert.equal((await store.report()).threads.count, 2)
  },

  async "returns copies: a later write does not change what was read"(store) {
    const lease = await start(store, "r", { thread: "t", change: { thread: [set("l", [1]), add("l", 2)] } })
    const before = await store.thread("t")
    await write(store, lease, { thread: [add("l", 3), set("m", 1)] })
    assert.deepEqual(before, { version: 2, state: { l: [1, 2] } })
    assert.deepEqual(await store.thread("t", 1), { version: 1, state: { l: [1] } })
  },

  async "keeps a thread's state when its runs are removed"(store) {
    await startAndEnd(store, "r", {
      thread: "t",
      change: { thread: [set("k", "x".repeat(100_000)), add("l", 1)] },
    })
    await startAndEnd(store, "s", { thread: "t", change: { thread: [add("l", 2)] } })
    const before = await store.thread("t")
    await store.remove("r")
    await store.prune({ keep: 0 })
    assert.deepEqual(await store.runs({}), [])
    assert.deepEqual(await store.thread("t"), before)
  },

  async "lists threads that have state or a run in flight, in pages and by prefix"(store) {
    await startAndEnd(store, "r", { thread: "b", change: { thread: [set("k", 1)] } })
    await startAndEnd(store, "s", { thread: "without state" })
    await start(store, "t", { thread: "a" })
    await start(store, "u", { thread: "b" })
    await startAndEnd(store, "v", { thread: "c: ü", change: { thread: [set("k", 1)] } })
    assert.deepEqual(await store.threads(), ["a", "b", "c: ü"])
    assert.deepEqual(await store.threads({ limit: 2 }), ["a", "b"])
    assert.deepEqual(await store.threads({ after: "a", limit: 1 }), ["b"])
    assert.deepEqual(await store.threads({ prefix: "c:" }), ["c: ü"])
    await store.removeThread("b")
    assert.deepEqual(await store.threads(), ["a", "b", "c: ü"])
  },

  async "deletes a removed thread, and only that"(store) {
    const lease = await start(store, "r", { thread: "t", change: { thread: [set("k", 1), add("l", 1)] } })
    await startAndEnd(store, "s", { thread: "other", change: { thread: [set("k", 2)] } })
    await end(store, lease)
    await store.removeThread("t")
    await store.removeThread("never known")
    assert.deepEqual(await store.thread("t"), { version: 0, state: {} })
    assert.deepEqual(await store.thread("t", 1), { version: 0, state: {} })
    assert.deepEqual(await store.thread("other"), { version: 1, state: { k: 2 } })
    await start(store, "again", { thread: "t", change: { thread: [add("l", 2)] } })
    assert.deepEqual(await store.thread("t"), { version: 1, state: { l: [2] } })
  },

  async "accepts 2,000 additions to one list"(store) {
    const lease = await start(store, "r", { thread: "t" })
    const items = Array.from({ length: 2_000 }, (_, i) => i)
    for (let i = 0; i < 2_000; i += 100) {
      await write(store, lease, { thread: items.slice(i, i + 100).map((item) => add("l", item)) })
    }
    assert.deepEqual(await store.thread("t"), { version: 2_000, state: { l: items } })
    assert.deepEqual(await store.thread("t", 777), { version: 777, state: { l: items.slice(0, 777) } })
  },
}
