/** Store suite: retention and statistics. */

import assert from "node:assert/strict"
import type { PrunePolicy, Store } from "../../runtime/index.ts"
import {
  end,
  FINAL,
  fieldsOf,
  holds,
  mailTo,
  plain,
  records,
  request,
  START,
  type StoreCases,
  set,
  stands,
  start,
  startAndEnd,
  take,
  write,
} from "./steps.ts"

export const retentionCases: StoreCases = {
  async "pins and unpins a run; not an unknown one"(store) {
    await start(store, "r")
    await start(store, "other")
    assert.equal(await store.pin("r", true), true)
    await stands(store, "r", { pinned: true })
    assert.equal(await store.pin("r", true), true)
    await stands(store, "other", { pinned: false })
    assert.equal(await store.pin("r", false), true)
    await stands(store, "r", { pinned: false })
    assert.equal(await store.pin("unknown", true), false)
    assert.equal(await store.run("unknown"), undefined)
  },

  async "removes a run that has ended, however it ended, pinned or not"(store) {
    for (const status of FINAL) {
      for (const pinned of [true, false]) {
        await start(store, "r", { change: { status } })
        await store.pin("r", pinned)
        assert.equal(await store.remove("r"), true)
        assert.equal(await store.run("r"), undefined)
        assert.equal(await store.remove("r"), false)
      }
    }
  },

  async "does not remove a run in flight, or an unknown one"(store) {
    assert.equal(await store.remove("unknown"), false)
    for (const status of ["running", "waiting"] as const) {
      const lease = await start(store, status, { change: { status } })
      assert.equal(await store.remove(status), false)
      await store.release(lease, undefined)
      assert.equal(await store.remove(status), false)
      await stands(store, status, { status, seq: 1 })
    }
  },

  async "keeps nothing of a removed run, and everything of the others"(store) {
    for (const runId of ["gone", "kept"]) {
      const lease = await start(store, runId, { key: runId, count: 3, change: { opened: [request("q")] } })
      await store.saveSnapshot(lease, { seq: 3, data: runId })
      await store.post(mailTo(runId, `mail to ${runId}`))
    }
    await end(store, { runId: "gone", holder: "holder", token: 1 })
    const kept = plain(await store.run("kept"))
    assert.equal(await store.remove("gone"), true)

    assert.equal(await store.run("gone"), undefined)
    await holds(store, "gone", [])
    assert.equal(await store.snapshot("gone"), undefined)
    const questions = await store.requests({ outcome: ["open", "answered", "expired", "withdrawn"] })
    assert.deepEqual(fieldsOf(questions, "runId"), ["kept"])
    assert.deepEqual(await left(store), ["kept"])
    assert.deepEqual(await store.runs({ key: "gone" }), [])
    assert.deepEqual(plain(await store.run("kept")), kept)
    await holds(store, "kept", records(1, 3))
    assert.deepEqual(plain(await store.snapshot("kept")), { seq: 3, data: "kept" })
  },

  async "can create a run again after it was removed"(store) {
    const lease = await start(store, "r", { count: 5, key: "k", change: { opened: [request("q")] } })
    await store.post(mailTo("r", "old mail"))
    await end(store, await take(store, "r", "other"))
    await store.pin("r", true)
    await store.remove("r")
    await start(store, "r", { workflow: "new" })
    await stands(store, "r", {
      seq: 1,
      token: 1,
      workflow: "new",
      key: undefined,
      pinned: false,
      takeovers: 0,
    })
    await holds(store, "r", records(1, 1))
    assert.deepEqual(await store.requests({ runId: "r" }), [])
    assert.deepEqual(await store.mail("holder"), [])
    await store.append(lease, 1, records(2, 1))
  },

  async "keeps a graph as long as a run that stored or names it exists, and no longer"(store) {
    const graphs = [
      { hash: "main", graph: { nodes: ["a"] } },
      { hash: "sub", graph: { nodes: ["b"] } },
    ]
    await startAndEnd(store, "first", { graph: "main", change: { graphs } })
    const lease = await start(store, "second", { graph: "main", change: { graphs } })
    await startAndEnd(store, "third", { graph: "main" })
    await write(store, lease, { graph: "new", graphs: [{ hash: "new", graph: { nodes: ["c"] } }] })
    assert.deepEqual(await graphsIn(store), ["main", "new", "sub"])
    await store.remove("first")
    assert.deepEqual(await graphsIn(store), ["main", "new", "sub"])
    await end(store, lease)
    await store.remove("second")
    assert.deepEqual(await graphsIn(store), ["main"])
    assert.equal((await store.prune({ keep: 0 })).count, 1)
    assert.deepEqual(await graphsIn(store), [])
    await start(store, "again", { graph: "main", change: { graphs } })
    assert.deepEqual(await graphsIn(store), ["main", "sub"])
  },

  async "keeps the graphs of a run as long as a fork shares its past"(store) {
    await startAndEnd(store, "past", {
      graph: "main",
      change: { graphs: [{ hash: "sub", graph: { nodes: [] } }] },
    })
    const fork = await start(store, "fork", { graph: "other", forkOf: { runId: "past", seq: 1 } })
    assert.equal(await store.remove("past"), false)
    await store.prune({ keep: 0 })
    assert.deepEqual(await graphsIn(store), ["sub"])
    await end(store, fork)
    await store.prune({ keep: 0 })
    assert.deepEqual(await left(store), [])
    assert.deepEqual(await graphsIn(store), [])
  },

  async "prunes old mail to runs that no longer exist, and no other mail"(store) {
    const lease = await start(store, "here")
    const gone = await start(store, "gone")
    const posted: [run: string, id: string, at: number][] = [
      ["here", "settled, here", START],
      ["here", "unread, here", START],
      ["gone", "settled, old", START],
      ["gone", "settled, new", START + 10],
    ]
    for (const [run, id, at] of posted) await store.post(mailTo(run, id, { at }))
    await write(store, lease, { mail: ["settled, here"] })
    await write(store, gone, { mail: ["settled, old", "settled, new"] })
    await end(store, gone)
    await store.remove("gone")
    await store.prune({ keep: 100 })
    await store.prune({ keep: 100, mailBefore: START + 10 })
    assert.deepEqual(fieldsOf(await store.mail("holder"), "id"), ["unread, here"])
    assert.deepEqual(await store.mailOutcome("settled, here"), { ok: true })
    assert.equal(await store.mailOutcome("settled, old"), undefined)
    assert.deepEqual(await store.mailOutcome("settled, new"), { ok: true })
  },

  async "prunes nothing under an empty policy"(store) {
    await startAndEnd(store, "r")
    assert.deepEqual(plain(await store.prune({})), { count: 0, bytes: 0 })
    assert.deepEqual(plain(await store.prune({ workflow: "workflow" })), { count: 0, bytes: 0 })
    assert.deepEqual(await left(store), ["r"])
  },

  async "prunes the runs past the newest of each workflow"(store) {
    for (let i = 0; i < 5; i++) {
      for (const workflow of ["a", "b"])
        await startAndEnd(store, `${workflow}${i}`, { workflow, at: START + i })
    }
    await startAndEnd(store, "c0", { workflow: "c" })
    const gone = await store.prune({ keep: 2 })
    assert.equal(gone.count, 6)
    assert.ok(gone.bytes > 0)
    assert.deepEqual(await left(store), ["a3", "a4", "b3", "b4", "c0"])
    assert.deepEqual(plain(await store.prune({ keep: 2 })), { count: 0, bytes: 0 })
  },

  async "prunes the runs that ended before a time"(store) {
    for (let i = 0; i < 5; i++) {
      const lease = await start(store, `r${i}`, { at: START })
      await end(store, lease, START + i)
    }
    await prunes(store, { endedBefore: START }, [])
    await prunes(store, { endedBefore: START + 2 }, ["r0", "r1"])
    await prunes(store, { endedBefore: START + 2 }, [])
    await prunes(store, { endedBefore: START + 100 }, ["r2", "r3", "r4"])
  },

  async "prunes runs that match either part of the policy"(store) {
    for (let i = 0; i < 6; i++) await startAndEnd(store, `r${i}`, { at: START + i })
    // `keep` alone would delete r0 to r3, the time alone r0 to r4.
    await prunes(store, { keep: 2, endedBefore: START + 5 }, ["r0", "r1", "r2", "r3", "r4"])
    for (let i = 6; i < 10; i++) await startAndEnd(store, `r${i}`, { at: START + i })
    await prunes(store, { keep: 1, endedBefore: START + 6 }, ["r5", "r6", "r7", "r8"])
  },

  async "prunes the runs of the named workflow, and no others"(store) {
    for (const workflow of ["a", "b"]) {
      for (let i = 0; i < 3; i++) await startAndEnd(store, `${workflow}${i}`, { workflow })
    }
    await prunes(store, { workflow: "a", keep: 1 }, ["a0", "a1"])
    await prunes(store, { workflow: "b", endedBefore: START * 2 }, ["b0", "b1", "b2"])
    await prunes(store, { workflow: "unknown", keep: 0 }, [])
    assert.deepEqual(await left(store), ["a2"])
  },

  async "prunes runs however they ended, but never one in flight, which does not count either"(store) {
    for (const [i, status] of FINAL.entries())
      await start(store, status, { at: START + i, change: { status } })
    await start(store, "running", { at: START + 5 })
    await start(store, "waiting", { at: START + 6, change: { status: "waiting" } })
    await prunes(store, { keep: 1 }, ["completed", "failed", "cancelled"])
    await prunes(store, { keep: 0, endedBefore: START * 2 }, ["limit"])
    assert.deepEqual(await left(store), ["running", "waiting"])
  },

  async "does not prune a pinned run, and does not count it"(store) {
    for (let i = 0; i < 6; i++) await startAndEnd(store, `r${i}`, { at: START + i })
    for (const pinned of ["r0", "r4", "r5"]) await store.pin(pinned, true)
    await prunes(store, { keep: 2 }, ["r1"])
    await prunes(store, { keep: 0, endedBefore: START * 2 }, ["r2", "r3"])
    await store.pin("r4", false)
    await prunes(store, { keep: 0 }, ["r4"])
    assert.deepEqual(await left(store), ["r0", "r5"])
  },

  async "prunes everything of a run, and a large number of runs"(store) {
    await Promise.all(
      Array.from({ length: 300 }, (_, i) =>
        startAndEnd(store, `r${i}`, { key: `k${i}`, count: 3, change: { opened: [request("q")] } }),
      ),
    )
    const lease = await start(store, "kept", { count: 3, change: { opened: [request("q")] } })
    await store.saveSnapshot(lease, { seq: 3, data: 1 })
    assert.equal((await store.prune({ keep: 0 })).count, 300)
    assert.deepEqual(await left(store), ["kept"])
    assert.equal((await store.requests({ outcome: ["open", "withdrawn"] })).length, 1)
    const { journal, snapshots, runs } = await store.report()
    assert.deepEqual([journal.count, snapshots.count, plain(runs)], [3, 1, { running: 1 }])
    await start(store, "r0", { key: "k0" })
  },

  async "reports an empty store as empty"(store) {
    const { disk, ...report } = await store.report()
    const nothing = { count: 0, bytes: 0 }
    assert.deepEqual(
      { ...report, runs: Object.values(report.runs).filter((count) => count !== 0) },
      { runs: [], journal: nothing, snapshots: nothing, blobs: nothing, threads: nothing, workflows: [] },
    )
    if (disk !== undefined) assert.ok(disk.bytes >= 0 && disk.free >= 0)
  },

  async "reports the amounts of everything"(store) {
    for (const status of FINAL) await start(store, status, { count: 2, change: { status } })
    await start(store, "waiting", {
      workflow: "large",
      value: "x".repeat(9_000),
      change: { status: "waiting" },
    })
    for (const runId of ["one", "two"]) {
      const lease = await start(store, runId, {
        workflow: "small",
        thread: runId,
        change: { thread: [set("k", 1)] },
      })
      await store.saveSnapshot(lease, { seq: 1, data: "data" })
      await store.saveSnapshot(lease, { seq: 2, data: "data" })
    }
    const report = await store.report()
    const runs = Object.fromEntries(Object.entries(report.runs).filter(([, count]) => count !== 0))
    assert.deepEqual(runs, { completed: 1, failed: 1, cancelled: 1, limit: 1, waiting: 1, running: 2 })
    assert.equal(report.journal.count, 11)
    assert.ok(report.journal.bytes > 9_000)
    assert.equal(report.snapshots.count, 2)
    assert.ok(report.snapshots.bytes > 0)
    assert.equal(report.threads.count, 2)
    assert.ok(report.threads.bytes > 0)
    assert.deepEqual(
      new Map(report.workflows.map((one) => [one.workflow, one.runs])),
      new Map([
        ["workflow", 4],
        ["large", 1],
        ["small", 2],
      ]),
    )
    assert.equal(report.workflows[0]?.workflow, "large")
    const sizes = report.workflows.map(({ bytes }) => bytes)
    assert.deepEqual(
      sizes,
      sizes.toSorted((a, b) => b - a),
    )
  },

  async "reports less after a deletion"(store) {
    const lease = await start(store, "r", {
      thread: "t",
      value: "x".repeat(5_000),
      change: { thread: [set("k", 1)] },
    })
    await store.saveSnapshot(lease, { seq: 1, data: "x".repeat(5_000) })
    await end(store, lease)
    await start(store, "kept")
    const before = await store.report()
    await store.remove("r")
    await store.removeThread("t")
    const after = await store.report()
    assert.ok(after.journal.bytes < before.journal.bytes)
    assert.deepEqual(after.journal.count, 1)
    assert.deepEqual(
      [after.snapshots, after.threads],
      [
        { count: 0, bytes: 0 },
        { count: 0, bytes: 0 },
      ],
    )
    assert.deepEqual(fieldsOf(after.workflows, "workflow", "runs"), [["workflow", 1]])
  },
}

async function graphsIn(store: Store): Promise<string[]> {
  const hashes = ["main", "new", "other", "sub"]
  const graphs = await Promise.all(hashes.map(async (hash) => store.graph(hash)))
  return hashes.filter((_, i) => graphs[i] !== undefined)
}

/** The ids of the existing runs. */
async function left(store: Store): Promise<string[]> {
  return (await store.runs({})).map(({ runId }) => runId).sort()
}

async function prunes(store: Store, policy: PrunePolicy, expected: readonly string[]): Promise<void> {
  const before = await left(store)
  const { count, bytes } = await store.prune(policy)
  const after = await left(store)
  assert.deepEqual(
    before.filter((runId) => !after.includes(runId)),
    expected.toSorted(),
  )
  assert.equal(count, expected.length)
  assert.equal(bytes > 0, count > 0)
}
