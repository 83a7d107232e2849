/** Questions without waiting: the answers reach the node later, in any order. */
import { add, channel, node, workflow } from "superstep"
import type { Scenario, Watch } from "./scenario.ts"

export function inbox(watch: Watch): Scenario {
  const yes = channel("yes", add())
  const asking = node({
    id: "asking",
    run: (names: readonly string[], ctx) => {
      watch(ctx)
      for (const name of names) ctx.request({ prompt: `${name}?`, data: name })
    },
    onAnswer: (answer: string, ctx, request) => {
      watch(ctx)
      ctx.state.write(yes, 1)
      return `${request.prompt} ${answer}`
    },
  })
  const noted = node("noted", async (text: string, ctx) => {
    watch(ctx)
    return text.toUpperCase()
  })
  const flow = workflow("inbox", { state: [yes] })
    .chain(asking, noted)
    .build()
  return {
    workflow: flow,
    input: ["ann", "bob", "cy"],
    answers: ({ prompt }) => `yes to ${prompt}`,
    unordered: true,
  }
}
