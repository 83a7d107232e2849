/** Store suite: schedules. Which are due, who writes them, and runs that are created with them (C1, C2 of the port). */
import assert from "node:assert/strict"
import type { CreatedRun, DueQuery, Store, StoredSchedule } from "../../runtime/index.ts"
import { fieldsOf, plain, record, rejects, runOf, type StoreCases, start } from "./steps.ts"

function schedule(id: string, options: Partial<StoredSchedule> = {}): StoredSchedule {
  return { id, workflow: "workflow", version: "1", body: { cron: "0 9 * * *" }, ...options }
}

/** What creates a queued run. */
function queuedRun(runId: string, key?: string): CreatedRun {
  return {
    lease: { runId, holder: "writer", token: 1 },
    records: [record(1, runId)],
    change: { created: { workflow: "workflow", graph: "graph", key, queued: true }, idle: {} },
  }
}

/** Stores may have a clock of their own. */
async function clockOf(store: Store): Promise<number> {
  return (await store.schedules.due({ workflows: [], now: Date.now(), limit: 1 })).now
}

async function dueOf(store: Store, query: Partial<DueQuery> = {}) {
  const due = await store.schedules.due({ workflows: ["workflow"], now: Date.now(), limit: 10, ...query })
  return { ids: fieldsOf(due.schedules, "id"), nextAt: due.nextAt }
}

export const scheduleCases: StoreCases = {
  async "keeps a schedule as it was written, lists schedules by id, and removes them"(store) {
    const odd = schedule('a "b"\u0000\ud800', { nextAt: 5, body: { input: ["\u0000", 1.5, null] } })
    assert.equal(await store.schedules.get(odd.id), undefined)
    assert.equal(await store.schedules.write(odd, undefined), true)
    assert.deepEqual(plain(await store.schedules.get(odd.id)), plain(odd))
    for (const id of ["c", "b", "d"]) {
      await store.schedules.write(schedule(id, { workflow: id === "d" ? "other" : "workflow" }), undefined)
    }
    assert.deepEqual(fieldsOf(await store.schedules.list({}), "id"), [odd.id, "b", "c", "d"])
    assert.deepEqual(fieldsOf(await store.schedules.list({ after: "b", limit: 1 }), "id"), ["c"])
    assert.deepEqual(fieldsOf(await store.schedules.list({ workflow: "other" }), "id"), ["d"])
    assert.equal(await store.schedules.remove("b"), true)
    assert.equal(await store.schedules.remove("b"), false)
    assert.equal(await store.schedules.get("b"), undefined)
  },

  async "is not changed by its caller later"(store) {
    const body = { list: [1] }
    await store.schedules.write(schedule("a", { body }), undefined)
    body.list.push(2)
    assert.deepEqual(plain((await store.schedules.get("a"))?.body), { list: [1] })
  },

  async "finds the schedules of these workflows that are due, in order, and when the next one is"(store) {
    const now = await clockOf(store)
    const hour = 3_600_000
    await store.schedules.write(schedule("later", { nextAt: now + 2 * hour }), undefined)
    await store.schedules.write(schedule("soon", { nextAt: now + hour }), undefined)
    await store.schedules.write(schedule("second", { nextAt: now - 1 }), undefined)
    await store.schedules.write(schedule("first", { nextAt: now - hour }), undefined)
    await store.schedules.write(schedule("never"), undefined)
    await store.schedules.write(schedule("other", { nextAt: now - 5, workflow: "other" }), undefined)
    assert.deepEqual(await dueOf(store), { ids: ["first", "second"], nextAt: now + hour })
    assert.deepEqual(await dueOf(store, { limit: 1 }), { ids: ["first"], nextAt: now + hour })
    assert.deepEqual((await dueOf(store, { workflows: ["other"] })).ids, ["other"])
    assert.deepEqual(await dueOf(store, { workflows: [] }), { ids: [], nextAt: undefined })
  },

  async "writes only in place of the version that was read (C1)"(store) {
    const { schedules } = store
    assert.equal(await schedules.write(schedule("a", { version: "2" }), "1"), false)
    assert.equal(await schedules.write(schedule("a"), undefined), true)
    assert.equal(await schedules.write(schedule("a", { version: "9" }), undefined), false)
    assert.equal(await schedules.write(schedule("a", { version: "2", nextAt: 7 }), "1"), true)
    assert.equal(await schedules.write(schedule("a", { version: "3" }), "1"), false)
    assert.deepEqual(plain(await schedules.get("a")), plain(schedule("a", { version: "2", nextAt: 7 })))
    await schedules.remove("a")
    assert.equal(await schedules.write(schedule("a", { version: "3" }), "2"), false)
    assert.equal(await schedules.get("a"), undefined)
  },

  async "lets one of many write at once (C1)"(store) {
    await store.schedules.write(schedule("a"), undefined)
    const writers = Array.from({ length: 10 }, (_, i) => i)
    const written = await Promise.all(
      writers.map((i) =>
        store.schedules.write(schedule("a", { version: `by ${i}` }), "1", queuedRun(`run ${i}`)),
      ),
    )
    assert.equal(written.filter(Boolean).length, 1)
    const [run, ...others] = await store.runs({})
    assert.deepEqual(others, [])
    assert.equal((await store.schedules.get("a"))?.version, run?.runId.replace("run", "by"))
  },

  async "creates a run with the schedule, or neither (C2)"(store) {
    const { schedules } = store
    await schedules.write(schedule("a"), undefined)
    assert.equal(await schedules.write(schedule("a", { version: "2" }), "1", queuedRun("r", "key")), true)
    const { status, key, seq } = await runOf(store, "r")
    assert.deepEqual({ status, key, seq }, { status: "queued", key: "key", seq: 1 })
    assert.equal((await store.read("r", 0)).length, 1)

    assert.equal(await schedules.write(schedule("a", { version: "3" }), "1", queuedRun("s")), false)
    assert.equal(await store.run("s"), undefined)

    await rejects(
      () => schedules.write(schedule("a", { version: "3" }), "2", queuedRun("s", "key")),
      "KEY_TAKEN",
    )
    await start(store, "t")
    await rejects(() => schedules.write(schedule("a", { version: "3" }), "2", queuedRun("t")), "RUN_EXISTS")
    assert.equal(await store.run("s"), undefined)
    assert.equal((await schedules.get("a"))?.version, "2")
    assert.equal(await schedules.write(schedule("a", { version: "3" }), "2", queuedRun("s")), true)
  },
}
