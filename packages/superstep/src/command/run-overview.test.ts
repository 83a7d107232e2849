import { memoryStore, node, workflow } from "@superstep/engine"
import { expect, test } from "vitest"
import { nodesOf, stepsOf, viewOf } from "./run-overview.ts"

const inner = workflow("inner")
  .chain(
    node("a", (n: number, ctx) => {
      ctx.use({ inputTokens: 10 })
      return n
    }),
    node("b", (n: number) => n),
  )
  .build()
const list = node("list", (n: number) => [n, n + 1])
const each = node("each", async (n: number, ctx) => (await ctx.call(inner, n)).length)
const outer = workflow("outer").start(list).map(list, each).build()

test("nested workflows count, and each of their nodes is told once", async () => {
  const store = memoryStore()
  await outer.run(1, { store, runId: "r" })
  const view = await viewOf(store, "r")
  // list, each twice, and a and b for each of them.
  expect(stepsOf(view)).toBe(7)
  expect(nodesOf(view, Date.now())).toMatchObject([
    { name: "list", times: 1, status: "finished" },
    { name: "each", times: 2, usage: { inputTokens: 20 } },
    { name: "each > a", times: 2, usage: { inputTokens: 20 } },
    { name: "each > b", times: 2, usage: {} },
  ])
})

test("what is at work has taken the time until now", async () => {
  const store = memoryStore()
  const ask = workflow("ask")
    .start(node("ask", (n: number, ctx) => ctx.ask<number>(`${n}?`)))
    .build()
  await ask.run(1, { store, runId: "r" })
  const view = await viewOf(store, "r")
  const [asked] = nodesOf(view, (view.startedAt ?? 0) + 5_000)
  expect(asked).toMatchObject({ name: "ask", status: "parked" })
  expect(asked?.took).toBeGreaterThan(4_000)
})
