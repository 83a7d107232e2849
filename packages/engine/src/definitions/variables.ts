/**
 * Variables of a definition: `${key}` in a steps file, and secrets. Prompts, outputs and questions are recorded, so templates
 * show a reference instead of a secret. Only the arguments of a tool step or node, which are recorded with the reference,
 * get the value when the tool is called. The value is never in a plan, a journal or an event.
 */
import { type Json, SuperstepError } from "../core/index.ts"
import type { Document, Path, Report } from "../document/index.ts"
import { isSecretName } from "../text/index.ts"

type Values = Readonly<Record<string, string | undefined>>

export interface SecretVariablesOptions {
  /** Names of variables whose values must not be recorded. */
  readonly secrets?: readonly string[] | undefined
  /** Their values. Default: environment variables of that name. `eject` never prints them. */
  readonly secretValues?: Values | undefined
}

/** Replaces a secret in recorded text. Nothing substitutes the value later, so a model gains nothing by writing it. */
export function secretReference(name: string): string {
  return `[secret:${name}]`
}

export function secretNotShown(written: string, name: string): string {
  return `${written} is a secret: it appears here as ${secretReference(name)}, because this is recorded. Only the \`args\` of a tool get its value.`
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

  get shown(): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.#names].map((name) => [name, secretReference(name)]))
  }

  has(name: string): boolean {
    return this.#names.has(name)
  }

  /** Throws if this process does not have it, as after a restart. */
  value(name: string): string {
    const value = this.#values[name] ?? this.#env[name]
    if (value !== undefined) return value
    throw new SuperstepError(
      "SECRET_MISSING",
      `The secret "${name}" has no value in this process, because secrets are not stored. Pass it again: --set-secret ${name}=…, or set the environment variable ${name} and add --set-secret ${name}.`,
      { retryable: false, fatal: true },
    )
  }
}

interface CallerVariables {
  readonly variables?: Readonly<Record<string, Json>> | undefined
  readonly secrets?: Readonly<Record<string, string>> | undefined
}

/** Moves variables that are named like a secret to the secrets. */
export function splitSecrets({ variables = {}, secrets = {} }: CallerVariables): Required<CallerVariables> {
  const isSecret = (entry: [string, Json]): entry is [string, string] =>
    typeof entry[1] === "string" && isSecretName(entry[0])
  const entries = Object.entries(variables)
  return {
    variables: Object.fromEntries(entries.filter((entry) => !isSecret(entry))),
    secrets: { ...Object.fromEntries(entries.filter(isSecret)), ...secrets },
  }
}

/**
 * The document with `${key}` replaced for the keys that have a value: `--set key=value`. Other names stay as written, because
 * shell commands contain them too. `$${key}` is the text `${key}`.
 */
export function withVariables(document: Document, values: CallerVariables, report: Report): Document {
  const { variables = {}, secrets = {} } = values
  if (Object.keys(variables).length === 0 && Object.keys(secrets).length === 0) return document
  const lookup = (name: string, at: Path): string | undefined => {
    if (Object.hasOwn(variables, name)) {
      const value = textOf(variables[name] as Json)
      if (!ACTIVE.test(value)) return value
      const message = `The value of ${name} contains {{ }}, \${ } or $env, which would be read as a template. Use {{ $vars.${name} }} instead of \${${name}}: it inserts the value unchanged.`
      report.error("VARIABLE_INVALID", message, document.place(at))
      return ""
    }
    if (!Object.hasOwn(secrets, name)) return undefined
    // The arguments of a tool are recorded with the reference; only the tool sees the value.
    if (at.includes("args")) return `{{ $vars.${name} }}`
    report.warning("SECRET_NOT_SHOWN", secretNotShown(`\${${name}}`, name), document.place(at))
    return secretReference(name)
  }
  return { ...document, data: filled(document.data, [], lookup) }
}

/** Template syntax. A value is data and must not become part of a template. */
const ACTIVE = /\{\{|\}\}|\$\{|\$\s*env\b/

type Lookup = (name: string, at: Path) => string | undefined

const VARIABLE = /(\$?)\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}\n]*))?\}/g

function filled(data: Json, at: Path, lookup: Lookup): Json {
  if (typeof data === "string") {
    if (!data.includes("${")) return data
    return data.replace(VARIABLE, (written, dollar: string, name: string, fallback?: string) => {
      const value = lookup(name, at)
      if (value === undefined) return written
      if (dollar !== "") return written.slice(1)
      return value === "" && fallback !== undefined ? fallback : value
    })
  }
  if (Array.isArray(data)) return data.map((one, i) => filled(one, [...at, i], lookup))
  if (typeof data !== "object" || data === null) return data
  return Object.fromEntries(
    Object.entries(data).map(([key, one]) => [key, filled(one as Json, [...at, key], lookup)]),
  )
}

function textOf(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value)
}
