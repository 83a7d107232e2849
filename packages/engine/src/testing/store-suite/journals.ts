/** Store suite: journals. Appended records are read in order, once, all or none. */
import assert from "node:assert/strict"
import type { Json } from "../../core/index.ts"
import type { JournalRecord, Store } from "../../runtime/index.ts"
import {
  atOnce,
  end,
  holds,
  leaseOf,
  plain,
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
  take,
  write,
} from "./steps.ts"
import { VALUES } from "./values.ts"

export const journalCases: StoreCases = {
  async "returns records in the order in which they were appended"(store) {
    const all = records(1, 5)
    await append(store, "r", 0, all.slice(0, 1))
    await append(store, "r", 1, all.slice(1, 4))
    await append(store, "r", 4, all.slice(4))
    await holds(store, "r", all)
  },

  async "has no records of an unknown run"(store) {
    await append(store, "known", 0, records(1, 1))
    await holds(store, "unknown", [])
    await holds(store, "unknown", [], 3)
  },

  async "returns only the records after the requested one"(store) {
    const all = records(1, 5)
    await append(store, "r", 0, all)
    for (let after = 0; after <= 5; after++) await holds(store, "r", all.slice(after), after)
    await holds(store, "r", [], 9)
  },

  async "returns at most as many records as a read requests"(store) {
    const all = records(1, 5)
    await append(store, "r", 0, all)
    assert.deepEqual(await store.read("r", 0, 1), all.slice(0, 1))
    assert.deepEqual(await store.read("r", 2, 2), all.slice(2, 4))
    assert.deepEqual(await store.read("r", 3, 9), all.slice(3))
    assert.deepEqual(await store.read("r", 5, 1), [])
  },

  async "rejects an append after a record that is not the last, and changes nothing"(store) {
    const all = records(1, 3)
    await append(store, "r", 0, all)
    await conflicts(store, "r", 0, records(1, 1))
    await conflicts(store, "r", 2, records(3, 2))
    await holds(store, "r", all)
  },

  async "rejects an append past the end, and changes nothing"(store) {
    const all = records(1, 3)
    await append(store, "r", 0, all)
    await conflicts(store, "r", 4, records(5, 2))
    await holds(store, "r", all)
    await append(store, "r", 3, records(4, 1))
    await holds(store, "r", records(1, 4))
  },

  async "rejects an append to a run that does not exist, and creates none"(store) {
    await conflicts(store, "r", 0, records(1, 1))
    await conflicts(store, "r", 1, records(2, 1))
    await conflicts(store, "r", 0, [])
    await holds(store, "r", [])
    assert.equal(await store.run("r"), undefined)
    await append(store, "r", 0, records(1, 1))
    await holds(store, "r", records(1, 1))
  },

  async "appends several records all or none"(store) {
    await takesOneOf(store, [records(2, 3, "three"), records(2, 5, "five")])
  },

  async "accepts one of many concurrent appends after the same record"(store) {
    await takesOneOf(
      store,
      Array.from({ length: 20 }, (_, i) => records(2, 2, `rival ${i}`)),
    )
  },

  async "does not let one run's rejection affect another's append"(store) {
    await append(store, "taken", 0, records(1, 1))
    const won = await atOnce(
      ["before", "taken", "after"].map((runId) => () => append(store, runId, 0, records(1, 2))),
      "RUN_EXISTS",
    )
    assert.deepEqual(won, [0, 2])
    await holds(store, "before", records(1, 2))
    await holds(store, "taken", records(1, 1))
    await holds(store, "after", records(1, 2))
  },

  async "keeps the frame and the number of events of every record"(store) {
    const frames = ["", "2", "2/call", 'quo"te \\', "é \ud83d\ude00", "\ud800", "\u0000"]
    const all = frames.map((frame, i) => ({ ...record(i + 1, null), frame, events: i * 1_000_000_007 }))
    await append(store, "r", 0, all)
    await holds(store, "r", all)
  },

  async "keeps 10,000 records of one run"(store) {
    const all = records(1, 10_000)
    for (let seq = 0; seq < all.length; seq += 500) await append(store, "r", seq, all.slice(seq, seq + 500))
    await holds(store, "r", all)
    await holds(store, "r", all.slice(9_990), 9_990)
  },

  async "accepts appends to many runs at once"(store) {
    const ids = Array.from({ length: 100 }, (_, i) => `run ${i}`)
    await Promise.all(
      ids.map(async (id) => {
        for (let seq = 0; seq < 10; seq++) await append(store, id, seq, records(seq + 1, 1, id))
      }),
    )
    for (const id of ids) await holds(store, id, records(1, 10, id))
  },

  async "returns an acknowledged append as soon as it is done"(store) {
    for (let seq = 0; seq < 20; seq++) {
      await append(store, "r", seq, records(seq + 1, 1))
      await holds(store, "r", records(seq + 1, 1), seq)
    }
  },

  async "returns copies: a later append does not change records that were read"(store) {
    await append(store, "r", 0, records(1, 2))
    const before = await store.read("r", 0)
    await append(store, "r", 2, records(3, 2))
    assert.deepEqual(before, records(1, 2))
  },

  async "flushes pending writes when it is closed"(store) {
    const appended = append(store, "r", 0, records(1, 3))
    await store.close()
    await appended
  },
}

/** Creates the run with its first records. */
async function append(
  store: Store,
  runId: string,
  expectedSeq: number,
  added: readonly JournalRecord[],
): Promise<void> {
  const change = expectedSeq === 0 ? { created: { workflow: "workflow", graph: "graph" } } : undefined
  await store.append(leaseOf(runId), expectedSeq, added, change)
}

async function takesOneOf(store: Store, rivals: readonly JournalRecord[][]): Promise<void> {
  await append(store, "r", 0, records(1, 1))
  const won = await atOnce(
    rivals.map((rival) => () => append(store, "r", 1, rival)),
    "JOURNAL_CONFLICT",
  )
  assert.equal(won.length, 1)
  await holds(store, "r", [...records(1, 1), ...(rivals[won[0] as number] as JournalRecord[])])
}

async function conflicts(
  store: Store,
  runId: string,
  expectedSeq: number,
  added: readonly JournalRecord[],
): Promise<void> {
  await rejects(() => store.append(leaseOf(runId), expectedSeq, added), "JOURNAL_CONFLICT")
}

/** Forks. A run whose journal begins with another's records, by reference. */
export const forkCases: StoreCases = {
  async "returns the records of a fork's past, and then its own"(store) {
    await start(store, "parent", { count: 5, value: "parent" })
    const lease = await start(store, "fork", { forkOf: { runId: "parent", seq: 3 }, count: 2, value: "fork" })
    const expected = [...records(1, 3, "parent"), ...records(4, 2, "fork")]
    await holds(store, "fork", expected)
    for (let after = 0; after <= 6; after++) await holds(store, "fork", expected.slice(after), after)
    await store.append(lease, 5, records(6, 1, "fork"))
    await holds(store, "fork", [...expected, record(6, "fork")])
    await stands(store, "fork", { seq: 6, forkOf: { runId: "parent", seq: 3 }, token: 1, holder: "holder" })
  },

  async "keeps a fork and its past separate after the fork"(store) {
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

  async "creates a fork of a run in any status, at any of its records"(store) {
    const parent = await start(store, "parent", { count: 4 })
    for (let seq = 1; seq <= 4; seq++) await forked(store, `in flight ${seq}`, "parent", seq)
    await end(store, parent)
    for (let seq = 1; seq <= 5; seq++) await forked(store, `over ${seq}`, "parent", seq)
  },

  async "creates forks of forks, also at a shared record"(store) {
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

  async "rejects a fork that does not follow the record that it names, and creates none"(store) {
    await start(store, "parent", { count: 3 })
    const created = { workflow: "workflow", graph: "graph", forkOf: { runId: "parent", seq: 2 } }
    for (const expectedSeq of [0, 1, 3]) {
      const made = () => store.append(leaseOf("fork"), expectedSeq, records(expectedSeq + 1, 1), { created })
      await rejects(made, "JOURNAL_CONFLICT")
    }
    assert.equal(await store.run("fork"), undefined)
    await holds(store, "fork", [])
  },

  async "rejects a fork of a run, or at a record, that does not exist"(store) {
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

  async "rejects a fork whose id exists, or whose key or thread belongs to another run"(store) {
    await start(store, "parent", { count: 3, key: "k", thread: "t" })
    const forkOf = { runId: "parent", seq: 2 }
    await rejects(() => start(store, "parent", { forkOf }), "RUN_EXISTS")
    await rejects(() => start(store, "fork", { forkOf, key: "k" }), "KEY_TAKEN", "parent")
    await rejects(() => start(store, "fork", { forkOf, thread: "t" }), "THREAD_BUSY", "parent")
    await holds(store, "parent", records(1, 3))
  },

  async "rejects an append to a fork that does not follow its last record"(store) {
    await start(store, "parent", { count: 5 })
    const lease = await start(store, "fork", { forkOf: { runId: "parent", seq: 2 } })
    for (const seq of [0, 1, 2, 4, 5]) {
      await rejects(() => store.append(lease, seq, records(seq + 1, 1)), "JOURNAL_CONFLICT")
    }
    await store.append(lease, 3, records(4, 1))
  },

  async "shares nothing of its past with a fork but the records"(store) {
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

  async "does not remove a run that is another's past until its last fork is removed"(store) {
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

  async "does not prune a run that is the past of a remaining run"(store) {
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

  async "prunes forks with their past if nothing retains either"(store) {
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

/** A run's last snapshot. */
export const snapshotCases: StoreCases = {
  async "has no snapshot of a run without one, or of an unknown run"(store) {
    await start(store, "r")
    assert.equal(await store.snapshot("r"), undefined)
    assert.equal(await store.snapshot("unknown"), undefined)
  },

  async "keeps a separate snapshot for each run"(store) {
    for (const runId of ["a", "b"]) {
      const lease = await start(store, runId)
      await store.saveSnapshot(lease, { seq: 1, data: { of: runId } })
    }
    for (const runId of ["a", "b"]) {
      assert.deepEqual(plain(await store.snapshot(runId)), { seq: 1, data: { of: runId } })
    }
  },

  async "keeps data of every kind"(store) {
    const lease = await start(store, "r")
    for (const [i, data] of VALUES.entries()) {
      await store.saveSnapshot(lease, { seq: i + 1, data })
      assert.deepEqual(await store.snapshot("r"), { seq: i + 1, data })
    }
    let deep: Json = "bottom"
    for (let i = 0; i < 200; i++) deep = [{ deeper: deep }]
    await store.saveSnapshot(lease, { seq: 100, data: deep })
    assert.deepEqual(await store.snapshot("r"), { seq: 100, data: deep })
  },

  async "replaces a snapshot by a later one, never by an earlier one"(store) {
    const lease = await start(store, "r", { count: 9 })
    const save = async (seq: number) => store.saveSnapshot(lease, { seq, data: `at ${seq}` })
    const stored = async () => plain(await store.snapshot("r"))
    await save(2)
    await save(7)
    assert.deepEqual(await stored(), { seq: 7, data: "at 7" })
    await save(5)
    assert.deepEqual(await stored(), { seq: 7, data: "at 7" })
    await save(9)
    assert.deepEqual(await stored(), { seq: 9, data: "at 9" })
    assert.equal((await store.report()).snapshots.count, 1)
  },

  async "returns the size of the snapshot and of the journal"(store) {
    const lease = await start(store, "r")
    const small = await store.saveSnapshot(lease, { seq: 1, data: "x".repeat(100) })
    assert.ok(small.bytes > 0 && small.journal > 0)
    assert.equal(small.journal, (await runOf(store, "r")).bytes)
    await write(store, lease)
    const large = await store.saveSnapshot(lease, { seq: 2, data: "x".repeat(10_000) })
    assert.ok(large.bytes > small.bytes)
    assert.ok(large.journal > small.journal)
  },

  async "leaves journal, row and takeovers unchanged"(store) {
    await start(store, "r")
    const lease = await take(store, "r", "other")
    const before = plain(await store.run("r"))
    await store.saveSnapshot(lease, { seq: 1, data: 1 })
    assert.deepEqual(plain(await store.run("r")), before)
    assert.equal((await store.read("r", 0)).length, 1)
  },

  async "rejects the snapshot of an unknown run, or with an outdated token"(store) {
    await rejects(() => store.saveSnapshot(leaseOf("unknown"), { seq: 1, data: 1 }), "RUN_TAKEN")
    await start(store, "r")
    await rejects(() => store.saveSnapshot(leaseOf("r", 2), { seq: 1, data: 1 }), "RUN_TAKEN")
    assert.equal(await store.snapshot("r"), undefined)
    assert.equal(await store.snapshot("unknown"), undefined)
  },

  async "keeps the snapshot of an ended run until the run is removed"(store) {
    const lease = await start(store, "r")
    await store.saveSnapshot(lease, { seq: 1, data: 1 })
    await end(store, lease)
    assert.deepEqual(plain(await store.snapshot("r")), { seq: 1, data: 1 })
    await store.remove("r")
    assert.equal(await store.snapshot("r"), undefined)
    await startAndEnd(store, "r")
    assert.equal(await store.snapshot("r"), undefined)
  },
}
