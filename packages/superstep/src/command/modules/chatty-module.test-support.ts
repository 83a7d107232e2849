/** For tests of the CLI: prints when it is loaded, and emits events until it is stopped. */
import { node, workflow } from "@superstep/engine"

// biome-ignore lint/suspicious/noConsole: this is what is tested.
console.log("loaded")

export default workflow("chatty")
  .start(
    node(
      "tell",
      (_: string, ctx) =>
        new Promise<string>((resolve) => {
          const tell = () => {
            if (ctx.signal.aborted) return resolve("stopped")
            ctx.log("info", "more")
            setImmediate(tell)
          }
          tell()
        }),
    ),
  )
  .build()
