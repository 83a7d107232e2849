/** For tests of the CLI: a step that runs until it is stopped, after one that finishes. */
import { node, workflow } from "@superstep/engine"

export default workflow("slow")
  .chain(
    node("first", (text: string) => `${text} first`),
    node("hang", (text: string, ctx) => {
      if (process.env.SLOW_MODULE_GOES_ON !== undefined) return `${text}, then on`
      return new Promise<string>((_, reject) => {
        const alive = setInterval(() => undefined, 1_000)
        ctx.signal.addEventListener("abort", () => {
          clearInterval(alive)
          reject(new Error("stopped"))
        })
      })
    }),
  )
  .build()
