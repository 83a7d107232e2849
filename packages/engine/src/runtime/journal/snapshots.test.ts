/** Recovery reads the latest snapshot and what follows; snapshots are a fraction of the journal. */
import { expect, test } from "vitest"
import { Machine } from "../../core/index.ts"
import {
  add,
  append,
  type Context,
  channel,
  memoryStore,
  node,
  replace,
  type Store,
  workflow,
} from "../../index.ts"
import { settled } from "../../testing/index.ts"
import { runStarted } from "../run/start.ts"

const total = channel("total", add())
const notes = channel("notes", append<string>())

const inner = workflow("inner")
  .start(node("confirm", async (n: number, ctx: Context) => n + (await ctx.ask<number>("How much more?"))))
  .build()

/** Counts up, then asks in a sub-workflow. */
function counter(count: number, note = "") {
  const up = node("up", async (n: number, ctx: Context) => {
    await settled()
    ctx.state.write(total, 1)
    if (note !== "") ctx.state.write(notes, [`${note}${n}`])
    return n + 1
  })
  return workflow("counter", { state: [total, notes], limits: { supersteps: 1_000_000 } })
    .start(up)
    .loop(up, up, { while: (n) => n < count })
    .edge(up, inner.asNode({ id: "inner" }), { when: (n) => n >= count })
    .build()
}

/** Counts what is read of a store, and saved to it. */
function watched(store: Store) {
  const seen = { read: 0, saved: [] as number[], bytes: 0 }
  const watching: Store = {
    ...store,
    async read(runId, afterSeq) {
      const records = await store.read(runId, afterSeq)
      seen.read += records.length
      return records
    },
    async saveSnapshot(lease, snapshot) {
      seen.saved.push(snapshot.seq)
      const sizes = await store.saveSnapshot(lease, snapshot)
      seen.bytes += sizes.bytes
      return sizes
    },
  }
  return { store: watching, seen }
}

test("a long run is resumed from its snapshot, with what its sub-workflow waits for", async () => {
  const inside = memoryStore()
  const { store, seen } = watched(inside)
  const flow = counter(2_500)
  const before = await flow.run(0, { store, runId: "r" })
  expect(before.status).toBe("waiting")
  expect(seen.saved).toEqual(Array.from({ length: 10 }, (_, i) => 250 * (i + 1)))
  const resumed = flow.resume("r", { store })
  const after = await resumed
  expect(seen.read).toBeLessThan(250)
  expect(after).toMatchObject({
    state: before.state,
    supersteps: before.supersteps,
    requests: before.requests,
  })
  await resumed.respond(after.requests[0]?.id ?? "", 7)
  const ended = await resumed
  expect(ended).toMatchObject({ status: "completed", state: { total: 2_500 } })
  expect(ended.outputs.at(-1)).toBe(2_507)
})

test("a state that is as large as its journal is not saved before the run waits, and once then", async () => {
  const { store, seen } = watched(memoryStore())
  const flow = counter(3_000, "x".repeat(300))
  const before = await flow.run(0, { store, runId: "r" })
  const { seq = 0 } = (await store.run("r")) ?? {}
  expect(seen.saved).toEqual([seq])
  const resumed = flow.resume("r", { store })
  const after = await resumed
  expect(seen.read).toBe(0)
  expect(after).toMatchObject({ state: before.state, requests: before.requests })
  await resumed.respond(after.requests[0]?.id ?? "", 1)
  expect((await resumed).outputs.at(-1)).toBe(3_001)
})

test("a state that is as large as its journal is not saved when the run ends", async () => {
  const { store, seen } = watched(memoryStore())
  const note = node("note", async (n: number, ctx: Context) => {
    ctx.state.write(notes, ["x".repeat(300)])
    return n + 1
  })
  const flow = workflow("notes", { state: [notes], limits: { supersteps: 1_000 } })
    .start(note)
    .loop(note, note, { while: (n) => n < 600 })
    .build()
  expect(await flow.run(0, { store, runId: "r" })).toMatchObject({ status: "completed" })
  expect(seen.saved).toEqual([])
})

test("a run that waits again and again is saved when its journal has grown by its state, not each time", async () => {
  const { store, seen } = watched(memoryStore())
  const round = node("round", async (n: number, ctx: Context) => {
    for (let i = 0; i < 300; i++) await ctx.step(`step ${n} ${i}`, () => "x".repeat(20))
    ctx.state.write(notes, [await ctx.ask<string>("Which note?")])
    return n + 1
  })
  const flow = workflow("rounds", { state: [notes], limits: { supersteps: 1_000 } })
    .start(round)
    .loop(round, round, { while: (n) => n < 8 })
    .build()
  const run = flow.run(0, { store, runId: "r" })
  for (let i = 0; i < 8; i++) {
    const { requests } = await run
    await run.respond(requests[0]?.id ?? "", "y".repeat(20_000))
  }
  expect((await run).status).toBe("completed")
  const journal = JSON.stringify(await store.read("r", 0)).length
  expect(seen.saved.length).toBeGreaterThan(1)
  expect(seen.bytes).toBeLessThan(2 * journal)
})

test("snapshots of a large state come more rarely: together they are at most half of the journal", async () => {
  const { store, seen } = watched(memoryStore())
  const big = channel("big", replace("x".repeat(40_000)))
  const up = node("up", async (n: number, ctx: Context) => {
    await settled()
    ctx.state.write(total, 1)
    return n + 1
  })
  const flow = workflow("big", { state: [total, big], limits: { supersteps: 1_000_000 } })
    .start(up)
    .loop(up, up, { while: (n) => n < 6_000 })
    .build()
  await flow.run(0, { store, runId: "r" })
  const journal = JSON.stringify(await store.read("r", 0)).length
  expect(seen.saved.length).toBeGreaterThan(3)
  expect(seen.saved[0]).toBeGreaterThan(250)
  expect(seen.bytes).toBeLessThan(journal / 2)
})

test("a snapshot that cannot be saved costs time later, not the run", async () => {
  const inside = memoryStore()
  const store: Store = { ...inside, saveSnapshot: () => Promise.reject(new Error("disk full")) }
  const flow = counter(1_500)
  await flow.run(0, { store, runId: "r" })
  const resumed = flow.resume("r", { store })
  const { requests } = await resumed
  await resumed.respond(requests[0]?.id ?? "", 1)
  expect((await resumed).outputs.at(-1)).toBe(1_501)
})

test("a snapshot of a later version is refused", async () => {
  const inside = memoryStore()
  const flow = counter(1_500)
  await flow.run(0, { store: inside, runId: "r" })
  const store: Store = { ...inside, snapshot: () => ({ seq: 1_000, data: { version: 2 } }) }
  await expect(flow.resume("r", { store, takeOver: true }).result).rejects.toMatchObject({
    code: "SNAPSHOT_VERSION",
  })
})

test("a machine's snapshot of version 1, from before calls reserved, is read", () => {
  const { program } = counter(3)
  const entry = runStarted(program, "r", 0, 0, { budget: { modelCalls: 2 } })
  const { machine } = Machine.start(program.graph, entry)
  machine.apply({ type: "usage.recorded", at: 1, task: 1, usage: { modelCalls: 1 } })
  const { reservations: _, lost: __, lostCallsByAgent: ___, ...old } = machine.snapshot()
  const restored = Machine.restore(program.graph, { ...old, version: 1 as never })
  expect(restored.snapshot()).toEqual(machine.snapshot())
  const start = { type: "step.started", at: 2, task: 1, key: "step:model", usage: { modelCalls: 1 } } as const
  restored.apply(start)
  expect(restored.budgetLeft).toEqual({ modelCalls: 0 })
  expect(Machine.restore(program.graph, { ...machine.snapshot(), version: 2 as never }).snapshot()).toEqual(
    machine.snapshot(),
  )
  const later = { ...old, version: 99 as never }
  expect(() => Machine.restore(program.graph, later)).toThrow(
    /version 99; this library reads versions 1 to 4/,
  )
})
