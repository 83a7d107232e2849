/** Two versions of a workflow at work side by side: each continues its own runs (V1, V2). */
import { expect, onTestFinished, test } from "vitest"
import { node, workflow } from "../builder/index.ts"
import type { Store } from "../runtime/index.ts"
import { memoryStore } from "../stores/index.ts"
import type { RuntimeOptions } from "./index.ts"
import { pass, processOn } from "./processes.test-support.ts"

/** Asks, naps, and says which version continued it. The second version has one node more. */
function version(number: 1 | 2) {
  const ask = node("ask", async (_: string, ctx) => await ctx.ask<string>("Who?"))
  const nap = node("nap", async (name: string, ctx) => {
    await ctx.sleep(5_000)
    return `${name}, version ${number}`
  })
  const shout = node("shout", (text: string) => text.toUpperCase())
  const built = workflow("greeting").chain(ask, nap)
  return number === 1 ? built.build() : built.edge(nap, shout).build()
}
const [first, second] = [version(1), version(2)]

/** A process with one version. It unloads runs at once, so that any process may claim them. */
function processWith(store: Store, flow: typeof first, options: Partial<RuntimeOptions> = {}) {
  const problems: string[] = []
  const made = processOn(store, {
    workflows: [flow],
    evictAfter: 0,
    onProblem: ({ error }) => problems.push((error as { code?: string }).code ?? error.message),
    ...options,
  })
  onTestFinished(() => made.runtime.close())
  return { ...made, problems }
}

async function waiting(store: Store, runId: string): Promise<void> {
  expect(await store.run(runId)).toMatchObject({ status: "waiting" })
}

test("runs in flight stay on their version while one of its processes is alive", async () => {
  const store = memoryStore()
  const old = processWith(store, first)
  const next = processWith(store, second)
  await old.runtime.recover()
  await next.runtime.recover()
  old.runtime.start(first, "x", { runId: "one" }).result.catch(() => undefined)
  next.runtime.start(second, "x", { runId: "two" }).result.catch(() => undefined)
  await pass(2_000, old.clock, next.clock)
  await waiting(store, "one")
  await waiting(store, "two")
  // Each is answered by the process of the other version, which stores what the run's own processes find.
  const answered = [next.runtime.respond("one", "r1", "Ada"), old.runtime.respond("two", "r1", "Bob")]
  await pass(2_000, next.clock, old.clock)
  expect(await Promise.all(answered)).toEqual(["stored", "stored"])
  // Timers are found by whichever process looks first, which is always the same one here.
  await pass(10_000, next.clock, old.clock)
  expect((await next.runtime.get("one")).outputs).toEqual(["Ada, version 1"])
  expect((await old.runtime.get("two")).outputs).toEqual(["BOB, VERSION 2"])
  expect([...old.problems, ...next.problems]).toEqual([])
})

test("when the last process of a version is gone, its runs are refused as before, and continued if that is allowed", async () => {
  const store = memoryStore()
  const old = processWith(store, first)
  const next = processWith(store, second)
  await old.runtime.recover()
  await next.runtime.recover()
  old.runtime.start(first, "x", { runId: "one" }).result.catch(() => undefined)
  await pass(2_000, old.clock, next.clock)
  await waiting(store, "one")
  // It dies: its clock stands still, and its lease lapses.
  await pass(12_000, next.clock)
  await expect(next.runtime.respond("one", "r1", "Ada")).rejects.toMatchObject({ code: "GRAPH_CHANGED" })
  await waiting(store, "one")
  expect((await store.records.list("graphs")).length).toBe(1)

  const later = processWith(store, second, { onGraphChange: "continue" })
  await later.runtime.recover()
  expect(await later.runtime.respond("one", "r1", "Ada")).toBe("taken")
  await pass(10_000, later.clock)
  expect((await later.runtime.get("one")).outputs).toEqual(["ADA, VERSION 2"])
})

test("a process that may continue runs of other versions takes them, and one that closes publishes nothing more", async () => {
  const store = memoryStore()
  const old = processWith(store, first)
  const next = processWith(store, second, { onGraphChange: "continue" })
  await old.runtime.recover()
  await next.runtime.recover()
  old.runtime.start(first, "x", { runId: "one" }).result.catch(() => undefined)
  await pass(2_000, old.clock, next.clock)
  await waiting(store, "one")
  expect(await next.runtime.respond("one", "r1", "Ada")).toBe("taken")
  await next.runtime.close()
  expect((await store.records.list("graphs")).length).toBe(1)
  await old.runtime.close()
  expect(await store.records.list("graphs")).toEqual([])
})
