import { expect, test } from "vitest"
import { memoryStore, node, ownRuns, Runtime, workflow } from "../index.ts"
import { double, processOn } from "./processes.test-support.ts"

const internal = workflow("superstep.test")
  .start(node("a", (n: number) => n))
  .build()

test("internal runs fill no page of users' runs, and are found by their workflow", async () => {
  const store = memoryStore()
  const { runtime } = processOn(store)
  runtime.add(internal)
  for (let i = 0; i < 7; i++) {
    await runtime.start(double, i, { runId: `mine ${i}` })
    for (let j = 0; j < 3; j++) await runtime.start(internal, i, { runId: `internal ${i} ${j}` })
  }
  const ids = async (query: Parameters<typeof ownRuns>[1]) =>
    (await ownRuns(store, query)).map(({ runId }) => runId)
  expect(await ids({ limit: 3 })).toEqual(["mine 6", "mine 5", "mine 4"])
  expect(await ids({ limit: 3, before: "mine 4" })).toEqual(["mine 3", "mine 2", "mine 1"])
  expect(await ids({})).toHaveLength(7)
  expect(await ids({ limit: 0 })).toEqual([])
  expect(await runtime.runs({ workflow: "superstep.test" })).toHaveLength(21)
  await runtime.close()
})

test("a workflow is added once under its name; names of internal workflows are not for users", async () => {
  const { runtime } = processOn(memoryStore())
  runtime.add(internal)
  runtime.add(internal)
  const other = workflow("superstep.test")
    .start(node("b", (n: number) => n))
    .build()
  expect(() => runtime.add(other)).toThrow(expect.objectContaining({ code: "WORKFLOW_UNKNOWN" }))
  expect(() => new Runtime({ store: memoryStore(), workflows: [internal] })).toThrow(
    expect.objectContaining({ code: "OPTION_INVALID" }),
  )
  await runtime.close()
})

test("queued internal runs are executed also where other queues are served, within the limits of a workflow that was added", async () => {
  const limited = workflow("superstep.limited", { flow: { concurrency: 1 } })
    .start(node("a", (n: number) => n))
    .build()
  const { runtime, clock } = processOn(memoryStore(), { queues: ["mail"] })
  runtime.add(limited)
  const ids = await Promise.all(
    [1, 2].map((n) => runtime.enqueue(limited, n, { queue: "superstep.internal" })),
  )
  const both = Promise.all(ids.map(async (id) => (await runtime.get(id)).outputs))
  for (let i = 0; i < 10; i++) await clock.advance(500)
  expect(await both).toEqual([[1], [2]])
  await runtime.close()
})
