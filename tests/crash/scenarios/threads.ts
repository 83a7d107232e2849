/** A run of a thread: what it writes lasts when it completes, and is written once. */
import { add, append, channel, merge, node, workflow } from "superstep"
import type { Scenario, Watch } from "./scenario.ts"

export function threads(watch: Watch): Scenario {
  const messages = channel("messages", append<string>(), { persist: true })
  const tokens = channel("tokens", add(), { persist: true })
  const facts = channel("facts", merge<{ [name: string]: string }>({}), { persist: true })
  const draft = channel("draft", append<string>())
  const listen = node("listen", async (text: string, ctx) => {
    watch(ctx)
    ctx.state.write(messages, [`user: ${text}`])
    ctx.state.write(facts, { topic: text })
    return text
  })
  const think = node("think", async (text: string, ctx) => {
    watch(ctx)
    const thought = await ctx.step("think", () => {
      watch(ctx, "think")
      return `${text}, indeed`
    })
    ctx.state.write(tokens, thought.length)
    ctx.state.write(draft, [thought])
    await ctx.sleep(1)
    return thought
  })
  const speak = node("speak", (text: string, ctx) => {
    watch(ctx)
    ctx.state.write(messages, [`assistant: ${text}`])
    return ctx.state.get(messages).length
  })
  const flow = workflow("threads", { state: [messages, tokens, facts, draft] })
    .chain(listen, think, speak)
    .build()
  return { workflow: flow, input: "rain", run: { thread: "t" } }
}
