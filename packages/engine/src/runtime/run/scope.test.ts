/** Parts of a handler that run at the same time, each with records of its own. */
import { expect, test } from "vitest"
import { type Context, memoryStore, node, workflow } from "../../index.ts"
import { explore } from "../../testing/index.ts"

test("questions of parts that come in another order after a restart find their own answers", async () => {
  let order = ["a", "b"]
  const both = node("both", async (_: number, ctx: Context) => {
    const ask = async (name: string) => `${name}: ${await ctx.scope(name).ask<string>(`${name}?`)}`
    const answers = await Promise.all(order.map(ask))
    return answers.toSorted().join(", ")
  })
  const flow = workflow("w").start(both).build()
  const store = memoryStore()
  const first = flow.run(1, { store, runId: "r" })
  const { requests } = await first
  const forA = requests.find(({ prompt }) => prompt === "a?")?.id ?? ""
  await first.respond(forA, "one")
  order = ["b", "a"]
  const again = flow.resume("r", { store })
  const open = (await again).requests
  expect(open.map(({ prompt }) => prompt)).toEqual(["b?"])
  await again.respond(open[0]?.id ?? "", "two")
  expect((await again).outputs).toEqual(["a: one, b: two"])
})

test("a scope has the handler's other means, and scopes nest", async () => {
  const keys: string[] = []
  const work = node("work", async (n: number, ctx: Context) => {
    const { step, runId, task, scope } = ctx.scope("outer")
    keys.push(`${runId} ${task}`)
    await step("s", () => 1)
    await scope("inner").step("s", () => 2)
    await ctx.scope("outer").step("s", () => 3)
    await ctx.step("s", () => 4)
    ctx.scope("outer").output("said")
    return n
  })
  const store = memoryStore()
  const { outputs } = await workflow("w").start(work).build().run(1, { store, runId: "r" })
  expect(outputs).toEqual(["said", 1])
  const recorded = (await store.read("r", 0)).flatMap(({ entry }) =>
    entry.type === "step.recorded" ? [entry.key] : [],
  )
  expect(recorded).toEqual(["step:outer/s", "step:outer/inner/s", "step#2:outer/s", "step:s"])
  expect(keys).toEqual(["r 1"])
})

test("parallel parts with steps, calls and questions survive any crash", async () => {
  const inner = workflow("inner")
    .start(node("inner", async (n: number) => n * 10))
    .build()
  const parts = node("parts", async (n: number, ctx: Context) => {
    const part = async (i: number) => {
      const own = ctx.scope(`part ${i}`)
      const [called] = await own.call(inner, i)
      const twice = await own.step("twice", async () => i * 2)
      return (called ?? 0) + twice + (await own.ask<number>(`${i}?`))
    }
    const all = await Promise.all(Array.from({ length: n }, (_, i) => part(i)))
    return all.join(" ")
  })
  const flow = workflow("w").start(parts).build()
  const { runs } = await explore(flow, 3, {
    runs: 60,
    faults: { crash: 3 },
    answers: ({ prompt }) => Number.parseInt(prompt, 10),
  })
  expect(runs).toBe(60)
})
