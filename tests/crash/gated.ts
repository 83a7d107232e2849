/** A workflow that waits in the middle until the test lets it continue. */
import { append, channel, node, workflow } from "superstep"

export function gated(gate: () => Promise<void>, called: (what: string) => void) {
  const log = channel("log", append<string>())
  const before = node("before", (text: string, ctx) => {
    called("before")
    ctx.state.write(log, ["before"])
    return text
  })
  const wait = node("wait", async (text: string, ctx) => {
    called("wait")
    const stepped = await ctx.step("step", () => {
      called("step")
      return `${text}!`
    })
    await gate()
    ctx.state.write(log, ["waited"])
    return stepped
  })
  const after = node("after", (text: string, ctx) => {
    called("after")
    ctx.state.write(log, ["after"])
    return text.toUpperCase()
  })
  return workflow("gated", { state: [log] })
    .chain(before, wait, after)
    .build()
}
