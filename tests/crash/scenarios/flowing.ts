/** The flow schedule: every task continues as soon as it can. */
import { add, channel, node, workflow } from "superstep"
import type { Scenario, Watch } from "./scenario.ts"

export function flowing(watch: Watch): Scenario {
  const seen = channel("seen", add())
  const start = node("start", (n: number, ctx) => {
    watch(ctx)
    return n
  })
  const list = node("list", (n: number, ctx) => {
    watch(ctx)
    return [n, n + 1, n + 2]
  })
  const work = node("work", async (n: number, ctx) => {
    watch(ctx)
    ctx.state.write(seen, 1)
    if (n % 2 === 0) await ctx.sleep(n)
    return n * n
  })
  const sum = node("sum", (squares: readonly number[], ctx) => {
    watch(ctx)
    return squares.reduce((a, b) => a + b, 0)
  })
  const step = (id: string) =>
    node(id, async (n: number, ctx) => {
      watch(ctx)
      ctx.state.write(seen, 1)
      return n + 1
    })
  const [a, b, c] = [step("a"), step("b"), step("c")]
  const both = node("both", (pair: readonly number[], ctx) => {
    watch(ctx)
    return `both ${pair}`
  })
  const flow = workflow("flowing", { schedule: "flow", state: [seen] })
    .start(start)
    .fanOut(start, [list, a, b])
    .map(list, work, sum)
    .edge(a, c)
    .fanIn([b, c], both)
    .build()
  return { workflow: flow, input: 1, unordered: true }
}
