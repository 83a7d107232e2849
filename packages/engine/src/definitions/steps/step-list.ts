/** The steps of a workflow as its nodes know them: their order, other names for them, and what templates can see beside. */
import type { Json } from "../../core/index.ts"
import { SecretVariables, type SecretVariablesOptions } from "../secret-variables.ts"
import { Layout, type LayoutEntry } from "./layout.ts"

export interface StepListOptions extends SecretVariablesOptions {
  /** Other paths for steps. */
  readonly aliases?: Readonly<Record<string, string>> | undefined
  /** What `$vars` has. */
  readonly vars?: Readonly<Record<string, Json>> | undefined
  /** What `$env` has. Default: the process's. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
}

export interface StepList {
  readonly layout: Layout
  readonly vars: Readonly<Record<string, Json>>
  readonly env: Readonly<Record<string, string | undefined>>
  readonly secrets: SecretVariables
}

export function stepList(entries: readonly LayoutEntry[], options: StepListOptions = {}): StepList {
  const { aliases, vars = {}, env = process.env } = options
  const secrets = new SecretVariables(options, env)
  return { layout: new Layout(entries, aliases), vars: { ...vars, ...secrets.shown }, env, secrets }
}
