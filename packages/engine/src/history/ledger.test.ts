import { expect, test } from "vitest"
import { type Context, memoryStore, node, workflow } from "../index.ts"
import { ledger } from "./index.ts"

test("lists the steps, calls and questions after the point, with what they used, and none before it", async () => {
  const pay = node("pay", async (n: number, ctx: Context) => {
    await ctx.step("tool:charge:c1", () => "charged")
    return n
  })
  const write = node("write", async (n: number, ctx: Context) => {
    await ctx.step("reply", () => "text", {
      usage: () => ({ modelCalls: 1, usd: 0.5 }),
      source: () => ({ agent: "a", model: "m" }),
    })
    await ctx.step("mail", () => "sent")
    return `${n} ${await ctx.ask("Good?")}`
  })
  const store = memoryStore()
  const run = workflow("w").start(pay).edge(pay, write).build().run(1, { store, runId: "r" })
  await run
  const found = await ledger(store, "r", { superstep: 1 })
  expect(found.effects.map(({ kind, name, node }) => [kind, name, node])).toEqual([
    ["model", "m", "write"],
    ["step", "mail", "write"],
    ["question", "Good?", "write"],
  ])
  expect(found.usage).toEqual({ modelCalls: 1, usd: 0.5 })
  const all = await ledger(store, "r", { seq: 1 })
  expect(all.effects[0]).toMatchObject({ kind: "tool", name: "charge", node: "pay" })
  await expect(ledger(store, "r", { superstep: 9 })).rejects.toMatchObject({ code: "SUPERSTEP_UNKNOWN" })
})

test("a step that was started and has no result is uncertain, and its reservation counts", async () => {
  const flow = workflow("w")
    .start(
      node("pay", async (_: number, ctx: Context) => {
        await ctx.step("charge", async (step) => {
          await step.reserve({ modelCalls: 1 })
          return await new Promise<never>(() => undefined)
        })
      }),
    )
    .build()
  const store = memoryStore()
  const run = flow.run(1, { store, runId: "r" })
  while ((await store.read("r", 1)).length === 0) await new Promise(setImmediate)
  expect(await ledger(store, "r", { seq: 1 })).toMatchObject({
    effects: [{ kind: "step", name: "charge", isUncertain: true }],
    usage: { modelCalls: 1 },
  })
  run.cancel()
})
