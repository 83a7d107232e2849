/** Attempts with backoff, a failure that becomes a value, one that goes along an error edge. */
import { type Failure, node, workflow } from "superstep"
import type { Scenario, Watch } from "./scenario.ts"

export function retries(watch: Watch): Scenario {
  const start = node("start", (n: number, ctx) => {
    watch(ctx)
    return n
  })
  const flaky = node({
    id: "flaky",
    retry: { attempts: 30, delay: 1, backoff: "exponential", maxDelay: 4, jitter: 0.5 },
    run: async (n: number, ctx) => {
      watch(ctx)
      const squared = await ctx.step("square", () => {
        watch(ctx, "square")
        return n * n
      })
      if (ctx.attempt < 3) throw new Error("not yet")
      ctx.use({ modelCalls: 1 })
      return `flaky ${squared}`
    },
  })
  const settling = node({
    id: "settling",
    retry: { attempts: 2, delay: 0, on: ["NEVER"] },
    onError: "settle",
    run: (_: number, ctx): string => {
      watch(ctx)
      throw new Error("settled")
    },
  })
  const failing = node("failing", async (_: number, ctx): Promise<string> => {
    watch(ctx)
    await ctx.sleep(1)
    throw new Error("caught")
  })
  const caught = node("caught", ({ node: id, error, input }: Failure, ctx) => {
    watch(ctx)
    return `${id} failed with ${input}: ${error.message}`
  })
  const shown = node("shown", ({ ok }: { ok: boolean }, ctx) => {
    watch(ctx)
    return `settled ${ok}`
  })
  const flow = workflow("retries")
    .start(start)
    .fanOut(start, [flaky, settling, failing])
    .edge(settling, shown)
    .onError(failing, caught)
    .build()
  return { workflow: flow, input: 7, unordered: true }
}
