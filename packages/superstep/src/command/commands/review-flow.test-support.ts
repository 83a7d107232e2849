/** A workflow in a module, as people write them. */
import { append, channel, node, workflow } from "@superstep/engine"

const log = channel("log", append<string>())

/** Three nodes. The second asks or fails if the text requests it. */
export default workflow("review", { state: [log] })
  .chain(
    node("draft", (text: string, ctx) => {
      ctx.state.write(log, [`draft of ${text}`])
      ctx.use({ inputTokens: 1_200, outputTokens: 34, modelCalls: 1, usd: 0.0042 })
      return text
    }),
    node("check", async (text: string, ctx) => {
      if (text.includes("fail")) throw new Error("the check found \u001b[31mred\u001b[0m")
      if (!text.includes("ask")) return text
      return `${text}: ${await ctx.ask<string>({ prompt: `Publish "${text}"?`, to: "editor" })}`
    }),
    node("publish", (text: string, ctx) => {
      ctx.state.write(log, ["published"])
      return `published ${text}`
    }),
  )
  .build()
