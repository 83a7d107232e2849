/** What templates and conditions of a step see. */
import type { Json } from "../../core/index.ts"
import type { Scope } from "../expressions/index.ts"
import { stepValues } from "./step-values.ts"
import type { View } from "./view.ts"

/** The roots there are. */
export const ROOTS = ["steps", "input", "env", "run", "vars", "item", "index"] as const

export function scopeOf(view: View): Scope {
  return (root, path = []) => {
    switch (root) {
      case "steps":
        // Each by itself: a step's output is data where a reference goes into it, and what was said where it does not.
        return stepValues(view, [path])
      case "input":
        return view.prompt
      case "env":
        return named(view.steps.env, path)
      case "run":
        return { id: view.runId }
      case "vars":
        return { ...view.steps.vars }
      case "item":
        return view.items.at(-1)?.value
      case "index":
        return view.items.at(-1)?.index
      default:
        return undefined
    }
  }
}

/** Only what is asked for by name: the environment has secrets. */
function named(
  env: Readonly<Record<string, string | undefined>>,
  [name]: readonly (string | number)[],
): Json {
  const found: Record<string, Json> = Object.create(null)
  const value = name === undefined ? undefined : env[String(name)]
  if (value !== undefined) found[String(name)] = value
  return found
}
