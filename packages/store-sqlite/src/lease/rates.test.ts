/** Rates on a file that another process has locked: what counts is when a start is admitted, not when it was asked for. */
import type { Claimed, PoolSlots } from "@superstep/engine"
import { describe, expect, test } from "vitest"
import type { Driver } from "../file/driver.ts"
import { drivers, emptyPath, lease, openStore, records } from "../stores.test-support.ts"

const rate = { every: 1_000, burst: 1 }

/** A store with a clock, and what is done while another process has the file locked. */
async function opened(driver: Driver) {
  const path = emptyPath(driver)
  const store = openStore(path, driver, 50_000)
  await store.beat({ id: "worker", machine: "machine", pid: 1, born: "then" })
  const clock = { time: 1_000, now: () => clock.time }
  async function whileLocked<T>(ask: () => Promise<T>): Promise<T> {
    const other = driver(path)
    other.exec("BEGIN IMMEDIATE")
    const asked = ask()
    // Turns of the event loop in which it is tried.
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    clock.time += 5_000
    other.exec("ROLLBACK")
    other.close()
    return await asked
  }
  return { store, clock, whileLocked }
}

describe.each(drivers)("with $name", ({ driver }) => {
  test("a claim that waits for the lock starts its run when it gets it", async () => {
    const { store, clock, whileLocked } = await opened(driver)
    await store.queue.setLimits("workflow", [{ name: "slow", rate }])
    for (const runId of ["a", "b"]) {
      const flow = { lanes: [{ limit: "slow", key: "" }] }
      const created = { workflow: "workflow", graph: "graph", flow, queued: true } as const
      await store.append(lease(runId), 0, records(1, 1), { created, idle: {} })
    }
    const claim = (): Promise<Claimed> =>
      store.queue.claimNext({ holder: "worker", workflows: ["workflow"], now: clock.now, limit: 9 })
    expect((await whileLocked(claim)).runs).toHaveLength(1)
    clock.time += 999
    expect(await claim()).toEqual({ runs: [], nextAt: 7_000 })
    clock.time += 1
    expect((await claim()).runs).toHaveLength(1)
    await store.close()
  })

  test("a slot that is asked for while the file is locked is given when it is free", async () => {
    const { store, clock, whileLocked } = await opened(driver)
    const query = { holder: "worker", pool: "pool", now: clock.now }
    const take = (id: string): Promise<PoolSlots> =>
      store.slots.take({ ...query, id, lanes: [{ name: "slow", rate }], score: 0 })
    expect((await whileLocked(() => take("a"))).taken).toEqual(new Set(["a"]))
    clock.time += 999
    expect(await take("b")).toEqual({ taken: new Set(["a"]), waiting: new Set(["b"]), retryIn: 1 })
    clock.time += 1
    expect((await store.slots.check(query)).taken).toEqual(new Set(["a", "b"]))
    await store.close()
  })
})
