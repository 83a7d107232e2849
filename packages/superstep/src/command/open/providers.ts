/** The known providers of models, what each needs, and whether a package is installed. */
import { createRequire } from "node:module"
import { join } from "node:path"
import type { Environment } from "../cli.ts"

export interface KnownProvider {
  readonly name: string
  readonly package: string
  /** The environment variable with its key, unless a model names another; none if it needs no key. */
  readonly variable?: string | undefined
}

export const KNOWN_PROVIDERS: readonly KnownProvider[] = [
  { name: "openai", package: "@ai-sdk/openai", variable: "OPENAI_API_KEY" },
  { name: "anthropic", package: "@ai-sdk/anthropic", variable: "ANTHROPIC_API_KEY" },
  { name: "azure", package: "@ai-sdk/azure", variable: "AZURE_API_KEY" },
  { name: "ollama", package: "ollama-ai-provider-v2" },
  { name: "openai-compatible", package: "@ai-sdk/openai-compatible" },
]

/** The model for a question without a file: one of the provider whose key is set. */
export function defaultModel(env: Environment): string {
  const isAnthropic = !hasKey(env, "OPENAI_API_KEY") && hasKey(env, "ANTHROPIC_API_KEY")
  return isAnthropic ? "anthropic/claude-sonnet-4-5" : "openai/gpt-5-mini"
}

export function hasKey(env: Environment, variable: string): boolean {
  return (env[variable] ?? "").trim() !== ""
}

/** Some provider's key is set. */
export function hasAnyKey(env: Environment): boolean {
  return KNOWN_PROVIDERS.some(({ variable }) => variable !== undefined && hasKey(env, variable))
}

/** The version of a package in the current folder, or where superstep is installed; undefined if it is missing. */
export function installedVersion(name: string, cwd: string): string | undefined {
  for (const from of [join(cwd, "package.json"), import.meta.url]) {
    const version = versionFrom(createRequire(from), name)
    if (version !== undefined) return version
  }
  return undefined
}

function versionFrom(require: NodeJS.Require, name: string): string | undefined {
  for (const folder of require.resolve.paths(name) ?? []) {
    try {
      // Some packages do not export their package.json, so it is loaded by its path.
      const { version } = require(join(folder, name, "package.json")) as { version?: unknown }
      if (typeof version === "string") return version
    } catch {
      // Not in this folder.
    }
  }
  return undefined
}
