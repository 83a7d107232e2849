import { describe, expect, test } from "vitest"
import { type Context, type LimitNotice, node, type RunEvent, workflow } from "../../index.ts"
import { controlled } from "../../testing/index.ts"

const spends = (id: string, usage: object) =>
  node(id, (n: number, ctx: Context) => {
    ctx.use(usage)
    return n + 1
  })

describe("what a run has used", () => {
  test("is counted from ctx.use and from steps, over all tasks", async () => {
    const stepping = node("stepping", async (n: number, ctx: Context) => {
      ctx.use({ modelCalls: 1 })
      ctx.use({ modelCalls: 1, usd: 0.5 })
      return ctx.step("call", () => n, { usage: (result) => ({ inputTokens: result, outputTokens: 7 }) })
    })
    const { usage } = await workflow("w")
      .chain(spends("a", { usd: 0.25 }), stepping)
      .build()
      .run(9)
    expect(usage).toEqual({ modelCalls: 2, usd: 0.75, inputTokens: 10, outputTokens: 7 })
  })

  test("includes attempts that failed", async () => {
    const flaky = node({
      id: "flaky",
      retry: { attempts: 3, delay: 0 },
      run: (n: number, ctx: Context) => {
        ctx.use({ modelCalls: 1 })
        if (ctx.attempt < 3) throw new Error("again")
        return n
      },
    })
    expect((await workflow("w").start(flaky).build().run(1)).usage).toEqual({ modelCalls: 3 })
  })

  test("does not count a step twice that a retry finds on record", async () => {
    const flaky = node({
      id: "flaky",
      retry: { attempts: 2, delay: 0 },
      run: async (n: number, ctx: Context) => {
        await ctx.step("call", () => n, { usage: () => ({ modelCalls: 1 }) })
        if (ctx.attempt === 1) throw new Error("again")
      },
    })
    expect((await workflow("w").start(flaky).build().run(1)).usage).toEqual({ modelCalls: 1 })
  })

  test("includes what a step has spent though it failed, and whose it was", async () => {
    const flaky = node({
      id: "flaky",
      retry: { attempts: 2, delay: 0 },
      run: (n: number, ctx: Context) => {
        const fails = () => (ctx.attempt === 1 ? Promise.reject(new Error("again")) : n)
        const spent = () => [{ usage: { modelCalls: 1 }, source: { agent: "a", model: "m" } }]
        return ctx.step("call", fails, { usage: () => ({ modelCalls: 10 }), spent })
      },
    })
    const run = workflow("w").start(flaky).build().stream(1)
    const counted: unknown[] = []
    for await (const event of run) {
      if (event.type === "usage.recorded") counted.push([event.usage.modelCalls, event.source?.agent])
    }
    expect(counted).toEqual([
      [1, "a"],
      [10, undefined],
    ])
    expect((await run).usage).toEqual({ modelCalls: 11 })
  })

  test("ends the run at once when what a failed step has spent is the last of the budget", async () => {
    const failing = node({
      id: "failing",
      retry: { attempts: 5, delay: 0 },
      run: (_: number, ctx: Context) =>
        ctx.step("call", () => Promise.reject(new Error("no")), {
          spent: () => [{ usage: { modelCalls: 1 } }],
        }),
    })
    const result = await workflow("w")
      .start(failing)
      .build()
      .run(1, { budget: { modelCalls: 2 } }).result
    expect(result).toMatchObject({
      status: "limit",
      error: { code: "BUDGET_EXCEEDED" },
      usage: { modelCalls: 2 },
    })
  })

  test("includes sub-workflows, however deep, as they go", async () => {
    const inner = workflow("inner")
      .chain(spends("a", { toolCalls: 1 }), spends("b", { toolCalls: 2 }))
      .build()
    const middle = workflow("middle")
      .chain(spends("c", { toolCalls: 10 }), inner.asNode())
      .build()
    const result = await workflow("w")
      .chain(middle.asNode(), spends("d", { usd: 1 }))
      .build()
      .run(1)
    expect(result.usage).toEqual({ toolCalls: 13, usd: 1 })
  })

  test("of a failed run is reported too", async () => {
    const fails = node("fails", (_: number, ctx: Context) => {
      ctx.use({ usd: 2 })
      throw new Error("boom")
    })
    expect((await workflow("w").start(fails).build().run(1).result).usage).toEqual({ usd: 2 })
  })
})

describe("a budget", () => {
  const chain = (usage: object) =>
    workflow("w").chain(spends("a", usage), spends("b", usage), spends("c", usage)).build()

  test.each<[string, object, object]>([
    ["tokens", { tokens: 10 }, { inputTokens: 3, outputTokens: 2 }],
    ["usd", { usd: 1 }, { usd: 0.5 }],
    ["modelCalls", { modelCalls: 2 }, { modelCalls: 1 }],
    ["toolCalls", { toolCalls: 2 }, { toolCalls: 1 }],
    ["iterations", { iterations: 2 }, { iterations: 1 }],
  ])(
    "of %s lets what is under way finish, then ends the run as limit and says which part",
    async (part, budget, usage) => {
      const { status, error, supersteps, undelivered } = await chain(usage).run(0, { budget }).result
      expect(status).toBe("limit")
      expect(error).toMatchObject({ code: "BUDGET_EXCEEDED" })
      expect(error?.message).toContain(part)
      expect(supersteps).toBe(2)
      expect(undelivered).toMatchObject([{ from: "b", to: "c" }])
    },
  )

  test("that is not used up changes nothing", async () => {
    expect((await chain({ usd: 1 }).run(0, { budget: { usd: 3.01, tokens: 1 } })).outputs).toEqual([3])
  })

  test("that is used up by the last task does no harm: nothing more was to start", async () => {
    expect((await chain({ usd: 1 }).run(0, { budget: { usd: 3 } })).status).toBe("completed")
  })

  test("of 0 starts nothing", async () => {
    let ran = 0
    const built = workflow("w")
      .start(node("counts", () => ++ran))
      .build()
    expect((await built.run(0, { budget: { usd: 0 } }).result).status).toBe("limit")
    expect(ran).toBe(0)
  })

  test("goes over sub-workflows: nothing more starts there once it is used up", async () => {
    const ran: string[] = []
    const step = (id: string) =>
      node(id, (n: number, ctx: Context) => {
        ran.push(id)
        ctx.use({ modelCalls: 1 })
        return n
      })
    const inner = workflow("inner").chain(step("a"), step("b"), step("c")).build()
    const after = node("after", () => ran.push("after"))
    const built = workflow("w").chain(inner.asNode(), after).build()
    const result = await built.run(0, { budget: { modelCalls: 2 } }).result
    expect(result).toMatchObject({
      status: "limit",
      error: { code: "BUDGET_EXCEEDED" },
      usage: { modelCalls: 2 },
    })
    expect(ran).toEqual(["a", "b"])
  })

  test("that a sub-workflow uses up takes the run to its limit route", async () => {
    const inner = workflow("inner")
      .chain(spends("a", { usd: 1 }), spends("b", { usd: 1 }))
      .build()
    const notice = node("notice", ({ code }: LimitNotice) => code)
    const built = workflow("w").start(inner.asNode()).onLimit(notice).build()
    const { status, outputs, usage } = await built.run(0, { budget: { usd: 1 } })
    expect({ status, outputs, usage }).toEqual({
      status: "completed",
      outputs: ["BUDGET_EXCEEDED"],
      usage: { usd: 1 },
    })
  })

  test("stops a sub-workflow in the middle when a sibling uses it up", async () => {
    const held = controlled<number, number>("held")
    const inner = workflow("inner").start(held).build()
    const start = node("start", (n: number) => n)
    const paid = node("paid", async (n: number, ctx: Context) => {
      await ctx.step("call", () => n, { usage: () => ({ usd: 5 }) })
      return ctx.call(workflow("other").chain(spends("x", {}), spends("y", {})).build(), n)
    })
    const run = workflow("w")
      .start(start)
      .fanOut(start, [inner.asNode(), paid])
      .build()
      .run(0, { budget: { usd: 5 } })
    const { ctx } = await held.started()
    expect((await run.result).status).toBe("limit")
    expect(ctx.signal.aborted).toBe(true)
  })

  test("holds for items of a map that wait for a place", async () => {
    const list = node("list", () => [1, 2, 3, 4])
    const built = workflow("w")
      .start(list)
      .map(
        list,
        spends("worker", { modelCalls: 1 }),
        node("end", () => 1),
        { concurrency: 1 },
      )
      .build()
    const { status, usage } = await built.run(0, { budget: { modelCalls: 2 } }).result
    expect(status).toBe("limit")
    expect(usage).toEqual({ modelCalls: 2 })
  })

  test("tells those who watch what was used, task by task", async () => {
    const used: unknown[] = []
    for await (const event of chain({ usd: 1 }).stream(0) as AsyncIterable<RunEvent>) {
      if (event.type === "usage.recorded") used.push([event.node, event.usage])
    }
    expect(used).toEqual([
      ["a", { usd: 1 }],
      ["b", { usd: 1 }],
      ["c", { usd: 1 }],
    ])
  })
})

test("a handler sees what the run has used, and what is left of its budget", async () => {
  const seen: unknown[] = []
  const spends = node("spends", (n: number, ctx: Context) => {
    seen.push(ctx.budget)
    ctx.use({ inputTokens: 30, outputTokens: 10, modelCalls: 1 })
    return n
  })
  const inner = workflow("inner").start(spends).build()
  const looks = node("looks", (n: number, ctx: Context) => {
    seen.push(ctx.budget)
    return n
  })
  await workflow("w")
    .chain(inner.asNode(), looks)
    .build()
    .run(1, { budget: { tokens: 100, modelCalls: 5 } })
  expect(seen).toEqual([
    { used: {}, left: { tokens: 100, modelCalls: 5 } },
    { used: { inputTokens: 30, outputTokens: 10, modelCalls: 1 }, left: { tokens: 60, modelCalls: 4 } },
  ])
})

test("a handler sees what its own workflow has used, apart from the rest of the run", async () => {
  const seen: unknown[] = []
  const spends = node("spends", (n: number, ctx: Context) => {
    ctx.use({ modelCalls: n })
    return n + 1
  })
  const looks = node("looks", (n: number, ctx: Context) => {
    seen.push(ctx.usedHere)
    return n
  })
  const inner = workflow("inner").chain(spends, looks).build()
  await workflow("w")
    .chain(inner.asNode({ id: "first" }), inner.asNode({ id: "second" }), looks)
    .build()
    .run(1)
  expect(seen).toEqual([{ modelCalls: 1 }, { modelCalls: 2 }, { modelCalls: 3 }])
})
