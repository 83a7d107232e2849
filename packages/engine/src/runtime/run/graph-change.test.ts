/** A run meets another version of its workflow. */
import { describe, expect, test } from "vitest"
import {
  add,
  type Context,
  channel,
  type Json,
  type Migrate,
  memoryStore,
  node,
  type RetryPolicy,
  workflow,
} from "../../index.ts"
import { manualClock } from "../../testing/index.ts"

const total = channel("total", add())

/** A chain of nodes that add 1; those called `ask…` ask for the number to add. */
function version(...ids: readonly string[]) {
  const nodes = ids.map((id) =>
    node(id, async (n: number, ctx: Context) => {
      const more = id.startsWith("ask") ? await ctx.ask<number>(`${id}: how much?`) : 1
      ctx.state.write(total, more)
      return n + more
    }),
  )
  return workflow("w", { state: [total] })
    .chain(...(nodes as [(typeof nodes)[0]]))
    .build()
}

async function waiting(...ids: readonly string[]) {
  const store = memoryStore()
  await version(...ids).run(0, { store, runId: "r" })
  return store
}

describe("a run of another version", () => {
  test("is refused, with what was and what is, and continues with the old one", async () => {
    const store = await waiting("a", "ask", "b")
    const resumed = version("a", "ask", "c").resume("r", { takeOver: true, store })
    await expect(resumed.result).rejects.toMatchObject({ code: "GRAPH_CHANGED", run: "r" })
    const { message } = await resumed.result.catch((error) => error)
    expect(message.split("\n")).toEqual([
      'Run "r" was started with another version of workflow "w":',
      "  - node b",
      '  - edge {"from":"ask","kind":"single","to":"b"}',
      "  + node c",
      '  + edge {"from":"ask","kind":"single","to":"c"}',
      "Resume it with onGraphChange, or with the old version.",
    ])
    const old = version("a", "ask", "b").resume("r", { takeOver: true, store })
    await old
    await old.respond("r1", 5)
    expect((await old).outputs).toEqual([7])
  })

  test("continues with `continue`: what waits is matched by name", async () => {
    const store = await waiting("a", "ask", "b")
    const run = version("a", "ask", "b", "c").resume("r", {
      takeOver: true,
      store,
      onGraphChange: "continue",
    })
    await run
    await run.respond("r1", 5)
    expect(await run).toMatchObject({ outputs: [8], state: { total: 8 } })
  })

  test("cannot continue with `continue` when what it waits for is gone, and says what that is", async () => {
    const store = await waiting("a", "ask", "b")
    const run = version("a", "b").resume("r", { takeOver: true, store, onGraphChange: "continue" })
    await expect(run.result).rejects.toThrow(
      /It cannot continue with this one: .*node "ask", which workflow "w" does not have/,
    )
    expect(await store.run("r")).toMatchObject({ status: "waiting" })
  })

  test("is migrated by a function of its state, once: the journal remembers", async () => {
    const store = await waiting("a", "ask", "b")
    let difference: readonly string[] = []
    const rename: Migrate = (state, { lines }) => {
      difference = lines
      const named = (id: string) => (id === "ask" ? "asking" : id)
      return {
        ...state,
        tasks: state.tasks.map((task) => ({ ...task, node: named(task.node) })),
        nodes: state.nodes.map((one) => ({ ...one, id: named(one.id) })),
        requests: state.requests.map((request) => ({ ...request, node: named(request.node) })),
      }
    }
    await version("a", "asking", "b").resume("r", { takeOver: true, store, onGraphChange: rename })
    expect(difference).toContain("- node ask")
    expect(difference).toContain("+ node asking")
    // From here on it is a run of the new version: no policy is needed.
    const run = version("a", "asking", "b").resume("r", { takeOver: true, store })
    await run
    await run.respond("r1", 5)
    expect((await run).outputs).toEqual([7])
    const seqs: number[] = []
    for await (const { seq } of version("a", "asking", "b")
      .resume("r", { takeOver: true, store })
      .events({ after: 0 }))
      seqs.push(seq)
    expect(seqs).toEqual(seqs.map((_, i) => i + 1))
    expect(seqs.length).toBe((await store.read("r", 0)).at(-1)?.events)
  })

  test("is migrated with the messages of items that have begun, and of those that have not", async () => {
    const version = (end: string) => {
      const list = node("list", () => [{ n: 1 }, { n: 2 }, { n: 3 }])
      const ask = node({
        id: "ask",
        concurrency: 2,
        run: async (item: { n: number; name?: string }, ctx: Context) => [
          await ctx.ask<string>(`${item.n}?`),
          item,
        ],
      })
      const last = node(end, (results: readonly unknown[]) => results)
      return workflow("w").start(list).map(list, ask, last).build()
    }
    const store = memoryStore()
    await version("old").run(null, { store, runId: "r" })
    const named = (item: Json, by: string) => ({ ...(item as { n: number }), name: by })
    const migrate: Migrate = (state) => ({
      ...state,
      tasks: state.tasks.map((task) => ({ ...task, message: named(task.message, "task") })),
      maps: state.maps.map((map) => ({ ...map, items: map.items.map((item) => named(item, "map")) })),
    })
    await version("new").resume("r", { takeOver: true, store, onGraphChange: migrate })
    const run = version("new").resume("r", { takeOver: true, store })
    for (const id of ["r1", "r2", "r3"]) {
      await run
      await run.respond(id, "yes")
    }
    expect((await run).outputs).toEqual([
      [
        ["yes", { n: 1, name: "task" }],
        ["yes", { n: 2, name: "task" }],
        ["yes", { n: 3, name: "map" }],
      ],
    ])
  })

  test("that a migration leaves unfit is refused, and a migration that throws says so", async () => {
    const store = await waiting("a", "ask", "b")
    const same = version("a", "b").resume("r", { takeOver: true, store, onGraphChange: (state) => state })
    await expect(same.result).rejects.toMatchObject({ code: "GRAPH_CHANGED" })
    const broken = version("a", "b").resume("r", {
      takeOver: true,
      store,
      onGraphChange: () => {
        throw new Error("no idea")
      },
    })
    await expect(broken.result).rejects.toThrow("no idea")
    const old = version("a", "ask", "b").resume("r", { takeOver: true, store })
    await old
    await old.respond("r1", 1)
    expect((await old).outputs).toEqual([3])
  })

  test("that is over tells its result, whatever the version", async () => {
    const store = memoryStore()
    await version("a", "b").run(0, { store, runId: "r" })
    expect((await version("x").resume("r", { takeOver: true, store })).outputs).toEqual([2])
  })
})

describe("a change of policies alone", () => {
  const flaky = (retry: RetryPolicy | undefined, fails: number) => {
    let calls = 0
    return workflow("flaky")
      .start(
        node({
          id: "flaky",
          ...(retry === undefined ? {} : { retry }),
          run: async (n: number, ctx: Context) => {
            if (calls++ < fails) throw new Error("not yet")
            return n + (await ctx.ask<number>("how much?"))
          },
        }),
      )
      .build()
  }

  test("is taken without asking: the journal is folded with the policies it was made with", async () => {
    const store = memoryStore()
    const clock = manualClock()
    const run = flaky({ attempts: 3, delay: 100 }, 2).run(1, { store, clock, runId: "r" })
    await clock.advance(1_000)
    expect((await run).status).toBe("waiting")
    // With no retries at all, the first failure would have been the end.
    const resumed = flaky(undefined, 0).resume("r", { takeOver: true, store, clock })
    await resumed
    await resumed.respond("r1", 4)
    expect((await resumed).outputs).toEqual([5])
  })
})

describe("a sub-workflow of another version", () => {
  const outer = (inner: string) =>
    workflow("outer")
      .start(version("a", inner).asNode({ id: "sub" }))
      .build()
  const calling = (...ids: readonly string[]) =>
    workflow("calling")
      .start(
        node("calls", async (n: number, ctx: Context) => (await ctx.call(version(...ids), n))[0] as number),
      )
      .build()

  test("that is drawn changes its parent", async () => {
    const store = memoryStore()
    await outer("ask").run(0, { store, runId: "r" })
    await expect(outer("ask2").resume("r", { takeOver: true, store }).result).rejects.toMatchObject({
      code: "GRAPH_CHANGED",
    })
  })

  test("that is called continues where the policy accepts it", async () => {
    const store = memoryStore()
    await calling("a", "ask").run(0, { store, runId: "r" })
    const lenient = calling("a", "ask", "b").resume("r", { takeOver: true, store, onGraphChange: "continue" })
    const [request] = (await lenient).requests
    await lenient.respond(request?.id ?? "", 5)
    expect((await lenient).outputs).toEqual([7])
  })
})
