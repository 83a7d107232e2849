/** A run that fails in the middle, while others are at work, asleep and waiting for an answer. */
import { append, channel, node, workflow } from "superstep"
import type { Scenario, Watch } from "./scenario.ts"

export function failing(watch: Watch): Scenario {
  const log = channel("log", append<string>())
  const start = node("start", (n: number, ctx) => {
    watch(ctx)
    ctx.state.write(log, ["started"])
    return n
  })
  const asking = node("asking", (_: number, ctx) => {
    watch(ctx)
    return ctx.ask<string>("never?")
  })
  const sleeping = node("sleeping", async (_: number, ctx) => {
    watch(ctx)
    await ctx.sleep(60_000)
  })
  const broken = node({
    id: "broken",
    retry: { attempts: 3, delay: 1 },
    run: async (_: number, ctx): Promise<string> => {
      watch(ctx)
      throw new Error(`attempt ${ctx.attempt}`)
    },
  })
  const flow = workflow("failing", { state: [log] })
    .start(start)
    .fanOut(start, [asking, sleeping, broken])
    .build()
  return { workflow: flow, input: 1, answers: () => undefined, status: "failed" }
}
