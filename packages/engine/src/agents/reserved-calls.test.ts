/** Calls are counted before they are made (R1 to R3, M8): by parallel branches, over crashes, up to the root's budget. */
import { expect, test } from "vitest"
import { z } from "zod"
import { type Context, memoryStore, node, workflow } from "../index.ts"
import { priceTable } from "../models/index.ts"
import { simulate } from "../testing/index.ts"
import { tool } from "../tools/index.ts"
import { agent } from "./index.ts"
import { pureModel } from "./stand-ins.test-support.ts"

const clerks = (model: ReturnType<typeof pureModel>, count: number) => {
  const list = Array.from({ length: count }, (_, i) => agent({ name: `clerk${i}`, model, stream: false }))
  const split = node("split", (text: string) => text)
  const flow = workflow("office").start(split).fanOut(split, list)
  return flow.build()
}

test.each([
  ["without a store", undefined],
  ["with a store", memoryStore()],
])("of 8 concurrent agents, no more call the model than the budget allows, %s", async (_, store) => {
  const model = pureModel(() => "hm")
  const result = await clerks(model, 8).run("go", { budget: { modelCalls: 3 }, store }).result
  expect([result.status, result.error?.code]).toEqual(["limit", "BUDGET_EXCEEDED"])
  expect(model.calls.length).toBeLessThanOrEqual(3)
  expect(result.usage.modelCalls).toBe(3)
})

test("concurrent sub-workflows share the budget of the run that called them", async () => {
  const model = pureModel(() => "hm")
  const inner = workflow("inner")
    .start(agent({ name: "inner", model, stream: false }))
    .build()
  const outer = node("outer", async (n: number, ctx: Context) => {
    const all = await Promise.allSettled(Array.from({ length: 6 }, () => ctx.call(inner, "go")))
    return all.filter(({ status }) => status === "fulfilled").length + n
  })
  const result = await workflow("w")
    .start(outer)
    .build()
    .run(0, { budget: { modelCalls: 2 } }).result
  expect([result.status, result.error?.code]).toEqual(["limit", "BUDGET_EXCEEDED"])
  expect(model.calls.length).toBeLessThanOrEqual(2)
  expect(result.usage.modelCalls).toBe(2)
})

test("wherever the process dies, no more calls are made than the budget allows, and each counts", async () => {
  for (let at = 1; at <= 12; at++) {
    const model = pureModel((_, turn) => (turn < 2 ? { calls: [{ name: "poke" }] } : "poked"))
    let pokes = 0
    const poke = tool({ name: "poke", description: "Pokes.", input: z.object({}), run: () => ++pokes })
    const x = agent({ name: "x", model, stream: false, tools: [poke] })
    const crash = [{ after: at }, at + 1, at + 2]
    const { result, lost } = await simulate(x, "go", {
      seed: at,
      faults: { crash },
      run: { budget: { modelCalls: 4, toolCalls: 3 } },
    })
    const { modelCalls = 0, toolCalls = 0 } = result.usage
    expect(modelCalls).toBeLessThanOrEqual(4)
    expect(toolCalls).toBeLessThanOrEqual(3)
    expect(model.calls.length).toBeLessThanOrEqual(modelCalls)
    expect(pokes).toBeLessThanOrEqual(toolCalls)
    expect(["completed", "limit"]).toContain(result.status)
    if (result.status === "completed") expect(modelCalls - (lost.modelCalls ?? 0)).toBe(3)
  }
})

test("a call whose prompt and maximum reply exceed the budget is not made", async () => {
  const prices = priceTable({ "pure/model": { input: 1_000_000, output: 1_000_000 } })
  const ask = async (settings: object, budget: object) => {
    const model = pureModel(() => "hm")
    const x = agent({ name: "x", model, stream: false, settings, calling: { prices } })
    const { status, error, usage } = await x.run("Say hm.", { budget }).result
    let cause: unknown = error
    while (cause instanceof Error && cause.cause !== undefined) cause = cause.cause
    const why = (cause as Error | undefined)?.message
    return { status, message: error?.message, why, calls: model.calls.length, tokens: usage.inputTokens ?? 0 }
  }
  expect(await ask({ maxOutputTokens: 100 }, { tokens: 50 })).toEqual({
    status: "limit",
    message: "Budget exceeded: tokens",
    why: "The next call may need 106 tokens with 50 left. Raise the budget, or lower maxOutputTokens.",
    calls: 0,
    tokens: 0,
  })
  expect(await ask({ maxOutputTokens: 10 }, { tokens: 50 })).toMatchObject({
    status: "completed",
    tokens: 10,
  })
  expect(await ask({ maxOutputTokens: 100 }, { usd: 50 })).toMatchObject({
    why: expect.stringMatching(/^The next call may need 106 usd with 50 left/),
    calls: 0,
  })
  // Unused reservations are released.
  expect(await ask({ maxOutputTokens: 40 }, { tokens: 61 })).toMatchObject({ status: "completed" })
})

test("a call that a cancellation or its node's timeout stopped stays counted", async () => {
  const model = pureModel(() => "hm")
  let asked = () => {}
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve
  })
  model.doGenerate = () => {
    asked()
    return new Promise(() => undefined)
  }
  const run = agent({ name: "x", model, stream: false }).run("go")
  await isAsked
  await run.cancel("enough")
  expect(await run.result).toMatchObject({ status: "cancelled", usage: { modelCalls: 1, estimatedCalls: 1 } })

  const slow = agent({ name: "slow", model, stream: false, timeout: 1 })
  const timedOut = await slow.run("go").result
  expect(timedOut).toMatchObject({ status: "failed", error: { code: "TIMEOUT" }, usage: { modelCalls: 1 } })
})

test("events count lost usage when it is lost, and never reduce it", async () => {
  const store = memoryStore()
  const model = pureModel(() => "hm")
  const answer = model.doGenerate
  let asked = () => {}
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve
  })
  model.doGenerate = () => {
    asked()
    return new Promise(() => undefined)
  }
  const x = agent({ name: "x", model, stream: false })
  void x.run("go", { store, runId: "r" })
  await isAsked
  model.doGenerate = answer
  const run = x.resume("r", { store, takeOver: true })
  const { usage } = await run
  expect(usage).toMatchObject({ modelCalls: 2, outputTokens: 5, estimatedCalls: 1 })
  const counted: (number | undefined)[] = []
  for await (const event of x.resume("r", { store }).events({ after: 0 }))
    if (event.type === "usage.recorded") counted.push(event.usage.modelCalls)
  expect(counted).toEqual([1, 1])
})

test("ctx.step reports whether it may have run before, and counts its reservation unless it returns another usage", async () => {
  const store = memoryStore()
  const seen: boolean[] = []
  let hangs = true
  let begun = () => {}
  const hasBegun = new Promise<void>((resolve) => {
    begun = resolve
  })
  const flow = workflow("w")
    .start(
      node("pays", (n: number, ctx: Context) =>
        ctx.step("pay", async (step) => {
          seen.push(step.mayHaveRun)
          await step.reserve({ toolCalls: 1, usd: 2 })
          begun()
          return hangs ? new Promise<number>(() => undefined) : n
        }),
      ),
    )
    .build()
  void flow.run(7, { store, runId: "r", budget: { usd: 4 } })
  await hasBegun
  hangs = false
  const { outputs, usage } = await flow.resume("r", { store, takeOver: true })
  expect({ outputs, usage, seen }).toEqual({
    outputs: [7],
    usage: { toolCalls: 2, usd: 4 },
    seen: [false, true],
  })
})
