/** Sleeps one after another, side by side, and in a map. */
import { append, channel, node, workflow } from "superstep"
import type { Scenario, Watch } from "./scenario.ts"

export function sleeps(watch: Watch): Scenario {
  const woken = channel("woken", append<number>())
  const split = node("split", (count: number, ctx) => {
    watch(ctx)
    return Array.from({ length: count }, (_, i) => i)
  })
  const nap = node({
    id: "nap",
    concurrency: 3,
    run: async (n: number, ctx) => {
      watch(ctx)
      await ctx.sleep(n)
      await Promise.all([ctx.sleep(1), ctx.sleep(2)])
      return ctx.step("wake", () => {
        watch(ctx, "wake")
        return n * 10
      })
    },
  })
  const gather = node("gather", async (list: readonly number[], ctx) => {
    watch(ctx)
    await ctx.sleep(1)
    ctx.state.write(woken, list)
    return list.length
  })
  const flow = workflow("sleeps", { state: [woken] })
    .start(split)
    .map(split, nap, gather, { concurrency: 2 })
    .build()
  return { workflow: flow, input: 4 }
}
