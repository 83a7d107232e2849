/**
 * Secrets on the command line: `--set-secret`, and values of `--set` whose name looks like a secret. They are never
 * stored: a run records their names, and the user who resumes it provides the values again.
 */
import { isSecretName } from "@superstep/engine/text"
import type { Cli } from "../cli.ts"
import type { DefinitionFlags } from "../flags.ts"
import { usageError } from "../print/errors.ts"

type Flags = Pick<DefinitionFlags, "set" | "setSecret">

/** The origin of each secret by its name, as a run stores it. Persisted. */
export type SecretSources = Readonly<Record<string, "given" | "environment">>

interface SplitFlags {
  readonly variables: Readonly<Record<string, string>> | undefined
  readonly sources: SecretSources
}

/** Separates variables from secrets. */
export function splitSecrets({ set, setSecret = {} }: Flags): SplitFlags {
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

/** The values for this process. Throws if an environment variable is missing. */
export function secretsOf(
  { set = {}, setSecret = {} }: Flags,
  env: Cli["io"]["env"],
): Record<string, string> {
  const secrets = Object.fromEntries(Object.entries(set).filter(([name]) => isSecretName(name)))
  for (const [name, value] of Object.entries(setSecret)) {
    const found = value ?? env[name]
    if (found === undefined) {
      throw usageError(
        `The environment variable ${name} is not set. Set it, or write --set-secret ${name}=VALUE.`,
      )
    }
    secrets[name] = found
  }
  return secrets
}

/**
 * The secrets of a resumed run: those from the environment are read again, others must be provided again. If nothing is
 * executed, their names are enough.
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
    throw usageError(
      `Run ${id} was started with ${missing.length === 1 ? "the secret" : "the secrets"} ${names}. Secrets are not stored. Provide them again:\n` +
        `${again}\nWithout =VALUE the environment variable of that name is read.`,
    )
  }
  return { ...known, ...setSecret }
}
