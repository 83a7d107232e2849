/** Store suite: leases. A run has one holder at a time, and a former holder can no longer change it. */
import assert from "node:assert/strict"
import { isSuperstepError, type RunStatus } from "../../core/index.ts"
import type { FreeQuery, Store } from "../../runtime/index.ts"
import {
  end,
  FINAL,
  holder,
  holds,
  leaseOf,
  mailTo,
  plain,
  records,
  rejects,
  request,
  runOf,
  START,
  type StoreCases,
  stands,
  start,
  take,
  write,
} from "./steps.ts"

export const leaseCases: StoreCases = {
  async "offers no paused run, with or without mail or a timer, whether its holder lives or not"(store) {
    const lease = await start(store, "free", { thread: "t" })
    await write(store, lease, { status: "paused", idle: {} })
    await store.release(lease, START)
    await store.post(mailTo("free", "mail"))
    const held = await start(store, "held")
    await write(store, held, { status: "paused" })
    await store.dismiss(held.holder, { reason: "died" })
    await store.beat(holder("worker"))
    const query = { workflows: ["workflow"], now: () => START + 9, limit: 9 }
    assert.deepEqual(await store.free({ ...query, now: START + 9, suspects: false }), [])
    assert.deepEqual((await store.queue.claimNext({ ...query, holder: "worker" })).runs, [])
    const named = { ...query, holder: "worker", runId: "free" }
    assert.deepEqual((await store.queue.claimNext(named)).runs, [])
    const paused = await store.runs({ status: ["paused"] })
    assert.deepEqual(paused.map(({ runId }) => runId).sort(), ["free", "held"])
    await rejects(() => start(store, "other", { thread: "t" }), "THREAD_BUSY")
    const again = await take(store, "free", "worker")
    await write(store, again, { status: "running", idle: {} })
    await store.release(again, START)
    const { runs } = await store.queue.claimNext({ ...query, holder: "worker" })
    assert.deepEqual(
      runs.map(({ runId }) => runId),
      ["free"],
    )
  },

  async "lets a holder claim a run: a higher token, another holder"(store) {
    await start(store, "r")
    const lease = await store.claim("r", 1, "second")
    assert.deepEqual(plain(lease), { runId: "r", holder: "second", token: 2 })
    await stands(store, "r", { token: 2, holder: "second", status: "running", seq: 1, updatedAt: START + 1 })
    assert.deepEqual(plain(await store.claim("r", 2, "third")), { runId: "r", holder: "third", token: 3 })
  },

  async "rejects a claim with a token that is not the run's"(store) {
    await start(store, "r")
    await take(store, "r", "second")
    for (const token of [0, 1, 3]) assert.equal(await store.claim("r", token, "third"), undefined)
    await stands(store, "r", { token: 2, holder: "second", takeovers: 0 })
  },

  async "lets a holder claim a run where it rests only while it does: nothing executes, and the journal ends there"(
    store,
  ) {
    const lease = await start(store, "r")
    assert.equal(await store.claim("r", 1, "second", 1), undefined)
    await store.setIdle(lease, {})
    assert.equal(await store.claim("r", 1, "second", 0), undefined)
    await store.append(lease, 1, records(2, 1), { idle: false })
    for (const seq of [1, 2]) assert.equal(await store.claim("r", 1, "second", seq), undefined)
    await store.append(lease, 2, records(3, 1), { status: "waiting", idle: {} })
    assert.equal(await store.claim("r", 1, "second", 2), undefined)
    await stands(store, "r", { token: 1, holder: lease.holder })
    assert.deepEqual(plain(await store.claim("r", 1, "second", 3)), {
      runId: "r",
      holder: "second",
      token: 2,
    })
    await rejects(() => store.append(lease, 3, records(4, 1)), "RUN_TAKEN")
  },

  async "rejects a claim of an ended or unknown run"(store) {
    assert.equal(await store.claim("unknown", 0, "me"), undefined)
    assert.equal(await store.claim("unknown", 1, "me"), undefined)
    for (const status of FINAL) {
      await start(store, status, { change: { status } })
      assert.equal(await store.claim(status, 1, "me"), undefined)
      await stands(store, status, { token: 1, holder: undefined, takeovers: 0 })
    }
  },

  async "gives a run to one of many concurrent claims"(store) {
    const lease = await start(store, "r")
    await store.release(lease, undefined)
    const rivals = Array.from({ length: 20 }, (_, i) => `rival ${i}`)
    const leases = await Promise.all(rivals.map(async (rival) => store.claim("r", 1, rival)))
    const won = leases.filter((one) => one !== undefined)
    assert.equal(won.length, 1)
    await stands(store, "r", { token: 2, holder: won[0]?.holder, takeovers: 0 })
  },

  async "ignores or rejects a former holder once another has claimed the run"(store) {
    const old = await start(store, "r")
    await store.saveSnapshot(old, { seq: 1, data: "old" })
    const now = await take(store, "r", "second")
    const before = await runOf(store, "r")

    await rejects(() => store.append(old, 1, records(2, 1)), "RUN_TAKEN")
    await rejects(() => store.append(old, 1, [], { status: "failed" }), "RUN_TAKEN")
    await rejects(() => store.saveSnapshot(old, { seq: 2, data: "late" }), "RUN_TAKEN")
    await store.release(old, START)
    await store.release(old, undefined)

    assert.deepEqual(plain(await runOf(store, "r")), plain(before))
    assert.deepEqual(plain(await store.snapshot("r")), { seq: 1, data: "old" })
    await holds(store, "r", records(1, 1))
    await store.append(now, 1, records(2, 1))
    await store.saveSnapshot(now, { seq: 2, data: "new" })
    assert.deepEqual(plain(await store.snapshot("r")), { seq: 2, data: "new" })
  },

  async "checks the token, not the name: the same holder's older lease is rejected"(store) {
    const old = await start(store, "r", { holder: "me" })
    const now = await take(store, "r", "me")
    await rejects(() => store.append(old, 1, records(2, 1)), "RUN_TAKEN")
    await store.release(old, undefined)
    await stands(store, "r", { holder: "me", token: 2 })
    await store.append(now, 1, records(2, 1))
  },

  async "keeps an append of the old holder atomic under a concurrent claim"(store) {
    const old = await start(store, "r")
    const [claimed, appended] = await Promise.allSettled([
      (async () => store.claim("r", 1, "second"))(),
      (async () => store.append(old, 1, records(2, 3), { status: "waiting" }))(),
    ])
    assert.equal(claimed.status === "fulfilled" && claimed.value?.token, 2)
    const wrote = appended.status === "fulfilled"
    if (!wrote) assert.ok(isSuperstepError(appended.reason, "RUN_TAKEN"))
    await holds(store, "r", records(1, wrote ? 4 : 1))
    await stands(store, "r", { holder: "second", status: wrote ? "waiting" : "running", seq: wrote ? 4 : 1 })
  },

  async "releases a run, until a time or indefinitely"(store) {
    const lease = await start(store, "r", { change: { status: "waiting" } })
    await store.release(lease, START + 500)
    await stands(store, "r", { holder: undefined, wakeAt: START + 500, token: 1, status: "waiting" })
    const again = await take(store, "r", "second")
    await stands(store, "r", { holder: "second", wakeAt: undefined, token: 2 })
    await store.release(again, undefined)
    await stands(store, "r", { holder: undefined, wakeAt: undefined, token: 2 })
  },

  async "ignores the release of an unknown run"(store) {
    await store.release(leaseOf("unknown"), START)
    assert.equal(await store.run("unknown"), undefined)
  },

  async "counts the death of a holder against the runs that it executed, and no others"(store) {
    const executing = await start(store, "executing", { holder: "first" })
    const idle = await start(store, "idle", { holder: "first", change: { idle: {} } })
    await start(store, "other", { holder: "second" })
    await store.dismiss("first", { reason: "died" })
    await stands(store, "executing", { holder: undefined, token: 2, takeovers: 1, blamed: true, wakeAt: 0 })
    await stands(store, "idle", {
      holder: undefined,
      token: 2,
      takeovers: 0,
      blamed: false,
      wakeAt: undefined,
    })
    await stands(store, "other", { holder: "second", token: 1, takeovers: 0 })
    for (const lease of [executing, idle]) {
      await rejects(() => store.append(lease, 1, records(2, 1)), "RUN_TAKEN")
    }
  },

  async "counts a death once, and none for a holder that closes"(store) {
    await start(store, "r", { holder: "first" })
    await store.dismiss("first", { reason: "died" })
    await store.dismiss("first", { reason: "died" })
    await stands(store, "r", { takeovers: 1 })
    await take(store, "r", "second")
    await store.dismiss("second", { reason: "closed" })
    await stands(store, "r", { takeovers: 1, holder: undefined })
  },

  async "counts a hung holder against the run that it is stuck in"(store) {
    for (const runId of ["stuck", "beside"]) await start(store, runId, { holder: "hung" })
    await store.dismiss("hung", { reason: "hung", runId: "stuck" })
    await stands(store, "stuck", { takeovers: 1, blamed: true, holder: undefined })
    await stands(store, "beside", { takeovers: 0, blamed: false, holder: undefined })
  },

  async "blames a run that died alone, or as the only suspect, and none of several"(store) {
    await start(store, "a", { holder: "h1" })
    await start(store, "b", { holder: "h1" })
    await store.dismiss("h1", { reason: "died" })
    for (const runId of ["a", "b"]) await stands(store, runId, { takeovers: 1, blamed: false })
    for (const runId of ["a", "b"]) await take(store, runId, "h2")
    await store.dismiss("h2", { reason: "died" })
    for (const runId of ["a", "b"]) await stands(store, runId, { takeovers: 2, blamed: false })
    for (const runId of ["a", "b"]) await take(store, runId, "h3")
    await store.dismiss("h3", { reason: "died" })
    for (const runId of ["a", "b"]) await stands(store, runId, { takeovers: 3, blamed: false })
    await take(store, "a", "h4")
    await start(store, "c", { holder: "h4" })
    await store.dismiss("h4", { reason: "died" })
    await stands(store, "a", { takeovers: 4, blamed: true })
    await stands(store, "b", { takeovers: 3, blamed: false })
    await stands(store, "c", { takeovers: 1, blamed: false })
  },

  async "clears the takeovers of a run with every append"(store) {
    await start(store, "r", { holder: "holder 0" })
    for (const [i, change] of [undefined, { status: "waiting" as const }].entries()) {
      await store.dismiss(`holder ${i}`, { reason: "died" })
      await stands(store, "r", { takeovers: 1, blamed: true })
      const lease = await take(store, "r", `holder ${i + 1}`)
      await stands(store, "r", { takeovers: 1 })
      await write(store, lease, change)
      await stands(store, "r", { takeovers: 0, blamed: false })
    }
  },

  async "keeps the takeovers of a run through records that are only intents"(store) {
    await start(store, "r", { holder: "first" })
    await store.dismiss("first", { reason: "died" })
    const lease = await take(store, "r", "second")
    await write(store, lease, { intent: true })
    await stands(store, "r", { takeovers: 1, blamed: true, seq: 2 })
    await write(store, lease, { status: "running" })
    await stands(store, "r", { takeovers: 0, blamed: false, seq: 3 })
  },

  async "withdraws the suspicion of a death when the holder turns out to be alive"(store) {
    const first = await start(store, "r", { holder: "first" })
    await start(store, "parked", { holder: "first" })
    await store.dismiss("first", { reason: "died" })
    await store.quarantine(await take(store, "parked", "second"), START)
    assert.equal(await store.beat(holder("first")), true)
    await stands(store, "r", { takeovers: 0, blamed: false, holder: undefined })
    await stands(store, "parked", { takeovers: 0, status: "running" })
    await rejects(() => store.append(first, 1, records(2, 1)), "RUN_TAKEN")
  },

  async "absolves a run that has survived its trial, and counts how often, until it makes progress"(store) {
    await start(store, "r", { holder: "h0" })
    for (const trials of [1, 2]) {
      for (const i of [0, 1]) {
        await store.dismiss(`h${i}`, { reason: "died" })
        await take(store, "r", `h${1 - i}`)
      }
      await stands(store, "r", { takeovers: 2, blamed: true, trials: trials - 1 })
      const { token } = await runOf(store, "r")
      await store.absolve(leaseOf("r", token - 1))
      await stands(store, "r", { takeovers: 2 })
      await store.absolve(leaseOf("r", token))
      await stands(store, "r", { takeovers: 0, blamed: false, trials, executing: true })
    }
    await write(store, leaseOf("r", (await runOf(store, "r")).token))
    await stands(store, "r", { trials: 0 })
  },

  async "records whether a run executes anything, and when it continues by itself"(store) {
    const lease = await start(store, "r")
    await stands(store, "r", { executing: true, wakeAt: undefined })
    await write(store, lease, { idle: { wakeAt: START + 5 } })
    await stands(store, "r", { executing: false, wakeAt: START + 5, holder: "holder" })
    await write(store, lease)
    await stands(store, "r", { executing: false, wakeAt: START + 5 })
    await write(store, lease, { idle: false })
    await stands(store, "r", { executing: true, wakeAt: undefined })
    await store.setIdle(lease, {})
    await stands(store, "r", { executing: false, wakeAt: undefined })
    const now = await take(store, "r", "second")
    await stands(store, "r", { executing: true })
    await store.setIdle(lease, { wakeAt: START })
    await stands(store, "r", { executing: true })
    await store.setIdle(now, { wakeAt: START })
    await store.setIdle(now, false)
    await stands(store, "r", { executing: true, wakeAt: undefined, status: "running" })
    await store.setIdle(lease, {}, "waiting")
    await stands(store, "r", { executing: true, status: "running" })
    await store.setIdle(now, {}, "waiting")
    await stands(store, "r", { executing: false, status: "waiting" })
    await store.setIdle(now, { wakeAt: START + 5 })
    await stands(store, "r", { wakeAt: START + 5, status: "waiting" })
  },

  async "parks a quarantined run until it is released"(store) {
    const lease = await start(store, "r", {
      thread: "t",
      change: { status: "waiting", opened: [request("q")] },
    })
    await store.quarantine(leaseOf("r", 7), START)
    await stands(store, "r", { status: "waiting" })
    await store.quarantine(lease, START)
    await stands(store, "r", { status: "quarantined", holder: undefined, wakeAt: undefined })
    await store.setIdle(lease, {}, "waiting")
    await stands(store, "r", { status: "quarantined" })
    await store.post(mailTo("r", "mail"))
    for (const suspects of [true, false]) {
      assert.deepEqual(await store.free({ workflows: ["workflow"], now: START, limit: 9, suspects }), [])
    }
    assert.deepEqual(plain((await store.runs({ status: ["quarantined"] })).map((run) => run.runId)), ["r"])
    assert.deepEqual(await store.runs({ status: ["running", "waiting"] }), [])
    assert.equal((await store.requests({})).length, 1)
    assert.equal((await store.report()).runs.quarantined, 1)
    await rejects(() => start(store, "another", { thread: "t" }), "THREAD_BUSY", "r")
    assert.equal(await store.remove("r"), false)
    await store.prune({ keep: 0 })

    assert.equal(await store.unquarantine("r"), true)
    assert.equal(await store.unquarantine("r"), false)
    assert.equal(await store.unquarantine("unknown"), false)
    await stands(store, "r", { status: "waiting", takeovers: 0, wakeAt: 0 })
    await end(store, await take(store, "r", "second"))
    await stands(store, "r", { status: "completed" })
  },

  async "knows the holders by their heartbeats"(store) {
    assert.deepEqual(await store.holders(), [])
    await store.beat(holder("one"))
    await store.beat({ id: "two", machine: "n", pid: 8, born: "" })
    await store.beat(holder("one"))
    const holders = [...(await store.holders())].sort((a, b) => (a.id < b.id ? -1 : 1))
    assert.deepEqual(plain(holders), [
      { ...holder("one"), beat: 2 },
      { id: "two", machine: "n", pid: 8, born: "", beat: 1 },
    ])
  },

  async "reports to a holder, once, that a run may have been taken from it"(store) {
    const mine = { runId: "mine", holder: "one", token: 1 }
    await start(store, "mine", { holder: "one" })
    await start(store, "theirs", { holder: "one" })
    assert.equal(await store.beat(holder("one")), false)
    await take(store, "theirs", "two")
    assert.deepEqual(plain(await store.held("one")), [mine])
    assert.equal(await store.beat(holder("one")), true)
    assert.equal(await store.beat(holder("one")), false)
    assert.deepEqual(plain(await store.held("two")), [{ runId: "theirs", holder: "two", token: 2 }])
    await store.dismiss("one", { reason: "died" })
    assert.deepEqual(await store.held("one"), [])
    assert.equal(await store.beat(holder("one")), true)
  },

  async "forgets a dismissed holder until its next heartbeat"(store) {
    await store.beat(holder("one"))
    await store.beat(holder("two"))
    await store.dismiss("one", { reason: "closed" })
    await store.dismiss("never heard of", { reason: "died" })
    assert.deepEqual(plain(await store.holders()), [{ ...holder("two"), beat: 1 }])
    await store.beat(holder("one"))
    assert.equal((await store.holders()).length, 2)
  },

  async "leaves a holder's runs with it when another is dismissed"(store) {
    await start(store, "a", { holder: "one" })
    await start(store, "b", { holder: "two" })
    await store.dismiss("two", { reason: "died" })
    await stands(store, "a", { holder: "one", token: 1 })
    await end(store, leaseOf("a", 1, "one"))
  },
}

const NOW = START + 1_000_000

/** Every way to be held, and whether such a run is free when it has nothing to do, or something. */
const HELD = [
  { by: "nobody", idle: false, busy: true },
  { by: "alive", idle: false, busy: false },
  { by: "died", idle: false, busy: true },
  { by: "closed", idle: false, busy: true },
] as const

/** Which runs are free to be claimed, and in which order. */
export const freeCases: StoreCases = {
  async "lists a run in flight as free exactly if no live holder has it and it has something to do"(store) {
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

  async "lists a run with an unknown holder as free"(store) {
    await start(store, "r", { holder: "one", change: { idle: {} } })
    await store.claim("r", 1, "never heard of")
    await areFree(store, ["r"])
  },

  async "separates suspected runs from the others"(store) {
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

  async "lists an unheld run as free from its wake time on; without one if it is running"(store) {
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

  async "lists a run with mail as free before its wake time, once"(store) {
    for (const status of ["running", "waiting"] as const) {
      await store.release(await start(store, status, { change: { status } }), NOW + 1)
      await store.post(mailTo(status, `first to ${status}`))
      await store.post(mailTo(status, `second to ${status}`))
    }
    await areFree(store, ["running", "waiting"])
  },

  async "lists free runs of the named workflows, and no others"(store) {
    for (const workflow of ["a", "b", "c"]) {
      await store.release(await start(store, workflow, { workflow }), undefined)
    }
    await areFree(store, ["a", "c"], { workflows: ["a", "c", "d"] })
    assert.deepEqual(await freeRuns(store, { workflows: [] }), [])
  },

  async "returns the whole row of a free run"(store) {
    const lease = await start(store, "r", { key: "k", thread: "t", count: 3, change: { status: "waiting" } })
    await store.release(lease, NOW)
    assert.deepEqual(await store.free(query()), [await store.run("r")])
  },

  async "returns the free runs that waited longest first, at most as many as requested"(store) {
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

  async "returns sleeping runs in the order of their wake times"(store) {
    for (const [i, runId] of ["c", "a", "b"].entries()) {
      const lease = await start(store, runId, { at: START + i, change: { status: "waiting" } })
      await store.release(lease, START + 100 + i)
    }
    assert.deepEqual(await freeRuns(store), ["c", "a", "b"])
    assert.deepEqual(await freeRuns(store, { limit: 2 }), ["c", "a"])
  },

  async "does not list a run as free once it is claimed, ended or asleep"(store) {
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

  async "distributes free runs among concurrent claims: each goes to one"(store) {
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

  async "finds the few free runs among many waiting ones"(store) {
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

/** A run with this status and holder. */
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

/** Asserts that these are free, each once, in any order. */
async function areFree(
  store: Store,
  expected: readonly string[],
  asked: Partial<FreeQuery> = {},
): Promise<void> {
  assert.deepEqual((await freeRuns(store, asked)).sort(), expected.toSorted())
}
