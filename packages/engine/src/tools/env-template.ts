/** Texts with `${env.NAME}` in them: keys stay in the environment until the moment they are sent. */
import { SuperstepError } from "../core/index.ts"

export type Environment = Readonly<Record<string, string | undefined>>

const VARIABLE = /\$\{env\.([A-Za-z_][A-Za-z0-9_]*)\}/g

/** The names that a text asks for. */
export function variablesIn(template: string): readonly string[] {
  return [...template.matchAll(VARIABLE)].map((match) => match[1] ?? "")
}

export function fillTemplate(template: string, env: Environment): string {
  return template.replace(VARIABLE, (_, name: string) => readVariable(name, env))
}

/** Its value, without the line break that a file leaves at its end. */
export function readVariable(name: string, env: Environment): string {
  const value = env[name]?.trim()
  if (value !== undefined && value !== "") return value
  throw new SuperstepError("KEY_MISSING", `Set the environment variable ${name}: a request needs it.`, {
    retryable: false,
  })
}
