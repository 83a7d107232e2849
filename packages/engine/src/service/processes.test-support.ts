/**
 * Processes on one store. A process here is a runtime with a clock and a machine of its own: one whose clock stands
 * still is dead for the others.
 */
import { type Context, node, Runtime, type RuntimeOptions, type Store, workflow } from "../index.ts"
import { manualClock } from "../testing/index.ts"

export const double = workflow("double")
  .start(node("double", (n: number) => n * 2))
  .build()
export const ask = workflow("ask")
  .start(node("ask", async (n: number, ctx: Context) => `${n}: ${await ctx.ask<string>("Continue?")}`))
  .build()
export const nap = workflow("nap")
  .start(
    node("nap", async (n: number, ctx: Context) => {
      await ctx.sleep(60_000)
      return n + 1
    }),
  )
  .build()

let machines = 0

export function processOn(store: Store, options: Partial<RuntimeOptions> = {}) {
  const clock = manualClock(1_000_000)
  const machine = `machine ${++machines}`
  const runtime = new Runtime({ store, workflows: [double, ask, nap], clock, machine, ...options })
  return { runtime, clock }
}

/** Moves the clocks together. */
export async function pass(ms: number, ...clocks: { advance(ms: number): Promise<void> }[]) {
  for (let left = ms; left > 0; left -= 500)
    for (const clock of clocks) await clock.advance(Math.min(500, left))
}
