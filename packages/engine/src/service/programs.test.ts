import { expect, onTestFinished, test } from "vitest"
import { node, workflow } from "../builder/index.ts"
import type { Callable, Store, StoredRun } from "../runtime/index.ts"
import { memoryStore } from "../stores/index.ts"
import type { WorkflowSource } from "./programs.ts"
import { Runtime } from "./runtime.ts"

/** Answers with its version, once a person has answered. */
function asking(version: string, id = "ask"): Callable {
  const { name, program } = workflow("quote")
    .start(node(id, async (_: string, ctx) => `${version} ${await ctx.ask<string>("Go?")}`))
    .build()
  return { name, program: { ...program, version } } as Callable
}

class Shelf implements WorkflowSource {
  readonly #versions = new Map<string, Callable>()
  current: Callable | undefined
  asked = 0

  publish(version: string, workflow: Callable): Callable {
    this.#versions.set(version, workflow)
    this.current = workflow
    return workflow
  }

  changed() {
    this.asked++
    return this.current === undefined ? [] : [this.current]
  }

  version(_: string, version: string) {
    return this.#versions.get(version)
  }
}

function runtimeOn(store: Store, shelf: WorkflowSource, workflows: readonly Callable[] = []): Runtime {
  const runtime = new Runtime({ store, workflows })
  runtime.useSource(shelf)
  onTestFinished(() => runtime.close())
  return runtime
}

const answered = async (runtime: Runtime, { runId }: Pick<StoredRun, "runId">) => {
  await runtime.respond(runId, "r1", "now")
  return (await runtime.get(runId)).outputs
}

test("a run continues with the version that it was started with, in any process (W2)", async () => {
  const store = memoryStore()
  const shelf = new Shelf()
  const first = runtimeOn(store, shelf)
  const v1 = shelf.publish("1", asking("1"))
  await first.refresh()
  const { runId } = await first.start(v1, "x" as never)
  expect(await store.run(runId)).toMatchObject({ labels: { "superstep.version": "1" } })
  await first.close()
  // The graph of version 2 is another one: with it, the run could not continue.
  shelf.publish("2", asking("2", "other"))
  const second = runtimeOn(store, shelf)
  await second.recover()
  expect(await answered(second, { runId })).toEqual(["1 now"])
})

test("a new run has the version that is current when it starts, and may choose another", async () => {
  const shelf = new Shelf()
  const runtime = runtimeOn(memoryStore(), shelf)
  shelf.publish("1", asking("1"))
  shelf.publish("2", asking("2"))
  await runtime.refresh()
  const current = (await runtime.workflow("quote")) as Callable
  const older = (await runtime.workflow("quote", "1")) as Callable
  expect(await answered(runtime, await runtime.start(current, "x" as never))).toEqual(["2 now"])
  expect(await answered(runtime, await runtime.start(older, "x" as never))).toEqual(["1 now"])
})

test("a queued run has the version of its workflow too", async () => {
  const shelf = new Shelf()
  const store = memoryStore()
  const runtime = runtimeOn(store, shelf)
  const v1 = shelf.publish("1", asking("1"))
  await runtime.refresh()
  const runId = await runtime.enqueue(v1, "x" as never)
  expect((await store.run(runId))?.labels).toEqual({ "superstep.version": "1" })
})

test("a source does not replace a workflow of the options (W1)", async () => {
  const shelf = new Shelf()
  const own = asking("own")
  const runtime = runtimeOn(memoryStore(), shelf, [own])
  shelf.publish("1", asking("1"))
  await runtime.refresh()
  expect(await runtime.workflow("quote")).toBe(own)
})

test("a workflow that the source has never returned is refused", () => {
  const runtime = runtimeOn(memoryStore(), new Shelf())
  expect(() => runtime.start(asking("1"), "x" as never)).toThrow(
    expect.objectContaining({ code: "WORKFLOW_UNKNOWN" }),
  )
})

test("a run whose version is nowhere waits, and the problem is reported", async () => {
  const store = memoryStore()
  const shelf = new Shelf()
  const first = runtimeOn(store, shelf)
  const v1 = shelf.publish("1", asking("1"))
  await first.refresh()
  const runId = await first.enqueue(v1, "x" as never)
  await first.close()
  const emptied = new Shelf()
  emptied.current = v1
  const second = runtimeOn(store, emptied)
  const { problems } = await second.recover()
  expect(problems).toMatchObject([{ runId, error: { code: "VERSION_UNKNOWN" } }])
})
