/** Questions that are waited for: answered, left to their default, escalated, two at once. */
import { node, workflow } from "superstep"
import { z } from "zod"
import type { Scenario, Watch } from "./scenario.ts"

export function people(watch: Watch): Scenario {
  const start = node("start", (text: string, ctx) => {
    watch(ctx)
    return text
  })
  const answered = node("answered", async (text: string, ctx) => {
    watch(ctx)
    const [one, two] = await Promise.all([
      ctx.ask({ prompt: "one?", schema: z.number() }),
      ctx.ask<string>({ prompt: "two?", data: { text } }),
    ])
    return `${text}: ${one} and ${two}`
  })
  const silent = node("silent", async (_: string, ctx) => {
    watch(ctx)
    return ctx.ask({ prompt: "silence?", timeout: 2, default: "silence" })
  })
  const escalated = node("escalated", async (_: string, ctx) => {
    watch(ctx)
    const escalate = [
      { to: "boss", timeout: 2 },
      { to: "board", timeout: 1 },
    ]
    return ctx.ask({ prompt: "escalate?", to: "desk", timeout: 1, escalate, default: "nobody" })
  })
  const all = node("all", (list: readonly unknown[], ctx) => {
    watch(ctx)
    return list
  })
  const flow = workflow("people")
    .start(start)
    .fanOut(start, [answered, silent, escalated])
    .fanIn([answered, silent, escalated], all)
    .build()
  const known: Record<string, unknown> = { "one?": 1, "two?": "zwei" }
  return { workflow: flow, input: "people", answers: ({ prompt }) => known[prompt] }
}
