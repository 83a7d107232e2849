/** `for await (const event of run)` gives every event from the first, however the run was started. */
import { describe, expect, test } from "vitest"
import { type Context, memoryStore, node, type RunEvent, Runtime, workflow } from "../../index.ts"
import { controlled, settled } from "../../testing/index.ts"

async function collect(events: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const all: RunEvent[] = []
  for await (const event of events) all.push(event)
  return all
}
const shapes = (events: readonly RunEvent[]) => events.map(({ seq, type, path }) => [seq, type, path])

const talks = node("talks", (n: number, ctx: Context) => {
  ctx.emit("first")
  return n
})
const inner = workflow("inner").start(talks).build()
const calls = node("calls", async (n: number, ctx: Context) => {
  ctx.log("info", "calls")
  const [value] = await ctx.call(inner, n)
  return value ?? 0
})
const flow = workflow("flow").chain(talks, inner.asNode(), calls).build()

describe.each([
  ["without a store", () => flow.run(1)],
  ["with a store", () => flow.run(1, { store: memoryStore() })],
  ["with an id and a store", () => flow.run(1, { store: memoryStore(), runId: "r" })],
  ["of a runtime", () => new Runtime({ store: memoryStore(), workflows: [flow] }).start(flow, 1)],
])("iterating a run %s", (_, start) => {
  test("gives what its stream would have given, though the loop begins later", async () => {
    const expected = shapes(await collect(flow.stream(1)))
    const run = start()
    expect(shapes(await collect(run))).toEqual(expected)
    // And again, after the end.
    expect(shapes(await collect(run))).toEqual(expected)
  })

  test("gives everything to several loops at once", async () => {
    const expected = shapes(await collect(flow.stream(1)))
    const run = start()
    const loops = [collect(run), collect(run)]
    await settled()
    loops.push(collect(run))
    for (const loop of loops) expect(shapes(await loop)).toEqual(expected)
  })
})

describe("a run without a store that is awaited", () => {
  const hold = controlled<number, number>("hold")
  const slow = workflow("slow").chain(talks, hold).build()

  test("still gives every event to a loop that begins in the same turn", async () => {
    const run = slow.run(1)
    const awaited = run.result
    const loop = collect(run)
    await hold.started()
    hold.finish(2)
    expect((await loop).map(({ seq }) => seq)).toContain(1)
    await awaited
  })

  test("drops its first events, and a loop that begins later says how to get them", async () => {
    const run = slow.run(1)
    const awaited = run.result
    await hold.started()
    hold.finish(2)
    await awaited
    await expect(collect(run)).rejects.toMatchObject({
      code: "NO_STORE",
      message: expect.stringContaining("Iterate it first"),
    })
  })
})

test.each([undefined, memoryStore()])("a loop that begins in the middle misses nothing", async (store) => {
  const hold = controlled<number, number>("hold")
  const run = workflow("w").chain(talks, hold).build().run(1, { store })
  const { ctx } = await hold.started()
  ctx.emit("before")
  const loop = collect(run)
  ctx.emit("after")
  await settled()
  ctx.emit("later")
  hold.finish(2)
  const events = await loop
  const names = events.flatMap((event) => (event.type === "custom" ? [event.name] : []))
  expect(names).toEqual(["first", "before", "after", "later"])
  expect(events.map(({ seq }) => seq)).toEqual(events.map(({ seq }) => seq).sort((a, b) => a - b))
  expect(events[0]?.type).toBe("run.started")
  expect(events.at(-1)?.type).toBe("run.finished")
})

test("iterating a resumed or found run gives every event too", async () => {
  const store = memoryStore()
  const asks = workflow("asks")
    .start(node("asks", async (_: number, ctx: Context) => ctx.ask<number>("?")))
    .build()
  const runtime = new Runtime({ store, workflows: [asks] })
  const { id } = await runtime.start(asks, 1).result.then(({ runId }) => ({ id: runId }))
  const found = runtime.get(id)
  const loops = [collect(found), collect(runtime.resume(asks, id))]
  await settled()
  await found.respond("r1", 5)
  for (const loop of loops) {
    const events = await loop
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1))
    expect(events.at(-1)?.type).toBe("run.finished")
  }
})

test("the first events of a long run without a store are gone, and reading them is refused", async () => {
  const count = node("count", (n: number) => n + 1)
  const long = workflow("long")
    .start(count)
    .edge(count, count, { when: (n: number) => n < 1_100 })
    .build()
  const run = long.run(0, { limits: { supersteps: 5_000 } })
  await run
  await expect(collect(run)).rejects.toMatchObject({ code: "NO_STORE" })
  expect((await collect(long.stream(0, { limits: { supersteps: 5_000 } }))).length).toBeGreaterThan(4_000)
})
