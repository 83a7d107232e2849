/** How many model calls of an agent were answered so far: which reply of a script or a recording comes next. */
import type { Context } from "./context.ts"

export const ENDED_CALLS: unique symbol = Symbol.for("superstep.endedCalls") as never

/** In the whole run, without calls under way and those that a crash left without an outcome. */
export function endedCalls(ctx: Context, agent: string): number {
  const { [ENDED_CALLS]: ended } = ctx as { readonly [ENDED_CALLS]?: ((agent: string) => number) | undefined }
  return ended?.(agent) ?? ctx.usedBy(agent).modelCalls ?? 0
}
