/** Runs that a dispatcher brings to a worker with their input: the worker creates and executes them. */
import { expect, test } from "vitest"
import { node, workflow } from "../builder/index.ts"
import { type Dispatcher, type RunStart, Runtime, type Store } from "../index.ts"
import { deferred } from "../runtime/internal.ts"
import { memoryStore } from "../stores/index.ts"

let calls = 0
const double = workflow("double")
  .chain(
    node("double", (n: number) => {
      calls++
      if (n < 0) throw new Error("negative")
      return 2 * n
    }),
  )
  .build()

/** A handler that waits for the test. */
let gate = deferred()
const held = workflow("held")
  .chain(
    node("held", async (n: number) => {
      calls++
      await gate.promise
      return n
    }),
  )
  .build()

const asking = workflow("asking")
  .chain(node("asking", async (_: number, ctx) => await ctx.ask("Go?")))
  .build()

const workflows = [double, held, asking]

/** A worker, and a runtime that executes nothing, which reach each other by messages of JSON. */
function application(
  change: (base: Required<Pick<Dispatcher, "start">>) => Partial<Dispatcher> = () => ({}),
  isEncrypted = false,
) {
  calls = 0
  gate = deferred()
  const store: Store = { ...memoryStore(), isEncrypted }
  const created: boolean[] = []
  const { append } = store
  store.append = (lease, seq, records, changed) => {
    if (changed?.created !== undefined) created.push(changed.created.queued === true)
    return append(lease, seq, records, changed)
  }
  const sent: RunStart[] = []
  const base = {
    start: async (run: RunStart) => {
      const copy = JSON.parse(JSON.stringify(run)) as RunStart
      sent.push(copy)
      const { wakeAt: _, graph: __, ...reply } = await worker.worker.start(copy)
      return JSON.parse(JSON.stringify(reply))
    },
  }
  const dispatcher: Dispatcher = {
    activate: async (runId, at) => {
      if (at === undefined) await worker.worker.activate(runId)
    },
    execute: async (runId) => {
      await worker.worker.activate(runId)
    },
    ...base,
    ...change(base),
  }
  const worker: Runtime = new Runtime({ store, workflows, dispatcher })
  const runtime = new Runtime({ store, workflows, dispatcher, recover: false })
  const close = () => Promise.all([worker.close(), runtime.close()])
  return { store, runtime, worker, created, sent, close }
}

const starts = async (store: Store, runId: string) =>
  (await store.read(runId, 0)).filter(({ entry }) => entry.type === "run.started").length

test("a run that is only awaited is created by the worker, never queued, and ends with what the store has", async () => {
  const app = application()
  const run = app.runtime.start(double, 4, { labels: { a: "b" } })
  const result = await run
  expect(result).toMatchObject({ status: "completed", outputs: [8] })
  expect(app.created).toEqual([false])
  expect(result).toEqual(await app.runtime.get(run.id))
  expect(await app.store.run(run.id)).toMatchObject({ status: "completed", labels: { a: "b" } })
  await app.close()
})

test("a run that fails there has the same error as one that is read from the store", async () => {
  const app = application()
  const run = app.runtime.start(double, -1)
  const [sent, read] = [await run.result, await app.runtime.get(run.id).result]
  expect(sent.status).toBe("failed")
  expect(sent.error).toMatchObject({ code: "ERROR", node: "double" })
  expect(sent.error?.message).toBe(read.error?.message)
  await expect(run).rejects.toMatchObject({ code: "ERROR", node: "double" })
  await app.close()
})

test("a run that somebody needs in the store is there when that resolves, and executes once", async () => {
  const app = application()
  const run = app.runtime.start(held, 1)
  const result = run.result
  await expect.poll(() => app.sent.length).toBe(1)
  expect(await run.stored()).toBe(run.id)
  expect(await app.store.run(run.id)).toMatchObject({ status: "running" })
  gate.resolve()
  expect((await result).outputs).toEqual([1])
  expect([calls, await starts(app.store, run.id)]).toEqual([1, 1])
  await app.close()
})

test("a run that nobody awaits is stored before a worker is sent for", async () => {
  const app = application()
  const runId = await app.runtime.start(double, 1).stored()
  expect((await app.runtime.get(runId)).outputs).toEqual([2])
  expect([app.created, app.sent.length]).toEqual([[true], 0])
  await app.close()
})

test("the same id joins the run, and another input is refused", async () => {
  const app = application()
  const twice = [1, 2].map(() => app.runtime.start(double, 3, { runId: "r" }))
  expect((await Promise.all(twice)).map(({ outputs }) => outputs)).toEqual([[6], [6]])
  await expect(app.runtime.start(double, 4, { runId: "r" })).rejects.toMatchObject({ code: "RUN_EXISTS" })
  expect([calls, await starts(app.store, "r")]).toEqual([1, 1])
  await app.close()
})

test("the same key joins the run", async () => {
  const app = application()
  const first = app.runtime.start(double, 3, { key: "k" })
  await first
  const second = app.runtime.start(double, 3, { key: "k" })
  expect((await second).outputs).toEqual([6])
  expect([second.id, calls]).toEqual([first.id, 1])
  await app.close()
})

test("a run whose reply is lost executes once", async () => {
  const app = application((base) => ({
    start: async (run) => {
      await base.start(run)
      return undefined
    },
  }))
  expect((await app.runtime.start(double, 5, { runId: "r" })).outputs).toEqual([10])
  expect([calls, await starts(app.store, "r")]).toEqual([1, 1])
  await app.close()
})

test("a run that no worker takes is stored and sent for again; the message that arrives late joins it", async () => {
  const messages: RunStart[] = []
  const lost = application(() => ({
    start: async (run) => {
      messages.push(run)
      throw new Error("Nobody is there.")
    },
  }))
  expect((await lost.runtime.start(double, 5, { runId: "r" })).outputs).toEqual([10])
  expect(lost.created).toEqual([true])
  const [message] = messages as [RunStart]
  expect(await lost.worker.worker.start(message)).toMatchObject({ isCreated: false })
  expect([calls, await starts(lost.store, "r")]).toEqual([1, 1])
  await lost.close()
})

test("a run whose worker died after it had created the run is taken over by the one that gets the message again", async () => {
  const app = application()
  await app.runtime.start(double, 5, { runId: "other" })
  const [message] = app.sent as [RunStart]
  const { created, entry } = { ...message, entry: { ...message.entry, runId: "r" as never } }
  // The holder is unknown to the store, as one that is dead.
  const lease = { runId: "r" as never, holder: "dead", token: 1 }
  await app.store.append(lease, 0, [{ seq: 1, frame: "", entry, events: 1 }], { created })
  calls = 0
  expect(await app.worker.worker.start({ runId: "r" as never, created, entry })).toMatchObject({
    isCreated: false,
  })
  expect(await app.store.run("r")).toMatchObject({ status: "completed", token: 2 })
  expect(calls).toBe(1)
  await app.close()
})

test("an old message does not bring a removed run back", async () => {
  const app = application()
  await app.runtime.start(double, 5, { runId: "r" })
  await app.runtime.remove("r" as never)
  const [{ entry, ...message }] = app.sent as [RunStart]
  const old = { ...message, entry: { ...entry, at: entry.at - 61_000 } }
  expect(await app.worker.worker.start(old)).toEqual({ isCreated: false })
  expect(await app.store.run("r")).toBeUndefined()
  await app.close()
})

test("a worker with another version of the workflow leaves the run to its sender", async () => {
  const app = application()
  await app.runtime.start(double, 5, { runId: "r" })
  const [{ created, entry }] = app.sent as [RunStart]
  const other = { runId: "s" as never, created: { ...created, graph: "another" }, entry }
  expect(await app.worker.worker.start(other)).toEqual({ isCreated: false })
  expect(await app.store.run("s")).toBeUndefined()
  await app.close()
})

test("neither inputs nor answers travel if the store encrypts them: they go through the store", async () => {
  const carried: string[] = []
  const app = application(
    () => ({
      start: async () => void carried.push("start"),
      deliver: async () => void carried.push("deliver"),
    }),
    true,
  )
  const run = app.runtime.start(asking, 1)
  const { requests } = await run
  await app.runtime.respond(run.id, requests[0]?.id as string, "yes")
  expect(await app.runtime.get(run.id)).toMatchObject({ status: "completed", outputs: ["yes"] })
  expect(app.created).toEqual([true])
  expect(carried).toEqual([])
  await app.close()
})
