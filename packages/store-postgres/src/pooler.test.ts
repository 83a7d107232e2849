/** Behind a pooler in transaction mode: no session state, except on the connection that listens (P1). */
import { expect, test } from "vitest"
import { transactionPooler } from "./pooler.test-support.ts"
import { leaseOf, record, start } from "./records.test-support.ts"
import { freshStore, url } from "./stores.test-support.ts"

test("a store works through a pooler that gives every transaction another connection", async () => {
  const pooler = await transactionPooler(url)
  const store = freshStore({ url: pooler.url, listenUrl: url, prepare: false })
  const leases = await Promise.all(Array.from({ length: 20 }, (_, i) => start(store, `run ${i}`)))
  for (let seq = 1; seq <= 10; seq++) {
    await Promise.all(leases.map((lease) => store.append(lease, seq, [record(seq + 1)])))
  }
  const asked = { id: "q", node: "n", task: 1, prompt: "Is it?", openedAt: 1 }
  const [lease] = leases as [(typeof leases)[0]]
  await store.append(lease, 11, [record(12)], { status: "waiting", opened: [asked], idle: {} })
  await store.post({
    id: "m",
    runId: lease.runId,
    at: 1,
    command: { type: "answer", request: "q", value: 1 },
  })
  expect(await store.mail("holder")).toHaveLength(1)
  expect((await store.requests({ outcome: ["delivering"] })).length).toBe(1)
  expect((await store.runs({ status: ["running"] })).length).toBe(19)
  await store.dismiss("holder", { reason: "closed" })
  expect((await store.free({ workflows: ["workflow"], now: 0, limit: 100, suspects: false })).length).toBe(20)
  await store.queue.setLimits("workflow", [{ name: "one", max: 1 }])
  const flow = { lanes: [{ limit: "one", key: "" }] }
  const created = { workflow: "queued", graph: "graph", queued: true, flow } as const
  for (const runId of ["a", "b"]) await store.append(leaseOf(runId), 0, [record(1)], { created, idle: {} })
  const query = { holder: "holder", workflows: ["queued"], now: () => 0, limit: 9 }
  expect((await store.queue.claimNext(query)).runs.map(({ runId }) => runId)).toEqual(["a"])
  for (const { runId } of leases) expect((await store.read(runId, 0)).length).toBeGreaterThan(10)
  const hinted = new Promise<void>((resolve) => {
    store.live.hints("somebody", resolve)
  })
  const waiting = setInterval(
    () => void store.post({ id: crypto.randomUUID(), runId: "run 1", at: 1, command: { type: "cancel" } }),
    100,
  )
  await hinted
  clearInterval(waiting)
})

test("prepared statements do not survive such a pooler: they need prepare: false", async () => {
  const pooler = await transactionPooler(url)
  const store = freshStore({ url: pooler.url, connections: 2 })
  const lease = await start(store, "r")
  const many = async () => {
    for (let seq = 1; seq <= 10; seq++) await store.append(lease, seq, [record(seq + 1)])
  }
  await expect(many()).rejects.toThrow(/set prepare: false/)
})
