/** Events that are committed in another order than the one in which they were written. */
import { expect, onTestFinished, test } from "vitest"
import { start } from "./records.test-support.ts"
import { freshStore, pool } from "./stores.test-support.ts"

test("an event that is committed after a later one was read is read too, and no reader waits for it", async () => {
  const store = freshStore()
  await start(store, "first")
  await store.subscriptions.add("c", "now")
  const [first] = await store.subscriptions.events(0, 10)
  const client = await pool.connect()
  onTestFinished(() => client.release())
  await client.query("BEGIN")
  await client.query(
    `INSERT INTO "${store.schema}".new_events (type, run_id, workflow, at, body) VALUES ('run.ended', 'slow', 'w', 0, '{}')`,
  )
  await start(store, "fast")
  const early = await store.subscriptions.events(first?.position ?? 0, 10)
  expect(early).toMatchObject([{ runId: "fast" }])
  await client.query("COMMIT")
  const late = await store.subscriptions.events(early[0]?.position ?? 0, 10)
  expect(late).toMatchObject([{ runId: "slow" }])
  expect(await store.subscriptions.consumers()).toMatchObject([{ lag: 2 }])
})

test("readers that put events in order at once give each position once, and agree on the order", async () => {
  const stores = [freshStore()]
  for (let i = 0; i < 3; i++) stores.push(freshStore({ schema: (stores[0] as { schema: string }).schema }))
  const [store] = stores as [(typeof stores)[0]]
  const writing = Promise.all(Array.from({ length: 40 }, (_, i) => start(store, `r ${i}`)))
  const orders = await Promise.all(
    stores.map(async (one) => {
      const seen: string[] = []
      for (let after = 0; seen.length < 40; ) {
        for (const event of await one.subscriptions.events(after, 7)) {
          seen.push(event.runId)
          after = event.position
        }
      }
      return seen
    }),
  )
  await writing
  for (const order of orders) expect(order).toEqual(orders[0])
  expect(new Set(orders[0]).size).toBe(40)
})
