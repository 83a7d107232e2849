/** Store suite: a run's last snapshot. */
import assert from "node:assert/strict"
import type { Json } from "../core/index.ts"
import {
  end,
  leaseOf,
  plain,
  rejects,
  runOf,
  type StoreCases,
  start,
  startAndEnd,
  take,
  write,
} from "./store-suite-steps.ts"
import { VALUES } from "./store-suite-values.ts"

export const snapshotCases: StoreCases = {
  async "has no snapshot of a run that has none, or that there is not"(store) {
    await start(store, "r")
    assert.equal(await store.snapshot("r"), undefined)
    assert.equal(await store.snapshot("unknown"), undefined)
  },

  async "keeps the snapshot of a run, for each run its own"(store) {
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

  async "tells how large the snapshot is, and the journal"(store) {
    const lease = await start(store, "r")
    const small = await store.saveSnapshot(lease, { seq: 1, data: "x".repeat(100) })
    assert.ok(small.bytes > 0 && small.journal > 0)
    assert.equal(small.journal, (await runOf(store, "r")).bytes)
    await write(store, lease)
    const large = await store.saveSnapshot(lease, { seq: 2, data: "x".repeat(10_000) })
    assert.ok(large.bytes > small.bytes)
    assert.ok(large.journal > small.journal)
  },

  async "leaves journal, row and takeovers as they are"(store) {
    await start(store, "r")
    const lease = await take(store, "r", "other")
    const before = plain(await store.run("r"))
    await store.saveSnapshot(lease, { seq: 1, data: 1 })
    assert.deepEqual(plain(await store.run("r")), before)
    assert.equal((await store.read("r", 0)).length, 1)
  },

  async "refuses the snapshot of a run that there is not, or with a token that it does not have"(store) {
    await rejects(() => store.saveSnapshot(leaseOf("unknown"), { seq: 1, data: 1 }), "RUN_TAKEN")
    await start(store, "r")
    await rejects(() => store.saveSnapshot(leaseOf("r", 2), { seq: 1, data: 1 }), "RUN_TAKEN")
    assert.equal(await store.snapshot("r"), undefined)
    assert.equal(await store.snapshot("unknown"), undefined)
  },

  async "keeps the snapshot when the run is over, until it is removed"(store) {
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
