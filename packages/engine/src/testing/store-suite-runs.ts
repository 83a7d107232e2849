/** Store suite: a run's row. What makes it, what changes it, and what is refused. */
import assert from "node:assert/strict"
import type { Store } from "../runtime/index.ts"
import {
  atOnce,
  end,
  FINAL,
  holds,
  leaseOf,
  plain,
  records,
  rejects,
  request,
  runOf,
  START,
  type StoreCases,
  set,
  stands,
  start,
  startAndEnd,
  take,
  write,
} from "./store-suite-steps.ts"

const CREATED = { workflow: "workflow", graph: "graph" }

export const runCases: StoreCases = {
  async "knows no run that was not made"(store) {
    await start(store, "r")
    assert.equal(await store.run("other"), undefined)
  },

  async "makes a run with its first records, held by the lease"(store) {
    const created = { workflow: "w", graph: "g", key: "k", thread: "t", labels: { file: "f", model: "" } }
    const lease = leaseOf("r", 1, "me")
    await store.append(lease, 0, records(1, 3), { created })
    const { bytes, ...run } = await runOf(store, "r")
    assert.ok(bytes > 0)
    assert.deepEqual(plain(run), {
      ...created,
      runId: "r",
      status: "running",
      createdAt: START + 1,
      updatedAt: START + 3,
      seq: 3,
      token: 1,
      holder: "me",
      executing: true,
      takeovers: 0,
      blamed: false,
      trials: 0,
      pinned: false,
    })
    await holds(store, "r", records(1, 3))
  },

  async "makes a run in the status that is said"(store) {
    for (const status of ["running", "waiting"] as const) {
      await start(store, status, { change: { status } })
      await stands(store, status, { status, holder: "holder" })
    }
    for (const status of FINAL) {
      await start(store, status, { change: { status } })
      await stands(store, status, { status, holder: undefined, wakeAt: undefined, token: 1 })
    }
  },

  async "moves the end, the time and the size of a run with every append"(store) {
    const lease = await start(store, "r")
    const before = await runOf(store, "r")
    await store.append(lease, 1, records(2, 4))
    await stands(store, "r", {
      seq: 5,
      createdAt: START + 1,
      updatedAt: START + 5,
      status: "running",
      token: 1,
    })
    assert.ok((await runOf(store, "r")).bytes > before.bytes)
    assert.equal(before.seq, 1, "what was read before stays as it was")
  },

  async "changes the status and the graph of a run with an append"(store) {
    const lease = await start(store, "r", { graph: "old" })
    await write(store, lease, { status: "waiting" })
    await stands(store, "r", { status: "waiting", graph: "old", holder: "holder" })
    await write(store, lease, { graph: "new", graphs: [{ hash: "new", graph: { nodes: [] } }] })
    await stands(store, "r", { status: "waiting", graph: "new" })
    await write(store, lease, { status: "running" })
    await stands(store, "r", { status: "running", graph: "new" })
    assert.deepEqual(await store.graph("new"), { nodes: [] })
  },

  async "makes a change without a record, with the same checks"(store) {
    const lease = await start(store, "r", { count: 2 })
    await store.append(lease, 2, [], { status: "waiting", opened: [request("q")] })
    await stands(store, "r", { status: "waiting", seq: 2 })
    assert.equal((await store.requests({})).length, 1)
    await rejects(() => store.append(lease, 1, [], { status: "running" }), "JOURNAL_CONFLICT")
    await rejects(() => store.append(leaseOf("r", 2), 2, [], { status: "running" }), "RUN_TAKEN")
    await rejects(() => store.append(leaseOf("other"), 0, [], { status: "running" }), "JOURNAL_CONFLICT")
    await stands(store, "r", { status: "waiting", seq: 2 })
    await holds(store, "r", records(1, 2))
  },

  async "makes a change that comes with several records"(store) {
    const lease = await start(store, "r")
    await store.append(lease, 1, records(2, 3), { status: "completed" })
    await stands(store, "r", { status: "completed", seq: 4, updatedAt: START + 4 })
  },

  async "lets go of the holder and of the time to wake of a run that is over"(store) {
    for (const status of FINAL) {
      const lease = await start(store, status)
      await store.release(lease, START + 1_000)
      await end(store, lease, undefined, status)
      await stands(store, status, { status, holder: undefined, wakeAt: undefined })
    }
  },

  async "refuses to make a run whose id is there, in flight or over, and changes nothing"(store) {
    const lease = await start(store, "r", { count: 2, key: "k" })
    const again = () => store.append(leaseOf("r"), 0, records(1, 1, "again"), { created: CREATED })
    await rejects(again, "RUN_EXISTS")
    await rejects(
      () => store.append(leaseOf("r", 9, "other"), 2, records(3, 1), { created: { ...CREATED, key: "k" } }),
      "RUN_EXISTS",
    )
    await stands(store, "r", { seq: 2, holder: "holder", key: "k" })
    await end(store, lease)
    await rejects(again, "RUN_EXISTS")
    await stands(store, "r", { seq: 3, status: "completed", holder: undefined })
    await holds(store, "r", records(1, 3))
  },

  async "makes one of many runs that are made at once with one id"(store) {
    const rivals = Array.from({ length: 20 }, (_, i) => `rival ${i}`)
    const won = await atOnce(
      rivals.map((holder) => () => start(store, "r", { holder, value: holder })),
      "RUN_EXISTS",
    )
    assert.equal(won.length, 1)
    const winner = rivals[won[0] as number] as string
    await stands(store, "r", { holder: winner, seq: 1 })
    await holds(store, "r", records(1, 1, winner))
  },

  async "refuses to make a run that does not begin at its beginning"(store) {
    await rejects(
      () => store.append(leaseOf("r"), 1, records(2, 1), { created: CREATED }),
      "JOURNAL_CONFLICT",
    )
    assert.equal(await store.run("r"), undefined)
    await holds(store, "r", [])
  },

  async "refuses a second run with the same key, and names the first, also when that is over"(store) {
    const lease = await start(store, "first", { key: "k" })
    await rejects(() => start(store, "second", { key: "k" }), "KEY_TAKEN", "first")
    await end(store, lease)
    await rejects(() => start(store, "second", { key: "k", workflow: "other" }), "KEY_TAKEN", "first")
    assert.equal(await store.run("second"), undefined)
    await holds(store, "second", [])
    await start(store, "second", { key: "K" })
    await start(store, "third")
    await start(store, "fourth")
  },

  async "makes one of many runs that are made at once with one key"(store) {
    const rivals = Array.from({ length: 20 }, (_, i) => `rival ${i}`)
    const won = await atOnce(
      rivals.map((runId) => () => start(store, runId, { key: "k" })),
      "KEY_TAKEN",
    )
    assert.equal(won.length, 1)
    await onlyRun(store, rivals[won[0] as number] as string)
  },

  async "gives a key free with the run that is removed"(store) {
    await startAndEnd(store, "first", { key: "k" })
    await store.remove("first")
    await start(store, "second", { key: "k" })
    await stands(store, "second", { key: "k" })
  },

  async "refuses a second run in flight on one thread, and names the first"(store) {
    const lease = await start(store, "first", { thread: "t" })
    await rejects(() => start(store, "second", { thread: "t" }), "THREAD_BUSY", "first")
    await write(store, lease, { status: "waiting" })
    await store.release(lease, undefined)
    await rejects(() => start(store, "second", { thread: "t", workflow: "other" }), "THREAD_BUSY", "first")
    assert.equal(await store.run("second"), undefined)
    await start(store, "elsewhere", { thread: "T" })
    await start(store, "without")
  },

  async "gives a thread free when its run is over, however it ended"(store) {
    for (const status of FINAL) {
      const lease = await start(store, status, { thread: "t" })
      await rejects(() => start(store, "second", { thread: "t" }), "THREAD_BUSY", status)
      await end(store, lease, undefined, status)
    }
    await startAndEnd(store, "at once", { thread: "t" })
    await start(store, "last", { thread: "t" })
    assert.equal((await store.runs({ thread: "t" })).length, 6)
  },

  async "makes one of many runs that are made at once on one thread"(store) {
    const rivals = Array.from({ length: 20 }, (_, i) => `rival ${i}`)
    const won = await atOnce(
      rivals.map((runId) => () => start(store, runId, { thread: "t" })),
      "THREAD_BUSY",
    )
    assert.equal(won.length, 1)
    await onlyRun(store, rivals[won[0] as number] as string)
  },

  async "looks whether the run is there, then at the token, then at the journal's end"(store) {
    await start(store, "r", { count: 2 })
    await take(store, "r", "other")
    await rejects(() => store.append(leaseOf("r", 1), 0, records(1, 1)), "RUN_TAKEN")
    await rejects(() => store.append(leaseOf("unknown", 7), 3, records(4, 1)), "JOURNAL_CONFLICT")
    await rejects(() => store.append(leaseOf("r", 2), 0, records(1, 1)), "JOURNAL_CONFLICT")
  },

  async "refuses a token that was never given"(store) {
    await start(store, "r")
    for (const token of [0, 2, 99]) {
      await rejects(() => store.append(leaseOf("r", token), 1, records(2, 1)), "RUN_TAKEN")
    }
    await holds(store, "r", records(1, 1))
  },

  async "makes no part of a change whose append is refused"(store) {
    const lease = await start(store, "r", { thread: "t", change: { opened: [request("asked")] } })
    await startAndEnd(store, "keyed", { key: "k" })
    await start(store, "busy", { thread: "b" })
    const before = await runOf(store, "r")
    const change = {
      status: "completed" as const,
      graph: "new",
      graphs: [{ hash: "new", graph: 1 }],
      opened: [request("new")],
      closed: [{ id: "asked", outcome: "answered" as const, at: START }],
      thread: [set("key", 1)],
    }
    const created = { ...CREATED, graph: "new" }
    await rejects(() => store.append(lease, 0, records(1, 1), change), "JOURNAL_CONFLICT")
    await rejects(() => store.append(leaseOf("r", 5), 1, records(2, 1), change), "RUN_TAKEN")
    await rejects(() => store.append(leaseOf("none"), 1, records(2, 1), change), "JOURNAL_CONFLICT")
    await rejects(() => store.append(lease, 0, records(1, 1), { ...change, created }), "RUN_EXISTS")
    const other = (more: { key?: string; thread?: string }) => () =>
      store.append(leaseOf("other"), 0, records(1, 1), { ...change, created: { ...created, ...more } })
    await rejects(other({ key: "k", thread: "t2" }), "KEY_TAKEN", "keyed")
    await rejects(other({ key: "k2", thread: "b" }), "THREAD_BUSY", "busy")

    assert.deepEqual(plain(await runOf(store, "r")), plain(before))
    assert.equal(await store.run("other"), undefined)
    assert.equal(await store.graph("new"), undefined)
    for (const thread of ["t", "t2", "b"]) assert.equal((await store.thread(thread)).version, 0)
    const open = await store.requests({ outcome: ["open", "answered", "expired", "withdrawn"] })
    assert.deepEqual(
      open.map(({ id, outcome }) => [id, outcome]),
      [["asked", "open"]],
    )
    await start(store, "other", { key: "k2", thread: "t2" })
  },

  async "has a graph as soon as a run brought it, for every run that names it"(store) {
    assert.equal(await store.graph("g"), undefined)
    const graph = { nodes: ["a", "b"], edges: [["a", "b"]] }
    await startAndEnd(store, "first", { graph: "g", change: { graphs: [{ hash: "g", graph }] } })
    await start(store, "second", { graph: "g" })
    await start(store, "third", {
      graph: "g",
      change: {
        graphs: [
          { hash: "g", graph },
          { hash: "sub", graph: [] },
        ],
      },
    })
    assert.deepEqual(await store.graph("g"), graph)
    assert.deepEqual(await store.graph("sub"), [])
    await store.remove("first")
    assert.deepEqual(await store.graph("g"), graph)
  },
}

async function onlyRun(store: Store, runId: string): Promise<void> {
  assert.deepEqual(
    (await store.runs({})).map((run) => run.runId),
    [runId],
  )
}
