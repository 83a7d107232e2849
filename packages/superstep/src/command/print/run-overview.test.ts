import { hostname } from "node:os"
import { memoryStore, node, Runtime, type StoredHolder, type StoredRun, workflow } from "@superstep/engine"
import { expect, test } from "vitest"
import { NO_NAMES } from "./node-names.ts"
import { liveHolder, machineOf, nodesOf, shownStatus, stepsOf, viewOf } from "./run-report.ts"

const inner = workflow("inner")
  .chain(
    node("a", (n: number, ctx) => {
      ctx.use({ inputTokens: 10 })
      return n
    }),
    node("b", (n: number) => n),
  )
  .build()
const list = node("list", (n: number) => [n, n + 1])
const each = node("each", async (n: number, ctx) => (await ctx.call(inner, n)).length)
const outer = workflow("outer").start(list).map(list, each).build()

test("nested workflows count, and each of their nodes is listed once", async () => {
  const store = memoryStore()
  await outer.run(1, { store, runId: "r" })
  const view = await viewOf(store, "r")
  // list, each twice, and a and b for each of them.
  expect(stepsOf(view, NO_NAMES)).toBe(7)
  expect(nodesOf(view, Date.now())).toMatchObject([
    { name: "list", times: 1, status: "finished" },
    { name: "each", times: 2, usage: { inputTokens: 20 } },
    { name: "each > a", times: 2, usage: { inputTokens: 20 } },
    { name: "each > b", times: 2, usage: {} },
  ])
})

test("an active task counts until now", async () => {
  const store = memoryStore()
  const ask = workflow("ask")
    .start(node("ask", (n: number, ctx) => ctx.ask<number>(`${n}?`)))
    .build()
  await ask.run(1, { store, runId: "r" })
  const view = await viewOf(store, "r")
  const [asked] = nodesOf(view, (view.startedAt ?? 0) + 5_000)
  expect(asked).toMatchObject({ name: "ask", status: "parked" })
  expect(asked?.took).toBeGreaterThan(4_000)
})

/** This process, as a runtime registers it. */
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
  return (await liveHolder(store, { holder: "h" } as StoredRun)) !== undefined
}

test.each<[string, Partial<StoredHolder>, boolean]>([
  ["is alive", {}, true],
  ["was killed", { pid: GONE }, false],
  ["is on another machine, where its process cannot be seen", { machine: "elsewhere x", pid: GONE }, true],
  ["is another run's", { id: "other" }, false],
])("a process that %s", async (_, holder, isFound) => expect(await found(holder)).toBe(isFound))

test("a process with the id of a dead one is another process", async () => {
  expect(await found({ born: `${HOLDER.born}0` })).toBe(HOLDER.born === "")
})

test("a run without a holder has no process", async () => {
  expect(await liveHolder({ holders: async () => [HOLDER] }, {} as StoredRun)).toBeUndefined()
})

test("a machine is shown by its name", () => expect(machineOf(HOLDER)).toBe(hostname()))

test("a run that is stored as running without a live process is shown as stopped", async () => {
  const store = { holders: async () => [HOLDER] }
  const shown = (run: Partial<StoredRun>) => shownStatus(store, run as StoredRun)
  expect(await shown({ status: "running", holder: "h" })).toBe("running")
  expect(await shown({ status: "running" })).toBe("stopped")
  expect(await shown({ status: "running", holder: "gone" })).toBe("stopped")
  expect(await shown({ status: "completed" })).toBe("completed")
})
