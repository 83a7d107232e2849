/** Store suite: which runs are free to be taken up, and in which order. */
import assert from "node:assert/strict"
import type { RunStatus } from "../core/index.ts"
import type { FreeQuery, Store } from "../runtime/index.ts"
import {
  end,
  holder,
  leaseOf,
  mailTo,
  runOf,
  START,
  type StoreCases,
  start,
  take,
  write,
} from "./store-suite-steps.ts"

const NOW = START + 1_000_000

/** Every way to be held, and whether such a run is free when it has nothing to do, or something. */
const HELD = [
  { by: "nobody", idle: false, busy: true },
  { by: "alive", idle: false, busy: false },
  { by: "died", idle: false, busy: true },
  { by: "closed", idle: false, busy: true },
] as const

export const freeCases: StoreCases = {
  async "has a run in flight free exactly when nobody alive holds it and there is something to do"(store) {
    const free: string[] = []
    for (const held of HELD) {
      for (const status of ["running", "waiting", "completed"] as const) {
        for (const mail of ["no mail", "mail", "settled mail"] as const) {
          const runId = `${status}, ${mail}, held by ${held.by}`
          await place(store, runId, status, held.by)
          if (mail !== "no mail") await store.post(mailTo(runId, runId))
          if (mail === "settled mail") {
            const { token } = await runOf(store, runId)
            await store.refuseMail(leaseOf(runId, token), runId, { code: "NO", message: "No." })
          }
          const hasToDo = status === "running" || mail === "mail"
          if (status !== "completed" && (hasToDo ? held.busy : held.idle)) free.push(runId)
        }
      }
    }
    for (const reason of ["died", "closed"] as const) await store.dismiss(reason, { reason })
    await areFree(store, free)
  },

  async "has a run free whose holder is not known"(store) {
    await start(store, "r", { holder: "one", change: { idle: {} } })
    await store.claim("r", 1, "never heard of")
    await areFree(store, ["r"])
  },

  async "has those under suspicion apart from the others"(store) {
    for (const [runId, deaths] of [0, 1, 2, 3].map((n) => [`${n}`, n] as const)) {
      await start(store, runId, { holder: `${runId} 0` })
      for (let i = 0; i < deaths; i++) {
        await store.dismiss(`${runId} ${i}`, { reason: "died" })
        await take(store, runId, `${runId} ${i + 1}`)
      }
      await store.dismiss(`${runId} ${deaths}`, { reason: "closed" })
    }
    await areFree(store, ["0", "1"])
    await areFree(store, ["2", "3"], { suspects: true })
    assert.equal((await freeRuns(store, { suspects: true, limit: 1 })).length, 1)
  },

  async "has a run that nobody holds free when its time to wake has come, not before; without one when it runs"(
    store,
  ) {
    const times = { past: NOW - 5_000, now: NOW, future: NOW + 1, never: undefined }
    for (const status of ["running", "waiting"] as const) {
      for (const [time, wakeAt] of Object.entries(times)) {
        const lease = await start(store, `${status} ${time}`, { workflow: status, change: { status } })
        await store.release(lease, wakeAt)
      }
    }
    const cases = [
      { workflows: ["waiting"], now: NOW - 5_001, free: [] },
      { workflows: ["waiting"], now: NOW, free: ["waiting past", "waiting now"] },
      { workflows: ["waiting"], now: NOW + 1, free: ["waiting past", "waiting now", "waiting future"] },
      { workflows: ["running"], now: NOW - 5_001, free: ["running never"] },
      { workflows: ["running"], now: NOW, free: ["running past", "running now", "running never"] },
    ]
    for (const { workflows, now, free } of cases) {
      await areFree(store, free, { workflows, now })
    }
  },

  async "has a run with mail free before its time to wake, once"(store) {
    for (const status of ["running", "waiting"] as const) {
      await store.release(await start(store, status, { change: { status } }), NOW + 1)
      await store.post(mailTo(status, `first to ${status}`))
      await store.post(mailTo(status, `second to ${status}`))
    }
    await areFree(store, ["running", "waiting"])
  },

  async "has runs of the workflows that are named free, and no others"(store) {
    for (const workflow of ["a", "b", "c"]) {
      await store.release(await start(store, workflow, { workflow }), undefined)
    }
    await areFree(store, ["a", "c"], { workflows: ["a", "c", "d"] })
    assert.deepEqual(await freeRuns(store, { workflows: [] }), [])
  },

  async "gives the whole row of a run that is free"(store) {
    const lease = await start(store, "r", { key: "k", thread: "t", count: 3, change: { status: "waiting" } })
    await store.release(lease, NOW)
    assert.deepEqual(await store.free(query()), [await store.run("r")])
  },

  async "gives the free runs that waited longest first, and no more than were asked for"(store) {
    const leases = []
    for (const runId of ["a", "b", "c", "d", "e"]) leases.push(await start(store, runId, { at: START }))
    for (const [i, runId] of ["d", "b", "e", "a", "c"].entries()) {
      const lease = leases.find((one) => one.runId === runId)
      assert.ok(lease)
      await write(store, lease, undefined, START + i + 1)
    }
    // Of each kind: held by nobody, by one that died, by one that closed.
    for (const lease of leases.slice(0, 2)) await store.release(lease, undefined)
    await take(store, "c", "closed")
    await store.dismiss("closed", { reason: "closed" })
    await store.dismiss("holder", { reason: "died" })
    assert.deepEqual(await freeRuns(store), ["d", "b", "e", "a", "c"])
    for (const limit of [1, 2, 4, 5, 6]) {
      assert.deepEqual(await freeRuns(store, { limit }), ["d", "b", "e", "a", "c"].slice(0, limit))
    }
  },

  async "gives the sleepers that are due first first"(store) {
    for (const [i, runId] of ["c", "a", "b"].entries()) {
      const lease = await start(store, runId, { at: START + i, change: { status: "waiting" } })
      await store.release(lease, START + 100 + i)
    }
    assert.deepEqual(await freeRuns(store), ["c", "a", "b"])
    assert.deepEqual(await freeRuns(store, { limit: 2 }), ["c", "a"])
  },

  async "has a run no longer free once it is taken, ended or asleep"(store) {
    for (const runId of ["taken", "ended", "asleep", "left"]) {
      await store.release(await start(store, runId), undefined)
    }
    await take(store, "taken", "other")
    await end(store, await take(store, "ended", "other"))
    const asleep = await take(store, "asleep", "other")
    await write(store, asleep, { status: "waiting" })
    await store.release(asleep, NOW + 1)
    assert.deepEqual(await freeRuns(store), ["left"])
  },

  async "shares the free runs among those who claim them at once: each goes to one"(store) {
    for (let i = 0; i < 30; i++) await store.release(await start(store, `run ${i}`), undefined)
    for (const id of ["one", "two", "three"]) await store.beat(holder(id))
    const taken = await Promise.all(
      ["one", "two", "three"].map(async (holder) => {
        const free = await store.free(query())
        return Promise.all(free.map(async ({ runId, token }) => store.claim(runId, token, holder)))
      }),
    )
    const won = taken.flat().filter((lease) => lease !== undefined)
    assert.equal(won.length, 30)
    assert.equal(new Set(won.map((lease) => lease.runId)).size, 30)
    assert.deepEqual(await freeRuns(store), [])
  },

  async "finds the few that are free among many that wait"(store) {
    await Promise.all(
      Array.from({ length: 500 }, async (_, i) => {
        const lease = await start(store, `run ${i}`, { change: { status: "waiting" } })
        await store.release(lease, i % 100 === 7 ? NOW : undefined)
      }),
    )
    await areFree(
      store,
      [7, 107, 207, 307, 407].map((i) => `run ${i}`),
    )
  },
}

/** A run in this status that is held so. */
async function place(store: Store, runId: string, status: RunStatus, by: string): Promise<void> {
  const idle = status === "running" ? false : {}
  const lease = await start(store, runId, { holder: by, change: { status, idle } })
  if (by === "nobody") await store.release(lease, undefined)
}

function query(asked: Partial<FreeQuery> = {}): FreeQuery {
  return { workflows: ["workflow"], now: NOW, limit: 1_000, suspects: false, ...asked }
}

async function freeRuns(store: Store, asked: Partial<FreeQuery> = {}): Promise<string[]> {
  return (await store.free(query(asked))).map((run) => run.runId)
}

/** These are free, each once, in whatever order. */
async function areFree(
  store: Store,
  expected: readonly string[],
  asked: Partial<FreeQuery> = {},
): Promise<void> {
  assert.deepEqual((await freeRuns(store, asked)).sort(), expected.toSorted())
}
