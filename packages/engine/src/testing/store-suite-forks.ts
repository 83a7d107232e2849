/** Store suite: forks. A run whose journal begins with another's records, by reference. */
import assert from "node:assert/strict"
import type { JournalRecord, Store } from "../runtime/index.ts"
import {
  end,
  holds,
  leaseOf,
  record,
  records,
  rejects,
  request,
  runOf,
  START,
  type StoreCases,
  stands,
  start,
  startAndEnd,
} from "./store-suite-steps.ts"

export const forkCases: StoreCases = {
  async "gives a fork the records of its past, and then its own"(store) {
    await start(store, "parent", { count: 5, value: "parent" })
    const lease = await start(store, "fork", { forkOf: { runId: "parent", seq: 3 }, count: 2, value: "fork" })
    const expected = [...records(1, 3, "parent"), ...records(4, 2, "fork")]
    await holds(store, "fork", expected)
    for (let after = 0; after <= 6; after++) await holds(store, "fork", expected.slice(after), after)
    await store.append(lease, 5, records(6, 1, "fork"))
    await holds(store, "fork", [...expected, record(6, "fork")])
    await stands(store, "fork", { seq: 6, forkOf: { runId: "parent", seq: 3 }, token: 1, holder: "holder" })
  },

  async "keeps a fork and its past apart from then on"(store) {
    const parent = await start(store, "parent", { count: 3, value: "parent" })
    const fork = await start(store, "fork", { forkOf: { runId: "parent", seq: 3 }, value: "fork" })
    await store.append(parent, 3, records(4, 2, "parent"))
    await store.append(fork, 4, records(5, 1, "fork"))
    await end(store, fork)
    await holds(store, "parent", records(1, 5, "parent"))
    await stands(store, "parent", { seq: 5, status: "running" })
    const past = await store.read("fork", 0)
    assert.deepEqual(past.slice(0, 5), [...records(1, 3, "parent"), ...records(4, 2, "fork")])
  },

  async "makes a fork of a run in any status, at any of its records"(store) {
    const parent = await start(store, "parent", { count: 4 })
    for (let seq = 1; seq <= 4; seq++) await forked(store, `in flight ${seq}`, "parent", seq)
    await end(store, parent)
    for (let seq = 1; seq <= 5; seq++) await forked(store, `over ${seq}`, "parent", seq)
  },

  async "makes forks of forks, also at a record that those share"(store) {
    await start(store, "a", { count: 4, value: "a" })
    await start(store, "b", { forkOf: { runId: "a", seq: 3 }, count: 3, value: "b" })
    const past = { a: records(1, 4, "a"), b: [...records(1, 3, "a"), ...records(4, 3, "b")] }
    for (let seq = 1; seq <= 6; seq++) {
      const runId = `c${seq}`
      await start(store, runId, { forkOf: { runId: "b", seq }, count: 2, value: "c" })
      const expected = [...past.b.slice(0, seq), ...records(seq + 1, 2, "c")]
      for (let after = 0; after <= seq + 2; after++) await holds(store, runId, expected.slice(after), after)
    }
    await holds(store, "a", past.a)
    await holds(store, "b", past.b)
  },

  async "reads through a chain of 40 forks"(store) {
    await start(store, "run 0", { value: "run 0" })
    const expected: JournalRecord[] = [record(1, "run 0")]
    for (let i = 1; i <= 40; i++) {
      const runId = `run ${i}`
      await start(store, runId, { forkOf: { runId: `run ${i - 1}`, seq: i }, value: runId })
      expected.push(record(i + 1, runId))
    }
    await holds(store, "run 40", expected)
    await holds(store, "run 20", expected.slice(0, 21))
    await holds(store, "run 40", expected.slice(17), 17)
  },

  async "refuses a fork that does not follow the record that it names, and makes none"(store) {
    await start(store, "parent", { count: 3 })
    const created = { workflow: "workflow", graph: "graph", forkOf: { runId: "parent", seq: 2 } }
    for (const expectedSeq of [0, 1, 3]) {
      const made = () => store.append(leaseOf("fork"), expectedSeq, records(expectedSeq + 1, 1), { created })
      await rejects(made, "JOURNAL_CONFLICT")
    }
    assert.equal(await store.run("fork"), undefined)
    await holds(store, "fork", [])
  },

  async "refuses a fork of a run, or at a record, that there is not"(store) {
    await start(store, "parent", { count: 3 })
    for (const forkOf of [
      { runId: "unknown", seq: 1 },
      { runId: "parent", seq: 4 },
    ]) {
      await rejects(() => start(store, "fork", { forkOf }), "JOURNAL_CONFLICT")
    }
    assert.equal(await store.run("fork"), undefined)
    await start(store, "fork", { forkOf: { runId: "parent", seq: 3 } })
  },

  async "refuses a fork whose id is there, or whose key or thread is another's"(store) {
    await start(store, "parent", { count: 3, key: "k", thread: "t" })
    const forkOf = { runId: "parent", seq: 2 }
    await rejects(() => start(store, "parent", { forkOf }), "RUN_EXISTS")
    await rejects(() => start(store, "fork", { forkOf, key: "k" }), "KEY_TAKEN", "parent")
    await rejects(() => start(store, "fork", { forkOf, thread: "t" }), "THREAD_BUSY", "parent")
    await holds(store, "parent", records(1, 3))
  },

  async "refuses an append to a fork that does not follow its last record"(store) {
    await start(store, "parent", { count: 5 })
    const lease = await start(store, "fork", { forkOf: { runId: "parent", seq: 2 } })
    for (const seq of [0, 1, 2, 4, 5]) {
      await rejects(() => store.append(lease, seq, records(seq + 1, 1)), "JOURNAL_CONFLICT")
    }
    await store.append(lease, 3, records(4, 1))
  },

  async "gives a fork nothing of its past but the records"(store) {
    const lease = await start(store, "parent", { count: 2, change: { opened: [request("q")] } })
    await store.saveSnapshot(lease, { seq: 2, data: "parent" })
    await store.pin("parent", true)
    await start(store, "fork", { forkOf: { runId: "parent", seq: 2 }, at: START + 9 })
    assert.equal(await store.snapshot("fork"), undefined)
    assert.deepEqual(await store.requests({ runId: "fork" }), [])
    await stands(store, "fork", { pinned: false, createdAt: START + 9, updatedAt: START + 9, key: undefined })
  },

  async "keeps the shared records once"(store) {
    await start(store, "parent", { count: 50, value: "x".repeat(1_000) })
    const before = await store.report()
    for (let i = 0; i < 10; i++) await start(store, `fork ${i}`, { forkOf: { runId: "parent", seq: 50 } })
    const after = await store.report()
    assert.equal(after.journal.count, before.journal.count + 10)
    assert.ok(after.journal.bytes < before.journal.bytes * 1.5)
    assert.ok((await runOf(store, "fork 0")).bytes < 10_000)
  },

  async "removes no run that is another's past, until the last fork of it is removed"(store) {
    await startAndEnd(store, "a", { count: 3 })
    await startAndEnd(store, "b", { forkOf: { runId: "a", seq: 2 } })
    await startAndEnd(store, "c", { forkOf: { runId: "b", seq: 3 } })
    await startAndEnd(store, "d", { forkOf: { runId: "a", seq: 3 } })
    const before = await store.read("c", 0)
    assert.equal(await store.remove("a"), false)
    assert.equal(await store.remove("b"), false)
    assert.deepEqual(await store.read("c", 0), before)
    assert.equal(await store.remove("c"), true)
    assert.equal(await store.remove("b"), true)
    assert.equal(await store.remove("a"), false)
    await holds(store, "d", [...records(1, 3), record(4, "value")])
    assert.equal(await store.remove("d"), true)
    assert.equal(await store.remove("a"), true)
    assert.deepEqual(await store.runs({}), [])
  },

  async "prunes no run that is the past of a run that stays"(store) {
    await startAndEnd(store, "a", { count: 3 })
    await startAndEnd(store, "b", { forkOf: { runId: "a", seq: 2 } })
    await start(store, "in flight", { forkOf: { runId: "b", seq: 3 } })
    await startAndEnd(store, "c", { count: 2 })
    await startAndEnd(store, "pinned", { forkOf: { runId: "c", seq: 1 } })
    await store.pin("pinned", true)
    assert.equal((await store.prune({ keep: 0, endedBefore: START * 2 })).count, 0)
    assert.equal((await store.runs({})).length, 5)
    await holds(store, "in flight", [...records(1, 2), record(3, "value"), record(4, "value")])
  },

  async "prunes forks with their past when nothing holds either"(store) {
    await startAndEnd(store, "a", { count: 3 })
    await startAndEnd(store, "b", { forkOf: { runId: "a", seq: 2 } })
    await startAndEnd(store, "c", { forkOf: { runId: "b", seq: 3 } })
    let gone = 0
    for (let i = 0; i < 3; i++) gone += (await store.prune({ keep: 0 })).count
    assert.equal(gone, 3)
    assert.deepEqual(await store.runs({}), [])
  },

  async "keeps the large values of a fork's past when the fork is removed, and those of the fork"(store) {
    const large = { text: "x".repeat(100_000) }
    await startAndEnd(store, "parent", { count: 2, value: large })
    await startAndEnd(store, "fork", { forkOf: { runId: "parent", seq: 1 }, value: large })
    await startAndEnd(store, "other", { forkOf: { runId: "parent", seq: 2 }, value: large })
    await store.remove("fork")
    await holds(store, "parent", records(1, 2, large))
    await holds(store, "other", records(1, 3, large))
  },
}

async function forked(store: Store, runId: string, parent: string, seq: number): Promise<void> {
  await start(store, runId, { forkOf: { runId: parent, seq }, value: runId })
  await holds(store, runId, [...records(1, seq), record(seq + 1, runId)])
}
