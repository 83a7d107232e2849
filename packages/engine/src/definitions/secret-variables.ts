/**
 * Variables whose values must not be kept. Whatever a definition says with one of them is recorded: prompts, outputs,
 * questions. So templates show a reference instead of the value, and only the arguments of a tool step or node, which are
 * recorded with the reference, get the value when the tool is called. The value is never in a plan, a journal or an event.
 */
import { type Json, SuperstepError } from "../core/index.ts"
import { isSecretName } from "../text/index.ts"

type Values = Readonly<Record<string, string | undefined>>

export interface SecretVariablesOptions {
  /** Names of variables whose values must not be kept. */
  readonly secrets?: readonly string[] | undefined
  /** Their values. Default: variables of that name in the environment. Never printed by `eject`. */
  readonly secretValues?: Values | undefined
}

/** What is shown of a secret. Nothing replaces it by the value later: a model that writes it gets nowhere. */
export function secretReference(name: string): string {
  return `[secret:${name}]`
}

/** Warns where a secret is named in something that is recorded: in everything but the arguments of a tool. */
export function secretNotShown(written: string, name: string): string {
  return `${written} is a secret: here it is the text ${secretReference(name)}, because this is recorded. Only \`args\` of a tool get its value.`
}

export class SecretVariables {
  readonly #names: ReadonlySet<string>
  readonly #values: Values
  readonly #env: Values

  constructor({ secrets = [], secretValues = {} }: SecretVariablesOptions, env: Values) {
    this.#names = new Set(secrets)
    this.#values = secretValues
    this.#env = env
  }

  /** The references of all of them, by name. */
  get shown(): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.#names].map((name) => [name, secretReference(name)]))
  }

  has(name: string): boolean {
    return this.#names.has(name)
  }

  /** Throws where this process does not have it, as after a restart. */
  value(name: string): string {
    const value = this.#values[name] ?? this.#env[name]
    if (value !== undefined) return value
    throw new SuperstepError(
      "SECRET_MISSING",
      `The secret "${name}" has no value in this process, as secrets are not stored. Give it again: --set-secret ${name}=…, or set the environment variable ${name} and add --set-secret ${name}.`,
      { retryable: false, fatal: true },
    )
  }
}

/** Variables of a caller, told apart: what is named like a secret is one. */
export function toldApart({
  variables = {},
  secrets = {},
}: {
  readonly variables?: Readonly<Record<string, Json>> | undefined
  readonly secrets?: Readonly<Record<string, string>> | undefined
}): {
  readonly variables: Readonly<Record<string, Json>>
  readonly secrets: Readonly<Record<string, string>>
} {
  const plain: Record<string, Json> = {}
  const hidden: Record<string, string> = {}
  for (const [name, value] of Object.entries(variables)) {
    if (typeof value === "string" && isSecretName(name)) hidden[name] = value
    else plain[name] = value
  }
  return { variables: plain, secrets: { ...hidden, ...secrets } }
}
