/** Starting an existing run joins it; taking one from another process is explicit, or waited for. */
import { expect, test } from "vitest"
import { type Context, memoryStore, node, Runtime, type Store, workflow } from "../../index.ts"
import { controlled, manualClock, settled } from "../../testing/index.ts"

const asks = workflow("asks")
  .start(node("asks", async (n: number, ctx: Context) => n + (await ctx.ask<number>("?"))))
  .build()

/** The same rows for another process: a store of its own, whose keeper is another holder. */
const seenFromElsewhere = (store: Store): Store => ({ ...store })

test("a run with the id or key of one that is at work joins it: one handler runs", async () => {
  const store = memoryStore()
  const work = controlled<number, number>("work")
  const flow = workflow("flow").start(work).build()
  const first = flow.run(1, { store, key: "k" })
  const second = flow.run(1, { store, key: "k" })
  const third = flow.run(1, { store, runId: first.id })
  await settled()
  expect(work.atWork).toHaveLength(1)
  work.finish(5)
  for (const run of [first, second, third]) expect(await run).toMatchObject({ runId: first.id, outputs: [5] })
  expect(second.id).toBe(first.id)
  expect(await store.runs({})).toHaveLength(1)
})

test("a stream that joins shows every event, and an answer reaches the run", async () => {
  const store = memoryStore()
  const first = asks.run(1, { store, runId: "r" })
  await first
  const types: string[] = []
  const joined = asks.stream(1, { store, runId: "r" })
  const watching = (async () => {
    for await (const { type } of joined) types.push(type)
  })()
  await settled()
  await joined.respond("r1", 2, { by: "Ada" })
  expect((await first).outputs).toEqual([3])
  expect((await joined).outputs).toEqual([3])
  await watching
  expect(types[0]).toBe("run.started")
  expect(types.at(-1)).toBe("run.finished")
})

test("another workflow, or another input, under the same id or key is an error", async () => {
  const store = memoryStore()
  await asks.run(1, { store, runId: "r", key: "k" })
  const other = workflow("other")
    .start(node("n", (n: number) => n))
    .build()
  for (const run of [other.run(1, { store, runId: "r" }), asks.run(2, { store, key: "k" })]) {
    await expect(run.result).rejects.toMatchObject({ code: "RUN_EXISTS", run: "r" })
  }
  expect(await store.runs({})).toHaveLength(1)
})

test("without a store a key changes nothing", async () => {
  const flow = workflow("flow")
    .start(node("n", (n: number) => n))
    .build()
  expect((await flow.run(1, { key: "k" })).outputs).toEqual([1])
  expect((await flow.run(2, { key: "k" })).outputs).toEqual([2])
})

test("a run that another living process holds is not resumed, unless one says so; that fences the other off", async () => {
  const store = memoryStore()
  const elsewhere = seenFromElsewhere(store)
  const run = asks.run(1, { store, runId: "r" })
  await run
  await expect(asks.resume("r", { store: elsewhere }).result).rejects.toMatchObject({
    code: "RUN_HELD",
    message: expect.stringContaining(`process ${process.pid}`),
  })
  const taken = asks.resume("r", { store: elsewhere, takeOver: true })
  await taken
  // The first one can do nothing to the run; what it is asked for reaches whoever has it.
  const answered = run.respond("r1", 5)
  await taken.respond("r1", 5).catch(() => undefined)
  await answered.catch(() => undefined)
  expect((await taken).outputs).toEqual([6])
})

test("a run on another machine is not resumed while its holder is heard of", async () => {
  const store = memoryStore()
  await asks.run(1, { store, runId: "r" })
  const [holder] = await store.holders()
  await store.dismiss(holder?.id ?? "", { reason: "closed" })
  const far = { id: "far", machine: "another", pid: 7, born: "" }
  await store.beat(far)
  const token = (await store.run("r"))?.token ?? 0
  await store.claim("r", token, "far")
  const clock = manualClock(Date.now())
  const refused = expect(
    asks.resume("r", { store: seenFromElsewhere(store), clock }).result,
  ).rejects.toMatchObject({ code: "RUN_HELD" })
  await settled()
  await store.beat(far)
  await clock.advance(500)
  await refused
})

test("a run whose process is gone is resumed at once", async () => {
  const store = memoryStore()
  await asks.run(1, { store, runId: "r" })
  const [holder] = await store.holders()
  await store.dismiss(holder?.id ?? "", { reason: "closed" })
  // No process has this id: the largest there can be is smaller.
  await store.beat({ ...(holder as NonNullable<typeof holder>), id: "gone", pid: 2 ** 30 })
  await store.claim("r", (await store.run("r"))?.token ?? 0, "gone")
  const resumed = asks.resume("r", { store: seenFromElsewhere(store), clock: manualClock(Date.now()) })
  expect((await resumed).status).toBe("waiting")
})

test("a run whose holder is heard of no more is resumed when its lease is over", async () => {
  const store = memoryStore()
  await asks.run(1, { store, runId: "r" })
  const [holder] = await store.holders()
  await store.dismiss(holder?.id ?? "", { reason: "closed" })
  const clock = manualClock(Date.now())
  await store.beat({ id: "far", machine: "another", pid: 7, born: "" })
  await store.claim("r", (await store.run("r"))?.token ?? 0, "far")
  const runtime = new Runtime({ store, workflows: [asks], clock, machine: "here" })
  const resumed = runtime.resume(asks, "r")
  let status: string | undefined
  void resumed.result.then((result) => {
    status = result.status
  })
  await clock.advance(9_000)
  expect(status).toBeUndefined()
  await clock.advance(2_000)
  expect(status).toBe("waiting")
})
