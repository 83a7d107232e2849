import { expect, test } from "vitest"
import { fork, memoryStore, node, type PrunePolicy, prunable, workflow } from "../index.ts"

const flow = (name: string) =>
  workflow(name)
    .chain(
      node("a", (n: number) => n),
      node("b", (n: number) => n),
    )
    .build()
const ask = workflow("ask")
  .start(node("ask", (n: number, ctx) => ctx.ask<number>(`${n}?`)))
  .build()

async function filled() {
  const store = memoryStore()
  for (const runId of ["a1", "a2", "a3", "a4"]) await flow("a").run(1, { store, runId })
  for (const runId of ["b1", "b2"]) await flow("b").run(1, { store, runId })
  await ask.run(1, { store, runId: "open" })
  await store.pin("a1", true)
  await fork(store, "a2", { at: { superstep: 1 }, runId: "f" })
  return store
}

test.each<[string, PrunePolicy, number]>([
  // a1 is pinned, a2 is needed by a fork, "open" and "f" are active: a3, a4, b1 and b2 remain.
  ["all", { keep: 0 }, 4],
  ["all but the newest of each workflow", { keep: 1 }, 2],
  ["those of a workflow", { keep: 0, workflow: "b" }, 2],
  ["what ended before now", { endedBefore: Date.now() + 60_000 }, 4],
  ["what ended long ago", { endedBefore: 1 }, 0],
  ["the old, or past the newest", { keep: 1, endedBefore: 1 }, 2],
])("lists exactly the runs that prune removes: %s", async (_, policy, count) => {
  const store = await filled()
  const amount = await prunable(store, policy)
  expect(amount.count).toBe(count)
  expect((await store.prune(policy)).count).toBe(count)
})
