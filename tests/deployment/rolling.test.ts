/** Old and new workers share a store while a deployment rolls. */
import { memoryStore, node, Runtime, workflow } from "superstep"
import { manualClock } from "superstep/testing"
import { expect, test } from "vitest"

/** Whether handlers wait until their process is gone. */
let isHeld = false

const version = (id: string) =>
  workflow("invoice")
    .chain(
      node("read", (n: number) => n),

      node(id, async (n: number) => (isHeld ? await new Promise<never>(() => undefined) : `${n} is paid`)),
    )
    .build()
const [before, after] = [version("approve"), version("confirm")]

test("a worker leaves a run of a version that it refuses to the others, and reports it", async () => {
  const [store, clock] = [memoryStore(), manualClock()]
  const starter = new Runtime({ store, clock, workflows: [after] })
  isHeld = true
  starter.start(after, 120, { runId: "r" }).result.catch(() => undefined)
  while ((await store.run("r"))?.seq !== 2) await new Promise((resolve) => setImmediate(resolve))
  await starter.close()
  isHeld = false
  let old: Runtime | undefined
  const problem = await new Promise((resolve) => {
    old = new Runtime({ store, clock, workflows: [before], onProblem: resolve })
    void old.recover()
  })
  expect(problem).toMatchObject({ runId: "r", error: { code: "GRAPH_CHANGED" } })
  expect(await old?.check(before)).toMatchObject([{ runId: "r" }])
  const next = new Runtime({ store, clock, workflows: [after] })
  // Nobody tries again for a minute.
  clock.set(clock.now() + 60_000)
  await next.recover()
  expect((await next.get("r")).outputs).toEqual(["120 is paid"])
  await Promise.all([old?.close(), next.close()])
})
