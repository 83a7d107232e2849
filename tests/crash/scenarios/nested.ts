/** Sub-workflows two deep, with state, steps, usage, a question for a person and one that the caller answers. */
import { add, channel, node, workflow } from "superstep"
import type { Scenario, Watch } from "./scenario.ts"

export function nested(watch: Watch): Scenario {
  const sum = channel("sum", add())
  const innermost = workflow("innermost", { state: [sum] })
    .chain(
      node("measure", async (text: string, ctx) => {
        watch(ctx)
        const length = await ctx.step(
          "length",
          () => {
            watch(ctx, "length")
            return text.length
          },
          { usage: () => ({ inputTokens: 3 }) },
        )
        ctx.state.write(sum, length)
        return text
      }),
      node("confirm", async (text: string, ctx) => {
        watch(ctx)
        const [person, caller] = [await ctx.ask<string>("person?"), await ctx.ask<string>("caller?")]
        ctx.use({ modelCalls: 1 })
        return `${text}:${person}:${caller}:${ctx.state.get(sum)}`
      }),
    )
    .build()
  const middle = workflow("middle")
    .chain(
      node("quote", (text: string, ctx) => {
        watch(ctx)
        return `'${text}'`
      }),
      innermost.asNode({ onRequest: ({ prompt }) => (prompt === "caller?" ? "me" : undefined) }),
    )
    .build()
  const split = node("split", (text: string, ctx) => {
    watch(ctx)
    return text.split(" ")
  })
  const gather = node("gather", (list: readonly string[], ctx) => {
    watch(ctx)
    return list.join(" + ")
  })
  const flow = workflow("nested")
    .start(split)
    .map(split, middle.asNode({ concurrency: 2 }), gather)
    .build()
  return {
    workflow: flow,
    input: "to be",
    answers: ({ prompt }) => (prompt === "caller?" ? undefined : "ok"),
  }
}
