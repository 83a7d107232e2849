/** Instructions with templates: what they show depends on the step that the agent is at work in. */
import type { Context } from "../../runtime/index.ts"
import { template } from "../expressions/index.ts"
import { scopeOf } from "./step-scope.ts"
import type { View } from "./view.ts"

/** By the signal of the attempt: it is the same wherever in the task an agent is at work. */
export const looking = new WeakMap<AbortSignal, View>()

/** Outside of any step, what templates name is missing, and so is empty. */
export function stepsText(text: string): (input: unknown, ctx: Context) => string {
  const read = template(text, "steps")
  return (input, ctx) => {
    const view = looking.get(ctx.signal)
    if (view !== undefined) return read.render(scopeOf(view))
    return read.render((root) => (root === "input" && typeof input === "string" ? input : undefined))
  }
}
