/** Store suite: who holds a run. One at a time, and whoever lost it can do nothing to it any more. */
import assert from "node:assert/strict"
import { isSuperstepError } from "../core/index.ts"
import type { Holder } from "../runtime/index.ts"
import {
  end,
  FINAL,
  holds,
  leaseOf,
  plain,
  records,
  rejects,
  runOf,
  START,
  type StoreCases,
  stands,
  start,
  take,
  write,
} from "./store-suite-steps.ts"

export const leaseCases: StoreCases = {
  async "gives a run to who claims it: a higher token, another holder"(store) {
    await start(store, "r")
    const lease = await store.claim("r", 1, "second")
    assert.deepEqual(plain(lease), { runId: "r", holder: "second", token: 2 })
    await stands(store, "r", { token: 2, holder: "second", status: "running", seq: 1, updatedAt: START + 1 })
    assert.deepEqual(plain(await store.claim("r", 2, "third")), { runId: "r", holder: "third", token: 3 })
  },

  async "gives nothing to who claims with another token than the run has"(store) {
    await start(store, "r")
    await take(store, "r", "second")
    for (const token of [0, 1, 3]) assert.equal(await store.claim("r", token, "third"), undefined)
    await stands(store, "r", { token: 2, holder: "second", takeovers: 1 })
  },

  async "gives nothing to who claims a run that is over, or that there is not"(store) {
    assert.equal(await store.claim("unknown", 0, "me"), undefined)
    assert.equal(await store.claim("unknown", 1, "me"), undefined)
    for (const status of FINAL) {
      await start(store, status, { change: { status } })
      assert.equal(await store.claim(status, 1, "me"), undefined)
      await stands(store, status, { token: 1, holder: undefined, takeovers: 0 })
    }
  },

  async "gives a run to one of many that claim it at once"(store) {
    const lease = await start(store, "r")
    await store.release(lease, undefined)
    const rivals = Array.from({ length: 20 }, (_, i) => `rival ${i}`)
    const leases = await Promise.all(rivals.map(async (rival) => store.claim("r", 1, rival)))
    const won = leases.filter((one) => one !== undefined)
    assert.equal(won.length, 1)
    await stands(store, "r", { token: 2, holder: won[0]?.holder, takeovers: 0 })
  },

  async "lets who held a run do nothing to it once another has claimed it"(store) {
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

  async "goes by the token, not by the name: the same holder's older lease is refused"(store) {
    const old = await start(store, "r", { holder: "me" })
    const now = await take(store, "r", "me")
    await rejects(() => store.append(old, 1, records(2, 1)), "RUN_TAKEN")
    await store.release(old, undefined)
    await stands(store, "r", { holder: "me", token: 2 })
    await store.append(now, 1, records(2, 1))
  },

  async "has an append of the old holder whole or not at all when a claim is made at once"(store) {
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

  async "lets go of a run, until a time or for good"(store) {
    const lease = await start(store, "r", { change: { status: "waiting" } })
    await store.release(lease, START + 500)
    await stands(store, "r", { holder: undefined, wakeAt: START + 500, token: 1, status: "waiting" })
    const again = await take(store, "r", "second")
    await stands(store, "r", { holder: "second", wakeAt: undefined, token: 2 })
    await store.release(again, undefined)
    await stands(store, "r", { holder: undefined, wakeAt: undefined, token: 2 })
  },

  async "does nothing for who lets go of a run that there is not"(store) {
    await store.release(leaseOf("unknown"), START)
    assert.equal(await store.run("unknown"), undefined)
  },

  async "counts the takeovers of a run that had a holder, and no others"(store) {
    const first = await start(store, "r")
    await store.release(first, undefined)
    const second = await take(store, "r", "second")
    await stands(store, "r", { takeovers: 0 })
    await take(store, "r", "third")
    await stands(store, "r", { takeovers: 1 })
    const fourth = await take(store, "r", "fourth")
    await stands(store, "r", { takeovers: 2 })
    await rejects(() => store.append(second, 1, records(2, 1)), "RUN_TAKEN")
    await stands(store, "r", { takeovers: 2 })
    await store.release(fourth, undefined)
    await take(store, "r", "fifth")
    await stands(store, "r", { takeovers: 2 })
  },

  async "forgets the takeovers of a run with every append"(store) {
    await start(store, "r")
    for (const change of [undefined, { status: "waiting" as const }]) {
      const lease = await take(store, "r", "other")
      await stands(store, "r", { takeovers: 1 })
      await write(store, lease, change)
      await stands(store, "r", { takeovers: 0 })
    }
    const lease = await take(store, "r", "other")
    await store.append(lease, 3, [], { status: "running" })
    await stands(store, "r", { takeovers: 0 })
  },

  async "knows the holders by their last heartbeat"(store) {
    assert.deepEqual(await store.holders(), [])
    const one: Holder = { id: "one", machine: "m", pid: 7, beat: 1, until: START }
    const two: Holder = { id: "two", machine: "n", pid: 8, beat: 4, until: START + 5 }
    await store.beat(one)
    await store.beat(two)
    const later: Holder = { id: "one", machine: "m", pid: 7, beat: 2, until: START + 10 }
    await store.beat(later)
    const holders = [...(await store.holders())].sort((a, b) => (a.id < b.id ? -1 : 1))
    assert.deepEqual(plain(holders), [later, two])
  },

  async "forgets a holder that is dismissed, until it is heard of again"(store) {
    const one: Holder = { id: "one", machine: "m", pid: 7, beat: 1, until: START }
    await store.beat(one)
    await store.beat({ ...one, id: "two" })
    await store.dismiss("one")
    await store.dismiss("never heard of")
    assert.deepEqual(plain(await store.holders()), [{ ...one, id: "two" }])
    await store.beat({ ...one, beat: 2 })
    assert.equal((await store.holders()).length, 2)
  },

  async "leaves a holder's runs with it when another is dismissed"(store) {
    await start(store, "a", { holder: "one" })
    await start(store, "b", { holder: "two" })
    await store.dismiss("two")
    await stands(store, "a", { holder: "one", token: 1 })
    await end(store, leaseOf("a", 1, "one"))
  },
}
