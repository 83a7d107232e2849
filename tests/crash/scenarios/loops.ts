/** A loop within a loop, with state and counters: the inner one by a condition, the outer one by its limit. */
import { add, append, channel, node, workflow } from "superstep"
import type { Scenario, Watch } from "./scenario.ts"

interface Draft {
  readonly text: string
  readonly inner: number
  readonly outer: number
}

export function loops(watch: Watch): Scenario {
  const log = channel("log", append<string>())
  const rounds = channel("rounds", add())
  const draft = node("draft", async ({ text, outer }: Draft, ctx) => {
    watch(ctx)
    ctx.state.write(log, [`draft ${outer}`])
    return { text, inner: 0, outer: outer + 1 }
  })
  const polish = node("polish", async (message: Draft, ctx) => {
    watch(ctx)
    ctx.state.write(rounds, 1)
    ctx.local.set("calls", (ctx.local.get<number>("calls") ?? 0) + 1)
    return { ...message, text: `${message.text}.`, inner: message.inner + 1 }
  })
  const review = node("review", (message: Draft, ctx) => {
    watch(ctx)
    return { ...message, text: `${message.text}|${ctx.state.get(rounds)}` }
  })
  const flow = workflow("loops", { state: [log, rounds] })
    .chain(draft, polish)
    .loop(polish, polish, { while: ({ inner }) => inner < 2, exit: review })
    .loop(review, draft, { max: 3 })
    .build()
  return { workflow: flow, input: { text: "a", inner: 0, outer: 0 } }
}
