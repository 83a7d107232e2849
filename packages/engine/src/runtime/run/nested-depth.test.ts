/** Sub-workflows inside sub-workflows: what a level costs does not depend on how deep it is. Counted, not timed. */
import { afterEach, describe, expect, test, vi } from "vitest"
import { node, type Workflow, workflow } from "../../builder/index.ts"
import { Machine } from "../../core/index.ts"
import { memoryStore } from "../../stores/index.ts"
import { EventReplay } from "../journal/replay-events.ts"
import type { Store } from "../ports/store.ts"
import type { JournalRecord } from "../ports/stored.ts"

type Flow = Workflow<number, number>

function leaf(): Flow {
  return workflow("leaf")
    .start(node("leaf", (n: number) => n + 1))
    .build()
}

function byCall(depth: number): Flow {
  let flow = leaf()
  for (let level = 1; level <= depth; level++) {
    const below = flow
    const caller = node("caller", async (n: number, ctx) => (await ctx.call(below, n))[0] as number)
    flow = workflow(`level ${level}`).start(caller).build()
  }
  return flow
}

function asNodes(depth: number): Flow {
  let flow = leaf()
  for (let level = 1; level <= depth; level++) flow = workflow(`level ${level}`).start(flow.asNode()).build()
  return flow
}

/** How often a run looks at its machines, and turns values into JSON. */
async function workOf(flow: Flow, store: Store | undefined): Promise<number> {
  const looks = (["task", "requests", "nextTimer", "isBusy", "isOver"] as const).map((name) =>
    vi.spyOn(Machine.prototype, name),
  )
  const status = vi.spyOn(Machine.prototype, "status", "get")
  const texts = vi.spyOn(JSON, "stringify")
  const { outputs } = await flow.run(1, { store })
  expect(outputs).toEqual([2])
  const counts = [...looks, status, texts].map(({ mock }) => mock.calls.length)
  vi.restoreAllMocks()
  return counts.reduce((sum, count) => sum + count)
}

afterEach(() => {
  vi.restoreAllMocks()
})

// Below 250 records no snapshot is saved: those are counted by tests of their own.
describe.each([
  ["ctx.call", byCall],
  ["asNode", asNodes],
])("workflows nested with %s", (_, nested) => {
  test.each([
    ["without a store", () => undefined],
    ["with a store", memoryStore],
  ])("cost the same per level at twice the depth, %s", async (_, store) => {
    const [shallow, deep] = [await workOf(nested(20), store()), await workOf(nested(40), store())]
    expect(deep / shallow).toBeLessThan(2.1)
  })

  test("come back from a store 100 deep", async () => {
    const store = memoryStore()
    const flow = nested(100)
    expect((await flow.run(1, { store, runId: "r" })).outputs).toEqual([2])
    expect((await flow.resume("r", { store })).outputs).toEqual([2])
  })
})

function gate() {
  let open = () => {}
  const passed = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, passed }
}

async function replayed(records: readonly JournalRecord[], store: Store) {
  const replay = new EventReplay(store)
  let most = 0
  for (const record of records) {
    await replay.add([record], 0)
    most = Math.max(most, replay.frameCount)
  }
  return { most, left: replay.frameCount }
}

describe("the events of a journal, replayed", () => {
  test("do not hold sub-workflows that are over", async () => {
    const store = memoryStore()
    const inner = leaf()
    const caller = node("caller", async (count: number, ctx) => {
      let sum = 0
      for (let i = 0; i < count; i++) sum += (await ctx.call(inner, i))[0] as number
      return sum
    })
    await workflow("w").start(caller).build().run(20, { store, runId: "r" })
    expect(await replayed(await store.read("r", 0), store)).toEqual({ most: 2, left: 1 })
  })

  test("do not hold sub-workflows whose caller failed, nor those that they called", async () => {
    const store = memoryStore()
    const began = [gate(), gate()]
    const ask = node("ask", (attempt: number, ctx) => {
      began[attempt - 1]?.open()
      return ctx.ask<number>("Continue?")
    })
    const middle = workflow("middle").start(workflow("asking").start(ask).build().asNode()).build()
    const caller = node({
      id: "caller",
      retry: { attempts: 3, delay: 0 },
      run: async (n: number, ctx) => {
        if (ctx.attempt === 3) return n
        ctx.call(middle, ctx.attempt).catch(() => undefined)
        await began[ctx.attempt - 1]?.passed
        throw new Error("not now")
      },
    })
    const flow = workflow("w").start(caller).build()
    // A stream ends with the run, whatever waits in between.
    for await (const _ of flow.stream(1, { store, runId: "r" }));
    expect(await replayed(await store.read("r", 0), store)).toEqual({ most: 3, left: 1 })
  })

  test("do not hold sub-workflows that a limit cut off, though the run continues", async () => {
    const store = memoryStore()
    const ask = node("ask", (_: number, ctx) => ctx.ask<number>("Continue?"))
    const asking = workflow("asking").start(ask).build().asNode()
    const first = node("first", (n: number) => n)
    const loop = node("loop", (n: number) => n + 1)
    const late = node("late", async ({ code }: { code: string }) => code)
    const flow = workflow("w", { limits: { supersteps: 5 } })
      .start(first)
      .edge(first, asking)
      .edge(first, loop)
      .loop(loop, loop, { while: () => true })
      .onLimit(late)
      .build()
    expect((await flow.run(1, { store, runId: "r" })).outputs).toEqual(["CONVERGENCE"])
    expect(await replayed(await store.read("r", 0), store)).toMatchObject({ left: 1 })
  })
})

describe("joining a run", () => {
  /** How many records each read gave. */
  function counted(inner: Store): { store: Store; reads: number[] } {
    const reads: number[] = []
    const read: Store["read"] = async (...args) => {
      const records = await inner.read(...args)
      reads.push(records.length)
      return records
    }
    return { store: { ...inner, read }, reads }
  }

  test("reads one record to know that it is the same run, and one to know its last event", async () => {
    const count = node("count", (n: number) => n + 1)
    const flow = workflow("w", { limits: { supersteps: 500 } })
      .start(count)
      .loop(count, count, { while: (n) => n < 300 })
      .build()
    const inner = memoryStore()
    await flow.run(0, { store: inner, runId: "r" })
    const { store, reads } = counted(inner)
    const joined = flow.run(0, { store, runId: "r" })
    await joined.events().next()
    // The stream itself goes through the journal: it has to, to give events.
    expect(reads.slice(0, 2)).toEqual([1, 1])
    expect(reads.slice(2).every((length) => length > 300)).toBe(true)
  })
})
