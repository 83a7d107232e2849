/** Schedules on a server: its clock decides, and a lost answer repeats nothing. */
import type { CreatedRun } from "@superstep/engine"
import { expect, test } from "vitest"
import { breakingProxy } from "./proxy.test-support.ts"
import { leaseOf, record } from "./records.test-support.ts"
import { freshStore, url } from "./stores.test-support.ts"

const HOUR = 3_600_000
const schedule = (version: string, nextAt: number) => ({
  id: "s",
  workflow: "workflow",
  nextAt,
  version,
  body: { version },
})

function queuedRun(runId: string): CreatedRun {
  const created = { workflow: "workflow", graph: "graph", key: "key", queued: true } as const
  return { lease: leaseOf(runId), records: [record(1)], change: { created, idle: {} } }
}

test("the clock of a process does not decide what is due", async () => {
  const store = freshStore()
  const query = { workflows: ["workflow"], limit: 5 }
  const { now } = await store.schedules.due({ ...query, now: 0 })
  await store.schedules.write(schedule("1", now + HOUR), undefined)
  const fast = await store.schedules.due({ ...query, now: now + 5 * HOUR })
  expect(fast).toMatchObject({ schedules: [], nextAt: now + HOUR })
  await store.schedules.write(schedule("2", now - HOUR), "1")
  const slow = await store.schedules.due({ ...query, now: now - 5 * HOUR })
  expect(slow.schedules).toMatchObject([{ version: "2" }])
  expect(Math.abs(slow.now - now)).toBeLessThan(HOUR)
})

test.each(["before", "after"] as const)(
  "a fire whose connection breaks %s the server has made it happens once (P2)",
  async (when) => {
    const proxy = await breakingProxy(url)
    const store = freshStore({ url: proxy.url })
    await store.schedules.write(schedule("1", 5), undefined)
    const before = proxy.broken
    proxy.breaks = (sent) => (proxy.broken === before && sent.includes("write_schedule") ? when : undefined)
    expect(await store.schedules.write(schedule("2", 6), "1", queuedRun("r"))).toBe(true)
    expect(proxy.broken).toBe(before + 1)
    expect(await store.schedules.get("s")).toMatchObject({ version: "2", nextAt: 6 })
    expect(await store.runs({})).toHaveLength(1)
    expect(await store.schedules.write(schedule("3", 7), "1", queuedRun("q"))).toBe(false)
    expect(await store.run("q")).toBeUndefined()
  },
)

test("a removal whose answer is lost was made", async () => {
  const proxy = await breakingProxy(url)
  const store = freshStore({ url: proxy.url })
  await store.schedules.write(schedule("1", 5), undefined)
  const before = proxy.broken
  proxy.breaks = (sent) => (proxy.broken === before && sent.includes("DELETE") ? "after" : undefined)
  expect(await store.schedules.remove("s")).toBe(true)
  expect(await store.schedules.remove("s")).toBe(false)
})
