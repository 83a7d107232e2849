/** Workflows called from a handler, side by side, and steps side by side; one of the calls fails and is caught. */
import { node, workflow } from "superstep"
import type { Scenario, Watch } from "./scenario.ts"

export function calls(watch: Watch): Scenario {
  const double = workflow("double")
    .chain(
      node("twice", async (n: number, ctx) => {
        watch(ctx)
        await ctx.sleep(n)
        return n * 2
      }),
      node("plus", (n: number, ctx) => {
        watch(ctx)
        ctx.use({ modelCalls: 1 })
        return n + 1
      }),
    )
    .build()
  const failing = workflow("failing")
    .start(
      node("fail", async (n: number, ctx): Promise<number> => {
        watch(ctx)
        await ctx.step("before", () => watch(ctx, "before"))
        throw new Error(`no ${n}`)
      }),
    )
    .build()
  const calling = node("calling", async (n: number, ctx) => {
    watch(ctx)
    const results = await Promise.all([
      ctx.call(double, n),
      ctx.call(double, n + 1),
      ctx.call(failing, n).catch((error: Error) => [error.message]),
      ctx.step("own", async () => {
        watch(ctx, "own")
        return ["own"]
      }),
    ])
    return results.flat()
  })
  const last = node("last", async (list: readonly unknown[], ctx) => {
    watch(ctx)
    return [...list, ...(await ctx.call(double, 0))]
  })
  return { workflow: workflow("calls").chain(calling, last).build(), input: 1 }
}
