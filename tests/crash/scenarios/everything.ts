/** A workflow with something of everything: fan-out, join, map, loop, retry, sleep, steps, a question, a sub-workflow. */
import { add, append, channel, node, workflow } from "superstep"
import type { Scenario, Watch } from "./scenario.ts"

const log = channel("log", append<string>())
const total = channel("total", add())

export function everything(watch: Watch): Scenario {
  const split = node("split", (text: string, ctx) => {
    watch(ctx)
    return text.split(" ")
  })
  const weigh = node("weigh", async (word: string, ctx) => {
    watch(ctx)
    const weight = await ctx.step("measure", () => {
      watch(ctx, "measure")
      return word.length
    })
    ctx.state.write(total, weight)
    return { word, weight }
  })
  const gather = node("gather", (words: readonly { word: string; weight: number }[], ctx) => {
    watch(ctx)
    ctx.state.write(log, ["gathered"])
    return words.map(({ word }) => word).join("+")
  })
  const left = node({
    id: "left",
    retry: { attempts: 2, delay: 1 },
    run: (text: string, ctx) => {
      watch(ctx)
      if (ctx.attempt === 1) throw new Error("once")
      return `left(${text})`
    },
  })
  const right = node("right", async (text: string, ctx) => {
    watch(ctx)
    await ctx.sleep(1)
    return `right(${text})`
  })
  const inner = workflow("inner")
    .chain(
      node("quote", (text: string, ctx) => {
        watch(ctx)
        return `'${text}'`
      }),
      node("confirm", async (text: string, ctx) => {
        watch(ctx)
        return `${text}:${await ctx.ask<string>(`Keep ${text}?`)}`
      }),
    )
    .build()
    .asNode({ id: "inner" })
  const both = node("both", (parts: readonly string[], ctx) => {
    watch(ctx)
    return { text: parts.join("|"), round: 1 }
  })
  const polish = node("polish", ({ text, round }: { text: string; round: number }, ctx) => {
    watch(ctx)
    ctx.state.write(log, [`round ${round}`])
    return { text: `${text}!`, round: round + 1 }
  })
  const flow = workflow("everything", { state: [log, total] })
    .start(split)
    .map(split, weigh, gather, { concurrency: 2 })
    .fanOut(gather, [left, right, inner])
    .fanIn([left, right, inner], both)
    .edge(both, polish)
    .loop(polish, polish, { while: ({ round }) => round < 3 })
    .build()
  return { workflow: flow, input: "to be or", answers: () => "yes" }
}
