import { hostname } from "node:os"
import { memoryStore, node, Runtime, type StoredHolder, type StoredRun, workflow } from "@superstep/engine"
import { expect, test } from "vitest"
import { livingHolder, machineOf, shownStatus } from "./living-holder.ts"

/** This process, as a runtime makes it known. */
async function thisHolder(): Promise<StoredHolder> {
  const store = memoryStore()
  const ask = workflow("ask")
    .start(node("ask", (_: number, ctx) => ctx.ask<string>("?")))
    .build()
  const runtime = new Runtime({ store, workflows: [ask] })
  await runtime.start(ask, 1)
  const [holder] = await store.holders()
  await runtime.close()
  return { ...(holder as StoredHolder), id: "h" }
}

const HOLDER = await thisHolder()
/** No process has such an id. */
const GONE = 99_999_999

async function found(holder: Partial<StoredHolder>): Promise<boolean> {
  const store = { holders: async () => [{ ...HOLDER, ...holder }] }
  return (await livingHolder(store, { holder: "h" } as StoredRun)) !== undefined
}

test.each<[string, Partial<StoredHolder>, boolean]>([
  ["is alive", {}, true],
  ["was killed", { pid: GONE }, false],
  ["is on another machine, where its process cannot be seen", { machine: "elsewhere x", pid: GONE }, true],
  ["is another run's", { id: "other" }, false],
])("a process that %s", async (_, holder, isFound) => expect(await found(holder)).toBe(isFound))

test("a process that has the id of one that is gone is not that one", async () => {
  expect(await found({ born: `${HOLDER.born}0` })).toBe(HOLDER.born === "")
})

test("a run that nobody has has no process", async () => {
  expect(await livingHolder({ holders: async () => [HOLDER] }, {} as StoredRun)).toBeUndefined()
})

test("a machine is shown by its name", () => expect(machineOf(HOLDER)).toBe(hostname()))

test("a running run that nobody executes is shown as stopped", async () => {
  const store = { holders: async () => [HOLDER] }
  const shown = (run: Partial<StoredRun>) => shownStatus(store, run as StoredRun)
  expect(await shown({ status: "running", holder: "h" })).toBe("running")
  expect(await shown({ status: "running" })).toBe("stopped")
  expect(await shown({ status: "running", holder: "gone" })).toBe("stopped")
  expect(await shown({ status: "completed" })).toBe("completed")
})
