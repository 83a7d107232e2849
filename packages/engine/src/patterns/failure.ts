/** What counts as a failure that a pattern goes on from, and what it says. */
import { isSuperstepError } from "../core/index.ts"
import type { Context } from "../runtime/index.ts"

/** A limit, or the end of the run: nobody's model has failed, and nothing stands in for it. */
export function isNoFailure(error: unknown, ctx: Context): boolean {
  return ctx.signal.aborted || (isSuperstepError(error) && error.limit === true)
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
