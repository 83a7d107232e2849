/** A budget that runs out, over sub-workflows too, and the way out that is taken then. */
import { append, channel, node, workflow } from "superstep"
import type { Scenario, Watch } from "./scenario.ts"

export function limits(watch: Watch): Scenario {
  const log = channel("log", append<number>())
  const spend = workflow("spend")
    .start(
      node("model", async (n: number, ctx) => {
        watch(ctx)
        const next = await ctx.step(
          "ask",
          () => {
            watch(ctx, "ask")
            return n + 1
          },
          { usage: () => ({ modelCalls: 1 }) },
        )
        ctx.use({ outputTokens: 5 })
        return next
      }),
    )
    .build()
  const agent = node("agent", async (n: number, ctx) => {
    watch(ctx)
    const [next = 0] = await ctx.call(spend, n)
    ctx.state.write(log, [next])
    return next
  })
  const wrapUp = node("wrapUp", ({ code }: { code: string }, ctx) => {
    watch(ctx)
    return `${code} after ${ctx.state.get(log).length}`
  })
  const flow = workflow("limits", { state: [log] })
    .start(agent)
    .loop(agent, agent, { while: () => true })
    .onLimit(wrapUp)
    .build()
  return { workflow: flow, input: 0, run: { budget: { modelCalls: 4 } } }
}
