/**
 * A recorded step whose failure is a result too: after a crash it has failed the same way, and what followed from it
 * still does.
 */
import type { Context } from "../../runtime/index.ts"
import { isNoFailure, messageOf } from "../failure.ts"

export type Tried<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly reason: string }

export async function tried<T>(ctx: Context, name: string, run: () => Promise<T>): Promise<Tried<T>> {
  return await ctx.step(name, async (): Promise<Tried<T>> => {
    try {
      return { ok: true, value: await run() }
    } catch (error) {
      if (isNoFailure(error, ctx)) throw error
      return { ok: false, reason: messageOf(error) }
    }
  })
}
