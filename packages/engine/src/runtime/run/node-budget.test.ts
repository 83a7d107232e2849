/** Budgets of nodes, limits that handlers reach, and whose usage it was. */
import { describe, expect, test } from "vitest"
import { type Context, memoryStore, node, SuperstepError, workflow } from "../../index.ts"
import { RunFold } from "../../protocol/index.ts"

const spend = (id: string, tokens: number, budget?: { tokens: number }) =>
  node({
    id,
    ...(budget === undefined ? {} : { budget }),
    run: async (n: number, ctx: Context) => {
      const source = () => ({ agent: id, model: "m/1" })
      await ctx.step("call", () => n, { usage: () => ({ inputTokens: tokens, modelCalls: 1 }), source })
      return n + 1
    },
  })

describe("the budget of a node", () => {
  test("holds over all its tasks, and not for other nodes", async () => {
    const worker = spend("worker", 40, { tokens: 100 })
    const other = spend("other", 1_000)
    const flow = workflow("w").start(worker).edge(worker, other).edge(other, worker, { max: 9 }).build()
    const { status, error, usage } = await flow.run(0).result
    expect(status).toBe("limit")
    expect(error).toMatchObject({ code: "BUDGET_EXCEEDED", node: "worker" })
    expect(error?.message).toBe('Budget of node "worker" exceeded: tokens')
    // Three of 40 tokens, as the third began with 80 used; three of the other's.
    expect(usage.inputTokens).toBe(3 * 40 + 3 * 1_000)
  })

  test("survives a restart", async () => {
    const store = memoryStore()
    const worker = node({
      id: "worker",
      budget: { modelCalls: 1 },
      run: async (n: number, ctx: Context) => {
        await ctx.step("call", () => 1, { usage: () => ({ modelCalls: 1 }) })
        return n + (await ctx.ask<number>("more?"))
      },
    })
    const flow = workflow("w").start(worker).loop(worker, worker, { max: 3 }).build()
    await flow.run(0, { store, runId: "r" })
    const resumed = flow.resume("r", { takeOver: true, store })
    await resumed
    await resumed.respond("r1", 1)
    expect(await resumed.result).toMatchObject({ status: "limit", error: { code: "BUDGET_EXCEEDED" } })
  })

  test("that makes no sense is refused at build", () => {
    const bad = node({ id: "bad", budget: { tokens: -1 }, run: (n: number) => n })
    expect(() => workflow("w").start(bad).build()).toThrow(/budget.tokens must be a number of at least 0/)
  })
})

describe("a handler", () => {
  const careful = node("careful", async (n: number, ctx: Context) => {
    for (let i = 0; i < n; i++) {
      ctx.checkBudget()
      await ctx.step(`call ${i}`, () => i, { usage: () => ({ modelCalls: 1 }) })
    }
    return "done"
  })

  test("can look before it spends: at the limit the run ends with what was reached", async () => {
    const flow = workflow("w").start(careful).build()
    const { status, error, usage } = await flow.run(9, { budget: { modelCalls: 3 } }).result
    expect({ status, code: error?.code, calls: usage.modelCalls }).toEqual({
      status: "limit",
      code: "BUDGET_EXCEEDED",
      calls: 3,
    })
  })

  test("inside a sub-workflow looks at the budget of the whole run", async () => {
    const inner = workflow("inner").start(careful).build()
    const flow = workflow("w").start(inner.asNode()).build()
    const { status, usage } = await flow.run(9, { budget: { modelCalls: 2 } }).result
    expect({ status, calls: usage.modelCalls }).toEqual({ status: "limit", calls: 2 })
  })

  test("that reaches a limit of its own sends the run along its limit route", async () => {
    const stops = node("stops", (): string => {
      throw new SuperstepError("MY_LIMIT", "enough is enough", { limit: true })
    })
    const sum = node(
      "sum up",
      ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
    )
    const flow = workflow("w").start(stops).onLimit(sum).build()
    expect(await flow.run(1)).toMatchObject({ status: "completed", outputs: ["MY_LIMIT: enough is enough"] })
    expect(await workflow("w").start(stops).build().run(1).result).toMatchObject({
      status: "limit",
      error: { code: "MY_LIMIT", node: "stops" },
    })
  })
})

test("usage is known by agent and model, also from below, and after a restart", async () => {
  const store = memoryStore()
  const inner = workflow("inner").start(spend("writer", 5)).build()
  const seen: unknown[] = []
  const look = node("look", async (_: number, ctx: Context) => {
    seen.push(ctx.usedBy("writer"), ctx.usedBy("nobody"))
    return ctx.ask<string>("?")
  })
  const flow = workflow("w").chain(spend("reader", 3), inner.asNode(), look).build()
  const run = flow.stream(1, { store, runId: "r" })
  const fold = new RunFold()
  const watching = (async () => {
    for await (const event of run) fold.add(JSON.parse(JSON.stringify(event)))
  })()
  await run
  await flow.resume("r", { takeOver: true, store })
  expect(seen).toEqual([{ inputTokens: 5, modelCalls: 1 }, {}, { inputTokens: 5, modelCalls: 1 }, {}])
  run.cancel()
  await run.result.catch(() => undefined)
  await watching.catch(() => undefined)
  expect(fold.view.usageByAgent).toEqual({
    reader: { inputTokens: 3, modelCalls: 1 },
    writer: { inputTokens: 5, modelCalls: 1 },
  })
  expect(fold.view.usageByModel).toEqual({ "m/1": { inputTokens: 8, modelCalls: 2 } })
})
