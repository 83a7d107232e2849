/** What retention removes beside runs. */
import { expect, test } from "vitest"
import { leaseOf, record } from "./records.test-support.ts"
import { freshStore, sql } from "./stores.test-support.ts"

test("the turns of tenants that have no run in flight are forgotten, and those of others kept", async () => {
  const store = freshStore()
  await store.beat({ id: "h", machine: "m", pid: 1, born: "" })
  for (const tenant of ["gone", "kept"]) {
    const created = { workflow: "workflow", graph: "graph", flow: { tenant }, queued: true } as const
    await store.append(leaseOf(tenant), 0, [record(1)], { created, idle: {} })
  }
  const query = { holder: "h", workflows: ["workflow"], now: Date.now, limit: 5 }
  const { runs } = await store.queue.claimNext(query)
  expect(runs).toHaveLength(2)
  const tenants = () => sql<{ served: number }>(`SELECT served FROM "${store.schema}".tenants`)
  expect(await tenants()).toHaveLength(2)
  await store.prune({ keep: 10 })
  expect(await tenants()).toHaveLength(2)
  const { token, runId } = runs.find((run) => run.runId === "gone") as (typeof runs)[0]
  await store.append({ runId, token, holder: "h" }, 1, [record(2)], { status: "completed" })
  await store.prune({ keep: 10 })
  expect(await tenants()).toHaveLength(1)
})
