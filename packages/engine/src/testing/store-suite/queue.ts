/** Store suite: queued runs. Who claims next, in what order, within which limits (Q1 … Q5 of the port). */
import assert from "node:assert/strict"
import type { ClaimQuery, LaneLimit, RunFlow, Store } from "../../runtime/index.ts"
import { later, rateExcess, type Start } from "./rates.ts"
import {
  end,
  fieldsOf,
  holder,
  holds,
  mailTo,
  plain,
  record,
  records,
  rejects,
  runOf,
  START,
  type StoreCases,
  stands,
  start,
  take,
  write,
} from "./steps.ts"

interface QueuedOptions extends RunFlow {
  readonly at?: number
  readonly startAt?: number | undefined
  readonly workflow?: string
  readonly graph?: string
  readonly key?: string
  readonly thread?: string
  readonly value?: string
}

/** Creates a queued run. */
async function enqueue(store: Store, runId: string, options: QueuedOptions = {}): Promise<void> {
  const { at = START, startAt, workflow = "workflow", graph = "graph", ...rest } = options
  const { key, thread, value = runId, ...flow } = rest
  await store.append({ runId, holder: "writer", token: 1 }, 0, [record(1, value, at)], {
    created: { workflow, graph, key, thread, flow, queued: true },
    idle: { wakeAt: startAt },
  })
}

const NOW = START + 1_000_000

/** Claims like a process, and returns the ids in order. */
async function claimed(store: Store, limit: number, query: Partial<ClaimQuery> = {}): Promise<string[]> {
  const by = query.holder ?? "worker"
  await store.beat(holder(by))
  const found = await store.queue.claimNext({
    holder: by,
    workflows: ["workflow"],
    now: () => NOW,
    limit,
    ...query,
  })
  return found.runs.map(({ runId }) => runId)
}

async function endOf(store: Store, runId: string): Promise<void> {
  const { token, holder: by = "" } = await runOf(store, runId)
  await end(store, { runId, holder: by, token })
}

async function releaseOf(store: Store, runId: string, wakeAt?: number): Promise<void> {
  const { token, holder: by = "" } = await runOf(store, runId)
  await store.release({ runId, holder: by, token }, wakeAt)
}

/** Longer than a case takes. */
const HOUR = 3_600_000

/** Four runs, two of which may start in an hour. Returns how a process claims: what it gets, and when to ask again. */
async function fourSlowRuns(store: Store) {
  await store.queue.setLimits("workflow", [{ name: "slow", rate: { every: HOUR, burst: 2 } }])
  for (let i = 0; i < 4; i++) await enqueue(store, `r${i}`, { lanes: [lane("slow")], at: START + i })
  await store.beat(holder("worker"))
  return async (now = NOW): Promise<[ids: string[], nextAt: number | undefined]> => {
    const query = { holder: "worker", workflows: ["workflow"], now: () => now, limit: 9 }
    const { runs, nextAt } = await store.queue.claimNext(query)
    return [runs.map(({ runId }) => runId), nextAt]
  }
}

const lane = (limit: string, key = "") => ({ limit, key })
const two: LaneLimit = { name: "two", max: 2 }

export const queueCases: StoreCases = {
  async "leaves runs of given graphs to others, unless one is asked for"(store) {
    await enqueue(store, "old", { graph: "graph 1" })
    await enqueue(store, "new", { graph: "graph 2", at: START + 1 })
    await enqueue(store, "older", { graph: "graph 3", at: START + 2 })
    const without = ["graph 1", "graph 3"]
    assert.deepEqual(await claimed(store, 10, { without }), ["new"])
    assert.deepEqual(await claimed(store, 1, { without, runId: "old" }), ["old"])
    await releaseOf(store, "old", START)
    assert.deepEqual(await claimed(store, 10, { without }), [])
    assert.deepEqual(await claimed(store, 10, { without: [] }), ["old", "older"])
  },

  async "keeps a queued run without a holder, and gives it to the first claim"(store) {
    await enqueue(store, "r", { tenant: "t", priority: 2, expiresAt: NOW + 1, key: "k" })
    await stands(store, "r", {
      status: "queued",
      holder: undefined,
      wakeAt: undefined,
      executing: false,
      token: 1,
      seq: 1,
      key: "k",
    })
    assert.deepEqual(plain((await runOf(store, "r")).flow), { tenant: "t", priority: 2, expiresAt: NOW + 1 })
    assert.deepEqual(fieldsOf(await store.runs({ status: ["queued"] }), "runId"), ["r"])
    assert.equal((await store.report()).runs.queued, 1)
    await store.beat(holder("worker"))
    const query = { holder: "worker", workflows: ["workflow"], now: () => NOW, limit: 5 }
    const { runs, nextAt } = await store.queue.claimNext(query)
    assert.equal(nextAt, undefined)
    assert.deepEqual(plain(runs), [plain(await runOf(store, "r"))])
    await stands(store, "r", {
      status: "running",
      holder: "worker",
      token: 2,
      executing: true,
      wakeAt: undefined,
      takeovers: 0,
    })
    assert.deepEqual(await claimed(store, 5, { holder: "other" }), [])
    await rejects(
      () => store.append({ runId: "r", holder: "writer", token: 1 }, 1, records(2, 1)),
      "RUN_TAKEN",
    )
    await store.append({ runId: "r", holder: "worker", token: 2 }, 1, records(2, 1))
  },

  async "is not freed, suspected or lost when a process dies that does not hold it"(store) {
    await store.beat(holder("writer"))
    await enqueue(store, "r")
    await store.dismiss("writer", { reason: "died" })
    await stands(store, "r", { status: "queued", token: 1, takeovers: 0 })
    assert.deepEqual(await claimed(store, 1), ["r"])
  },

  async "gives each run to one of many concurrent claims"(store) {
    const ids = Array.from({ length: 30 }, (_, i) => `run ${i}`)
    for (const [i, id] of ids.entries()) await enqueue(store, id, { at: START + i })
    const workers = Array.from({ length: 10 }, (_, i) => `worker ${i}`)
    const all = await Promise.all(workers.map((worker) => claimed(store, 5, { holder: worker })))
    assert.equal(all.flat().length, 30)
    assert.deepEqual(new Set(all.flat()), new Set(ids))
    for (const [i, list] of all.entries()) {
      for (const id of list) assert.equal((await runOf(store, id)).holder, workers[i])
    }
  },

  async "claims queued runs, runs that are due, and runs that no live process holds; no others"(store) {
    await enqueue(store, "queued")
    await enqueue(store, "due", { startAt: NOW })
    await enqueue(store, "later", { startAt: NOW + 1 })
    await enqueue(store, "other workflow", { workflow: "other" })
    await store.release(await start(store, "free"), undefined)
    await store.release(await start(store, "asleep", { change: { status: "waiting" } }), NOW + 1)
    await store.release(await start(store, "awake", { change: { status: "waiting" } }), NOW)
    await store.release(await start(store, "waiting", { change: { status: "waiting" } }), undefined)
    await store.release(await start(store, "addressed", { change: { status: "waiting" } }), undefined)
    await store.post(mailTo("addressed", "m"))
    await store.post(mailTo("later", "m2"))
    await start(store, "held", { holder: "alive" })
    await start(store, "orphan", { holder: "dead" })
    await store.dismiss("dead", { reason: "died" })
    await start(store, "parked")
    await store.quarantine(await take(store, "parked", "judge"), START)
    await start(store, "over", { change: { status: "completed" } })
    const all = await claimed(store, 100)
    assert.deepEqual(new Set(all), new Set(["queued", "due", "free", "awake", "addressed", "orphan"]))
    for (const runId of all)
      await stands(store, runId, { holder: "worker", wakeAt: undefined, executing: true })
  },

  async "queues a fork, which has the records of its past"(store) {
    const lease = await start(store, "r", { count: 3 })
    const created = {
      workflow: "workflow",
      graph: "graph",
      forkOf: { runId: "r", seq: 2 },
      queued: true,
    } as const
    const own = record(3, "of the fork")
    await store.append({ runId: "fork", holder: "writer", token: 1 }, 2, [own], { created, idle: {} })
    await stands(store, "fork", { status: "queued", holder: undefined, seq: 3 })
    assert.deepEqual(await claimed(store, 9), ["fork"])
    await stands(store, "fork", { status: "running", holder: "worker", seq: 3 })
    const [first, second] = await store.read("r", 0)
    assert.deepEqual(plain(await store.read("fork", 0)), plain([first, second, own]))
    await end(store, lease)
  },

  async "claims a run whose holder the store does not know"(store) {
    const lease = { runId: "r", holder: "unknown", token: 1 }
    const created = { workflow: "workflow", graph: "graph" }
    await store.append(lease, 0, records(1, 1), { created })
    assert.deepEqual(await claimed(store, 1), ["r"])
    await rejects(() => store.append(lease, 1, records(2, 1)), "RUN_TAKEN")
  },

  async "leaves suspects to the processes that try them"(store) {
    for (const dying of ["first", "second"]) {
      await store.beat(holder(dying))
      if (dying === "first") await start(store, "r", { holder: dying })
      else await take(store, "r", dying)
      await store.dismiss(dying, { reason: "died" })
    }
    assert.deepEqual(await claimed(store, 1), [])
    assert.deepEqual(await claimed(store, 1, { runId: "r" }), ["r"])
  },

  async "serves the requested queues; a run without one is in the default queue"(store) {
    await enqueue(store, "none")
    await enqueue(store, "default", { queue: "default", at: START + 1 })
    await enqueue(store, "mail", { queue: "mail" })
    await store.release(await start(store, "started", { at: START + 2 }), undefined)
    assert.deepEqual(await claimed(store, 9, { queues: [] }), [])
    assert.deepEqual(await claimed(store, 9, { queues: ["mail"] }), ["mail"])
    assert.deepEqual(await claimed(store, 9, { queues: ["default"] }), ["started", "none", "default"])
  },

  async "claims the requested run, due or not, unless it is queued"(store) {
    await enqueue(store, "first")
    await enqueue(store, "asked", { at: START + 1 })
    await enqueue(store, "later", { startAt: NOW + 1 })
    await store.release(await start(store, "waiting", { change: { status: "waiting" } }), NOW + 1)
    await start(store, "held", { holder: "alive" })
    assert.deepEqual(await claimed(store, 1, { runId: "asked" }), ["asked"])
    assert.deepEqual(await claimed(store, 1, { runId: "waiting" }), ["waiting"])
    for (const runId of ["later", "held", "unknown", "asked"]) {
      assert.deepEqual(await claimed(store, 1, { runId }), [], runId)
    }
    await stands(store, "later", { status: "queued", token: 1 })
  },

  async "takes runs in the order in which they may start"(store) {
    await enqueue(store, "b", { at: START + 2 })
    await enqueue(store, "c", { at: START, startAt: START + 3 })
    await enqueue(store, "a", { at: START + 1 })
    assert.deepEqual(await claimed(store, 2), ["a", "b"])
    assert.deepEqual(await claimed(store, 2), ["c"])
  },

  async "prefers a higher priority, each point worth a minute of waiting"(store) {
    await enqueue(store, "old", { at: START })
    await enqueue(store, "urgent", { at: START + 59_000, priority: 1 })
    await enqueue(store, "too late", { at: START + 61_000, priority: 1 })
    await enqueue(store, "low", { at: START - 60_000, priority: -2 })
    assert.deepEqual(await claimed(store, 9), ["urgent", "old", "too late", "low"])
  },

  async "takes runs that have begun before those that have not"(store) {
    await enqueue(store, "begun", { at: START + 9 })
    assert.deepEqual(await claimed(store, 1), ["begun"])
    await releaseOf(store, "begun")
    await enqueue(store, "older", { at: START, priority: 5 })
    assert.deepEqual(await claimed(store, 2), ["begun", "older"])
  },

  async "serves tenants in turn, the one that was served longest ago first"(store) {
    for (let i = 0; i < 20; i++) await enqueue(store, `big ${i}`, { tenant: "big", at: START + i })
    assert.deepEqual(await claimed(store, 2), ["big 0", "big 1"])
    for (let i = 0; i < 3; i++) await enqueue(store, `small ${i}`, { tenant: "small", at: START + 500 + i })
    await enqueue(store, "none", { at: START + 900 })
    const order = await claimed(store, 8)
    assert.deepEqual(new Set(order.slice(0, 2)), new Set(["small 0", "none"]))
    assert.deepEqual(order.slice(2), ["big 2", "small 1", "big 3", "small 2", "big 4", "big 5"])
    await enqueue(store, "small 3", { tenant: "small", at: START + 999 })
    assert.deepEqual(await claimed(store, 1), ["small 3"])
  },

  async "holds no more runs of a lane than its limit, each key by itself"(store) {
    await store.queue.setLimits("workflow", [two])
    for (let i = 0; i < 5; i++) await enqueue(store, `a${i}`, { lanes: [lane("two", "a")], at: START + i })
    for (let i = 0; i < 3; i++)
      await enqueue(store, `b${i}`, { lanes: [lane("two", "b")], at: START + 50 + i })
    assert.deepEqual(await claimed(store, 9), ["a0", "a1", "b0", "b1"])
    assert.deepEqual(await claimed(store, 9), [])
    await endOf(store, "a1")
    assert.deepEqual(await claimed(store, 9, { holder: "other" }), ["a2"])
    assert.deepEqual(await claimed(store, 1, { runId: "a3" }), [])
    await releaseOf(store, "b0", NOW + 9)
    assert.deepEqual(await claimed(store, 9), ["b2"])
  },

  async "never exceeds a limit with many concurrent claims"(store) {
    await store.queue.setLimits("workflow", [two])
    for (let i = 0; i < 20; i++) await enqueue(store, `r${i}`, { lanes: [lane("two")], at: START + i })
    const workers = Array.from({ length: 10 }, (_, i) => `worker ${i}`)
    const all = await Promise.all(workers.map((worker) => claimed(store, 5, { holder: worker })))
    assert.deepEqual(all.flat().sort(), ["r0", "r1"])
  },

  async "frees the slots of a dead process, and ignores unknown holders"(store) {
    await store.queue.setLimits("workflow", [two])
    for (let i = 0; i < 4; i++) await enqueue(store, `r${i}`, { lanes: [lane("two")], at: START + i })
    assert.deepEqual(await claimed(store, 9, { holder: "dying" }), ["r0", "r1"])
    await store.dismiss("dying", { reason: "died" })
    assert.deepEqual(await claimed(store, 9), ["r0", "r1"])
    assert.deepEqual(await claimed(store, 9), [])
    // The run was started without a queue by a process that the store does not know.
    const created = { workflow: "workflow", graph: "graph", flow: { lanes: [lane("two", "x")] } }
    for (const runId of ["s0", "s1", "s2"]) {
      await store.append({ runId, holder: "unknown", token: 1 }, 0, records(1, 1), { created })
    }
    assert.deepEqual(await claimed(store, 9), ["s0", "s1"])
  },

  async "needs every lane of a run to admit it, and is not blocked by the lanes of other runs"(store) {
    await store.queue.setLimits("workflow", [
      { name: "one", max: 1 },
      { name: "many", max: 3 },
    ])
    const run = (id: string, key: string, at: number) =>
      enqueue(store, id, { lanes: [lane("one", key), lane("many")], at: START + at })
    await run("a0", "a", 0)
    await run("a1", "a", 1)
    await run("b0", "b", 2)
    await run("c0", "c", 3)
    await run("d0", "d", 4)
    await enqueue(store, "free", { at: START + 9 })
    assert.deepEqual(await claimed(store, 9), ["a0", "b0", "c0", "free"])
    await endOf(store, "b0")
    assert.deepEqual(await claimed(store, 9), ["d0"])
  },

  async "uses the newest limits of a workflow; a lane without a limit admits all"(store) {
    for (let i = 0; i < 6; i++) await enqueue(store, `r${i}`, { lanes: [lane("two")], at: START + i })
    await store.queue.setLimits("workflow", [{ name: "two", max: 1 }])
    await store.queue.setLimits("other", [{ name: "of another", max: 1 }])
    assert.deepEqual(await claimed(store, 9), ["r0"])
    await store.queue.setLimits("workflow", [{ name: "two", max: 3 }])
    assert.deepEqual(await claimed(store, 9), ["r1", "r2"])
    await store.queue.setLimits("workflow", [])
    assert.deepEqual(await claimed(store, 9), ["r3", "r4", "r5"])
  },

  async "starts as many runs of a lane as its burst, then says when the next may start (Q2)"(store) {
    const next = await fourSlowRuns(store)
    const [ids, nextAt = 0] = await next()
    assert.deepEqual(ids, ["r0", "r1"])
    assert.ok(nextAt > NOW && nextAt <= NOW + HOUR, `in ${nextAt - NOW} ms`)
    const [none, again = 0] = await next()
    assert.deepEqual(none, [])
    assert.ok(again > NOW && again <= nextAt)
  },

  async "starts a run once: to claim it again, after a release or the death of its holder, needs no second start"(
    store,
  ) {
    const next = await fourSlowRuns(store)
    await next()
    await releaseOf(store, "r0")
    assert.deepEqual((await next())[0], ["r0"])
    await store.dismiss("worker", { reason: "died" })
    await store.beat(holder("worker"))
    assert.deepEqual((await next())[0], ["r0", "r1"])
    // Nor does it give one back.
    assert.deepEqual((await next())[0], [])
  },

  async "starts runs by a rate that was changed, whatever is owed to the old one"(store) {
    const next = await fourSlowRuns(store)
    await next()
    await store.queue.setLimits("workflow", [{ name: "slow", rate: { every: 1, burst: 2 } }])
    const found: string[] = []
    for (let ms = 0; found.length < 2 && ms < 10_000; ms++) found.push(...(await next(NOW + ms))[0])
    assert.deepEqual(found, ["r2", "r3"])
  },

  async "starts no more runs of a lane than its rate admits to many that claim at once, and starts each (Q2)"(
    store,
  ) {
    const rates = { all: { every: 5, burst: 3 }, each: { every: 20, burst: 1 } }
    await store.queue.setLimits("workflow", [
      { name: "all", rate: rates.all },
      { name: "each", rate: rates.each },
    ])
    const keyOf = (runId: string) => `key ${Number(runId) % 3}`
    for (let i = 0; i < 18; i++) {
      const lanes = [lane("all"), lane("each", keyOf(`${i}`))]
      await enqueue(store, `${i}`, { lanes, at: START + i })
    }
    const starts: (Start & { readonly runId: string })[] = []
    const claimAll = async (by: string) => {
      while (starts.length < 18) {
        const earliest = Date.now()
        const query = { holder: by, workflows: ["workflow"], now: Date.now, limit: 4 }
        const { runs, nextAt = earliest + 1 } = await store.queue.claimNext(query)
        const latest = Date.now() + 1
        starts.push(...runs.map(({ runId }) => ({ runId, earliest, latest })))
        if (runs.length === 0) await later(nextAt - earliest)
      }
    }
    const holders = Array.from({ length: 4 }, (_, i) => `holder ${i}`)
    for (const one of holders) await store.beat(holder(one))
    await Promise.all(holders.map(claimAll))
    assert.equal(new Set(starts.map(({ runId }) => runId)).size, 18)
    assert.equal(rateExcess(starts, rates.all), undefined)
    for (const key of ["key 0", "key 1", "key 2"]) {
      const own = starts.filter(({ runId }) => keyOf(runId) === key)
      assert.equal(rateExcess(own, rates.each), undefined)
    }
  },

  async "never claims a queued run that expired, and lists it for the process that ends it"(store) {
    await enqueue(store, "expired", { expiresAt: NOW })
    await enqueue(store, "in time", { expiresAt: NOW + 1, at: START + 1 })
    await enqueue(store, "of another", { expiresAt: NOW - 5, workflow: "unknown", at: START + 2 })
    assert.deepEqual(await store.queue.expired(NOW - 6, 9), [])
    const found = await store.queue.expired(NOW, 9)
    assert.deepEqual(new Set(found.map(({ runId }) => runId)), new Set(["expired", "of another"]))
    assert.equal((await store.queue.expired(NOW, 1)).length, 1)
    assert.deepEqual(await claimed(store, 1, { runId: "expired" }), [])
    assert.deepEqual(await claimed(store, 9), ["in time"])
    await releaseOf(store, "in time")
    // It has begun.
    assert.deepEqual(await claimed(store, 9, { now: () => NOW + 2 }), ["in time"])
    const [run] = found
    assert.ok(run !== undefined)
    const lease = await store.claim(run.runId, run.token, "worker")
    assert.ok(lease !== undefined)
    await write(store, lease, { status: "cancelled", error: { code: "RUN_EXPIRED", message: "late" } })
    assert.equal((await store.queue.expired(NOW, 9)).length, 1)
  },

  async "has one queued run of a group, until it is claimed or ends"(store) {
    await enqueue(store, "first", { group: "g", startAt: NOW })
    await rejects(() => enqueue(store, "second", { group: "g" }), "GROUP_TAKEN", "first")
    assert.equal(await store.run("second"), undefined)
    await enqueue(store, "other", { group: "h", at: START + 1 })
    assert.equal((await runOf(store, "first")).flow?.group, "g")
    assert.deepEqual(await claimed(store, 1, { runId: "first" }), ["first"])
    assert.equal((await runOf(store, "first")).flow?.group, undefined)
    await enqueue(store, "second", { group: "g" })
    const lease = await take(store, "second", "worker")
    await end(store, lease)
    await enqueue(store, "third", { group: "g" })
  },

  async "replaces the records of a queued run, and when it may start; once for each token"(store) {
    await enqueue(store, "r", { group: "g", startAt: NOW, value: "first" })
    const records = [record(1, "second".repeat(20_000), START + 7)]
    const amendment = { runId: "r", token: 1, records, wakeAt: NOW + 5, closed: false }
    assert.equal(await store.queue.amend(amendment), true)
    await holds(store, "r", records)
    await stands(store, "r", {
      status: "queued",
      token: 2,
      wakeAt: NOW + 5,
      seq: 1,
      updatedAt: START + 7,
      createdAt: START,
      executing: false,
    })
    assert.equal(await store.queue.amend(amendment), false)
    assert.deepEqual(await claimed(store, 1), [])
    const closed = { runId: "r", token: 2, records: [record(1, "third")], wakeAt: undefined, closed: true }
    assert.equal(await store.queue.amend(closed), true)
    await holds(store, "r", closed.records)
    await enqueue(store, "next", { group: "g", startAt: NOW + 9 })
    assert.deepEqual(await claimed(store, 1), ["r"])
    const { token } = await runOf(store, "r")
    assert.equal(await store.queue.amend({ ...closed, token }), false)
    assert.equal(await store.queue.amend({ ...closed, runId: "unknown", token: 0 }), false)
    await holds(store, "r", closed.records)
    await store.append({ runId: "r", holder: "worker", token }, 1, [record(2, "after")])
    await holds(store, "r", [...closed.records, record(2, "after")])
  },

  async "lets one of many concurrent replacements succeed"(store) {
    await enqueue(store, "r", { group: "g" })
    const made = await Promise.all(
      Array.from({ length: 8 }, async (_, i) =>
        store.queue.amend({
          runId: "r",
          token: 1,
          records: [record(1, i)],
          wakeAt: undefined,
          closed: false,
        }),
      ),
    )
    const winner = made.indexOf(true)
    assert.equal(made.filter(Boolean).length, 1)
    await holds(store, "r", [record(1, winner)])
  },

  async "keeps a thread busy while its run is queued"(store) {
    await enqueue(store, "r", { thread: "t" })
    await rejects(() => enqueue(store, "second", { thread: "t" }), "THREAD_BUSY", "r")
    await rejects(() => start(store, "third", { thread: "t" }), "THREAD_BUSY", "r")
  },

  async "neither removes nor prunes a queued run, and ends it like any other"(store) {
    await enqueue(store, "r")
    assert.equal(await store.remove("r"), false)
    assert.equal((await store.prune({ keep: 0 })).count, 0)
    await end(store, await take(store, "r", "judge"), START + 2, "cancelled")
    assert.deepEqual(await claimed(store, 9), [])
    assert.equal(await store.remove("r"), true)
  },

  async "skips a long queue that is blocked"(store) {
    await store.queue.setLimits("workflow", [{ name: "one", max: 1 }])
    for (let i = 0; i < 300; i++) {
      await enqueue(store, `big ${i}`, { tenant: "big", lanes: [lane("one", "big")], at: START + i })
    }
    for (let i = 0; i < 20; i++) await enqueue(store, `small ${i}`, { tenant: "small", at: START + 900 + i })
    const order = await claimed(store, 100)
    assert.equal(order.length, 21)
    assert.equal(order.filter((id) => id.startsWith("small")).length, 20)
  },
}
