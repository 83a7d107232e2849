/** The providers of models that are known by name: what each needs to answer. */

export interface KnownProvider {
  readonly name: string
  readonly package: string
  /** The environment variable that has its key, unless a model names another; none: it needs no key. */
  readonly variable?: string | undefined
}

export const KNOWN_PROVIDERS: readonly KnownProvider[] = [
  { name: "openai", package: "@ai-sdk/openai", variable: "OPENAI_API_KEY" },
  { name: "anthropic", package: "@ai-sdk/anthropic", variable: "ANTHROPIC_API_KEY" },
  { name: "azure", package: "@ai-sdk/azure", variable: "AZURE_API_KEY" },
  { name: "ollama", package: "ollama-ai-provider-v2" },
  { name: "openai-compatible", package: "@ai-sdk/openai-compatible" },
]

export function hasKey(env: Readonly<Record<string, string | undefined>>, variable: string): boolean {
  return (env[variable] ?? "").trim() !== ""
}

/** Some provider's key is there. */
export function hasAnyKey(env: Readonly<Record<string, string | undefined>>): boolean {
  return KNOWN_PROVIDERS.some(({ variable }) => variable !== undefined && hasKey(env, variable))
}
