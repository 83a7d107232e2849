/**
 * Secrets of the command line: `--set-secret`, and values of `--set` that are named like a secret. They are never stored:
 * a run carries their names, and whoever goes on with it gives them again.
 */
import { isSecretName } from "@superstep/engine/text"
import type { Cli } from "./cli.ts"
import type { DefinitionFlags } from "./common-flags.ts"
import { usageError } from "./usage-error.ts"

type Flags = Pick<DefinitionFlags, "set" | "setSecret">

/** Where a secret came from, by its name: what a run carries of it. */
export type SecretSources = Readonly<Record<string, "given" | "environment">>

export interface ToldApart {
  readonly variables: Readonly<Record<string, string>> | undefined
  readonly sources: SecretSources
}

export function toldApart({ set, setSecret = {} }: Flags): ToldApart {
  const plain: Record<string, string> = {}
  const sources: Record<string, "given" | "environment"> = {}
  for (const [name, value] of Object.entries(set ?? {})) {
    if (isSecretName(name)) sources[name] = "given"
    else if (!Object.hasOwn(setSecret, name)) plain[name] = value
  }
  for (const [name, value] of Object.entries(setSecret)) {
    sources[name] = value === undefined ? "environment" : "given"
  }
  return { variables: Object.keys(plain).length === 0 ? undefined : plain, sources }
}

/** The values, for one process. Throws where the environment does not have one. */
export function secretsOf(
  { set = {}, setSecret = {} }: Flags,
  env: Cli["io"]["env"],
): Record<string, string> {
  const secrets = Object.fromEntries(Object.entries(set).filter(([name]) => isSecretName(name)))
  for (const [name, value] of Object.entries(setSecret)) {
    const found = value ?? env[name]
    if (found === undefined) {
      throw usageError(
        `--set-secret ${name} reads the environment variable ${name}, which is not set. Set it, or write --set-secret ${name}=VALUE.`,
      )
    }
    secrets[name] = found
  }
  return secrets
}

/**
 * The flags of a run that goes on: secrets from the environment are read again, others must be given again. Where nothing is
 * run their names are enough.
 */
export function withSecretsOf(
  sources: SecretSources,
  flags: Flags,
  { id, isRun = true }: { readonly id: string; readonly isRun?: boolean | undefined },
): Flags["setSecret"] {
  const { set = {}, setSecret = {} } = flags
  const known: Record<string, string | undefined> = {}
  const missing: string[] = []
  for (const [name, source] of Object.entries(sources)) {
    if (Object.hasOwn(set, name) || Object.hasOwn(setSecret, name)) continue
    if (!isRun) known[name] = ""
    else if (source === "environment") known[name] = undefined
    else missing.push(name)
  }
  if (missing.length > 0) {
    const names = missing.map((name) => `"${name}"`).join(", ")
    const again = missing.map((name) => `--set-secret ${name}=VALUE`).join(" ")
    const [what, it] = missing.length === 1 ? ["secret", "It is"] : ["secrets", "They are"]
    throw usageError(
      `Run ${id} was started with the ${what} ${names}. ${it} not stored: give the value again.\n${again}\n` +
        "Without =VALUE it is read from the environment variable of that name.",
    )
  }
  return { ...known, ...setSecret }
}
