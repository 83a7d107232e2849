/** What templates and conditions of a step see. */
import type { Json } from "../../core/index.ts"
import { isSecretName } from "../../text/index.ts"
import type { Scope } from "../expressions/index.ts"
import { type SecretVariables, secretReference } from "../secret-variables.ts"
import { stepValues } from "./step-values.ts"
import type { View } from "./view.ts"

/** The roots there are. */
export const ROOTS = ["steps", "input", "env", "run", "vars", "item", "index"] as const

/** `revealed`: gives the values of secrets, for what is not recorded, and takes down which ones. */
export function scopeOf(view: View, revealed?: string[]): Scope {
  const { env, vars, secrets } = view.steps
  return (root, path = []) => {
    switch (root) {
      case "steps":
        // Each by itself: a step's output is data where a reference goes into it, and what was said where it does not.
        return stepValues(view, [path])
      case "input":
        return view.prompt
      case "env":
        return named(env, path, revealed)
      case "run":
        return { id: view.runId }
      case "vars":
        return withSecret(vars, path, secrets, revealed)
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
  revealed: string[] | undefined,
): Json {
  const found: Record<string, Json> = Object.create(null)
  const value = name === undefined ? undefined : env[String(name)]
  if (value === undefined) return found
  const isSecret = isSecretName(String(name))
  if (isSecret) revealed?.push(value)
  found[String(name)] = isSecret && revealed === undefined ? secretReference(`env.${name}`) : value
  return found
}

/** Only the one that is asked for by name. */
function withSecret(
  vars: Readonly<Record<string, Json>>,
  [name]: readonly (string | number)[],
  secrets: SecretVariables,
  revealed: string[] | undefined,
): Json {
  if (revealed === undefined || name === undefined || !secrets.has(String(name))) return { ...vars }
  const value = secrets.value(String(name))
  revealed.push(value)
  return { ...vars, [String(name)]: value }
}
