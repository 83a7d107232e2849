import { append, channel, node, workflow } from "@superstep/engine"

const incomplete = channel("incomplete", append<{ source: string; reason: string }>())

const called = workflow("called")
  .start(
    node("search", (text: string, ctx) => {
      ctx.emit("research.incomplete", { source: "web", reason: "it is down" })
      return text
    }),
  )
  .build()

/** Answers, and reports a failed source if the text requests it. */
export default workflow("partial", { state: [incomplete] })
  .chain(
    node("answer", async (text: string, ctx) => {
      if (text === "nested") await ctx.call(called, text)
      if (text === "partial" || text === "honest")
        ctx.state.write(incomplete, [{ source: "shop", reason: "it is down" }])
      return text === "honest" ? "Incomplete: shop: it is down" : `answer to ${text}`
    }),
  )
  .build()
