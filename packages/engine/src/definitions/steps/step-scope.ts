/** What templates and conditions of a step see. */
import type { Json } from "../../core/index.ts"
import type { Reference, Scope } from "../expressions/index.ts"
import { stepValues } from "./step-values.ts"
import type { View } from "./view.ts"

/** The roots there are. */
export const ROOTS = ["steps", "input", "env", "run", "vars", "item", "index"] as const

export function scopeOf(view: View, references: readonly Reference[]): Scope {
  const known = new Map<string, Json | undefined>()
  const paths = (root: string) => references.filter((one) => one.root === root).map(({ path }) => path)
  const value = (root: string): Json | undefined => {
    switch (root) {
      case "steps":
        return stepValues(view, paths(root))
      case "input":
        return view.prompt
      case "env":
        return named(view.steps.env, paths(root))
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
  return (root) => {
    if (!known.has(root)) known.set(root, value(root))
    return known.get(root)
  }
}

/** Only what is asked for by name: the environment has secrets. */
function named(
  env: Readonly<Record<string, string | undefined>>,
  paths: readonly (readonly (string | number)[])[],
): Json {
  const found: Record<string, Json> = Object.create(null)
  for (const [name] of paths) {
    const value = name === undefined ? undefined : env[String(name)]
    if (value !== undefined) found[String(name)] = value
  }
  return found
}
