/** Queued runs on a server: several stores claim at once, with limits, while holders die. */
import { isSuperstepError, type RunFlow } from "@superstep/engine"
import * as fc from "fast-check"
import { expect, inject, test } from "vitest"
import type { PostgresStore } from "./postgres-store.ts"
import { breakingProxy } from "./proxy.test-support.ts"
import { leaseOf, record } from "./records.test-support.ts"
import { freshStore, pool, sql, url } from "./stores.test-support.ts"

const SEED = inject("seed")
const RUNS = inject("isProof") ? 2_000 : 60
const STORES = 3
const WORKERS = 6
const KEYS = 4
const MAX = { each: 2, all: 5 }

function beat(store: PostgresStore, id: string): Promise<boolean> {
  return store.beat({ id, machine: "machine", pid: 1, born: "then" })
}

function enqueue(store: PostgresStore, runId: string, flow: RunFlow = {}): Promise<void> | undefined {
  const created = { workflow: "workflow", graph: "graph", flow, queued: true } as const
  return store.append(leaseOf(runId), 0, [record(1)], { created, idle: {} })
}

interface HeldRow {
  readonly limit: string
  readonly key: string
  readonly count: number
}

/** How many runs of each lane are held, at one moment. */
function held(schema: string): Promise<HeldRow[]> {
  return sql(
    `SELECT lane->>'limit' AS limit, lane->>'key' AS key, count(*)::int AS count
     FROM "${schema}".live JOIN "${schema}".runs AS r ON r.id = live.run
     CROSS JOIN LATERAL json_array_elements(r.flow::json->'lanes') AS lane
     WHERE live.holder IS NOT NULL GROUP BY 1, 2`,
  )
}

test(`no lane has more than its limit while ${WORKERS} holders claim ${RUNS} runs at once, and are dismissed (Q2)`, {
  timeout: 300_000,
}, async () => {
  const first = freshStore()
  const stores = [first, ...Array.from({ length: STORES - 1 }, () => freshStore({ schema: first.schema }))]
  await first.queue.setLimits("workflow", [
    { name: "each", max: MAX.each },
    { name: "all", max: MAX.all },
  ])
  await Promise.all(
    Array.from({ length: RUNS }, (_, i) => {
      const key = `key ${i % KEYS}`
      const lanes = [
        { limit: "each", key },
        { limit: "all", key: "" },
      ]
      return enqueue(first, `run ${i}`, { lanes, tenant: `tenant ${i % 3}` })
    }),
  )
  const choices = fc.sample(fc.nat(99), { seed: SEED, numRuns: 10_000 })
  let [next, ended, dismissed, most] = [0, 0, 0, 0]
  const choose = () => choices[next++ % choices.length] as number

  async function check(): Promise<void> {
    for (const { limit, key, count } of await held(first.schema)) {
      expect(count, `SEED=${SEED}: ${limit} ${key}`).toBeLessThanOrEqual(MAX[limit as keyof typeof MAX])
      if (limit === "all") most = Math.max(most, count)
    }
  }

  async function work(number: number): Promise<void> {
    const store = stores[number % STORES] as PostgresStore
    const holder = `worker ${number}`
    while (ended < RUNS) {
      await beat(store, holder)
      const query = { holder, workflows: ["workflow"], now: Date.now, limit: 1 + (choose() % 3) }
      const { runs } = await store.queue.claimNext(query)
      await check()
      if (choose() < 10) {
        dismissed++
        await store.dismiss(`worker ${choose() % WORKERS}`, { reason: "closed" })
      }
      for (const { runId, token, seq } of runs) {
        const lease = { runId, holder, token }
        if (choose() < 30) {
          await store.release(lease, undefined)
          continue
        }
        try {
          await store.append(lease, seq, [record(seq + 1)], { status: "completed" })
          ended++
        } catch (error) {
          if (!isSuperstepError(error, "RUN_TAKEN")) throw error
        }
      }
    }
  }

  await Promise.all(Array.from({ length: WORKERS }, (_, number) => work(number)))
  expect(await first.runs({ status: ["queued", "running", "waiting"] })).toEqual([])
  expect(await first.runs({ status: ["completed"] })).toHaveLength(RUNS)
  expect(most, `SEED=${SEED}`).toBeGreaterThan(MAX.each)
  // biome-ignore lint/suspicious/noConsole: proofs print what they did.
  console.log(`SEED=${SEED}: ${dismissed} dismissals, at most ${most} runs at a time`)
})

test("limits that change while others claim are kept by whoever claims next", async () => {
  const one = freshStore()
  const other = freshStore({ schema: one.schema })
  const lanes = [{ limit: "limit", key: "" }]
  await Promise.all(Array.from({ length: 60 }, (_, i) => enqueue(one, `run ${i}`, { lanes })))
  const holders = Array.from({ length: 10 }, (_, i) => `worker ${i}`)
  for (const holder of holders) await beat(one, holder)
  const claim = (holder: string, i: number) =>
    (i % 2 === 0 ? one : other).queue.claimNext({
      holder,
      workflows: ["workflow"],
      now: Date.now,
      limit: 2,
    })
  const racing = holders.slice(0, 5).map(claim)
  await one.queue.setLimits("workflow", [{ name: "limit", max: 6 }])
  const [before] = await held(one.schema)
  await Promise.all([...racing, ...holders.slice(5).map(claim)])
  const [after] = await held(one.schema)
  expect(after?.count).toBeLessThanOrEqual(Math.max(before?.count ?? 0, 6))
})

const HOUR = 3_600_000
/** Two runs may start, and then one in an hour. */
async function slowStore(count: number) {
  const store = freshStore()
  await store.queue.setLimits("workflow", [{ name: "slow", rate: { every: HOUR, burst: 2 } }])
  const lanes = [{ limit: "slow", key: "" }]
  for (let i = 0; i < count; i++) await enqueue(store, `run ${i}`, { lanes })
  await beat(store, "worker")
  const claim = (now: () => number) =>
    store.queue.claimNext({ holder: "worker", workflows: ["workflow"], now, limit: 9 })
  return { store, claim }
}

test("processes whose clocks differ start no more runs than a rate admits (Q2)", async () => {
  const { claim } = await slowStore(6)
  const [slow, fast] = [() => Date.now() - 10 * HOUR, () => Date.now() + 10 * HOUR]
  expect((await claim(slow)).runs).toHaveLength(2)
  for (const now of [fast, slow, fast]) {
    const { runs, nextAt = 0 } = await claim(now)
    expect(runs).toEqual([])
    // By the clock of the process, which sets its timer.
    expect(nextAt - now()).toBeGreaterThan(0)
    expect(nextAt - now()).toBeLessThanOrEqual(HOUR)
  }
})

test("a claim that waits for those of others starts its runs when it is made, not when it was asked for (Q2)", async () => {
  const { store, claim } = await slowStore(1)
  const holder = await pool.connect()
  await holder.query(`BEGIN; LOCK TABLE "${store.schema}".lane_limits IN EXCLUSIVE MODE`)
  const asked = claim(Date.now)
  const waiting = `SELECT 1 FROM pg_locks WHERE NOT granted AND relation = '"${store.schema}".lane_limits'::regclass`
  await expect.poll(() => sql(waiting)).toHaveLength(1)
  const time = "SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS time"
  const [moment] = (await holder.query<{ time: number }>(time)).rows
  await holder.query("COMMIT")
  holder.release()
  expect((await asked).runs).toHaveLength(1)
  const [paid] = await sql<{ until: number }>(`SELECT paid_until AS until FROM "${store.schema}".lane_rates`)
  expect((paid?.until ?? 0) - HOUR).toBeGreaterThan(moment?.time ?? Number.NaN)
})

test("a claim and an amendment survive the loss of their answers (P2)", async () => {
  const proxy = await breakingProxy(url)
  const store = freshStore({ url: proxy.url })
  for (const runId of ["a", "b", "c"]) await enqueue(store, runId)
  await beat(store, "worker")
  const breakOnce = (part: string) => {
    const before = proxy.broken
    proxy.breaks = (sent) => (proxy.broken === before && sent.includes(part) ? "after" : undefined)
  }
  const amendment = { runId: "c", token: 1, records: [record(1, "other")], wakeAt: undefined, closed: false }
  breakOnce("amend")
  expect(await store.queue.amend(amendment)).toBe(true)
  expect(await store.queue.amend(amendment)).toBe(false)
  breakOnce("claim_next")
  const query = { holder: "worker", workflows: ["workflow"], now: Date.now, limit: 2 }
  const { runs } = await store.queue.claimNext(query)
  expect(runs.map(({ runId, token }) => [runId, token])).toEqual([
    ["a", 2],
    ["b", 2],
  ])
  expect((await store.queue.claimNext(query)).runs.map(({ runId, token }) => [runId, token])).toEqual([
    ["c", 3],
  ])
  expect(proxy.broken).toBe(2)
})
