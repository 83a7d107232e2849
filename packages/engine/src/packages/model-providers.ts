/** The providers of models that have a name: which package, key and server each needs. `auto` tries them in this order. */

export interface ModelProvider {
  /** What stands before the slash in `openai/gpt-5`. */
  readonly name: string
  readonly package: string
  /** The environment variable with its key, unless a model names another. Absent: it needs no key. */
  readonly variable?: string | undefined
  /** The address of its server, where the package does not know it. */
  readonly url?: string | undefined
  /** The host that receives its key. Absent: its users choose it. */
  readonly host?: string | undefined
  /** The model that `auto` stands for if the provider's key is set. Absent: none. */
  readonly usual?: string | undefined
}

const COMPATIBLE = "@ai-sdk/openai-compatible"

export const MODEL_PROVIDERS: readonly ModelProvider[] = [
  {
    name: "openai",
    package: "@ai-sdk/openai",
    variable: "OPENAI_API_KEY",
    host: "api.openai.com",
    usual: "gpt-5-mini",
  },
  {
    name: "anthropic",
    package: "@ai-sdk/anthropic",
    variable: "ANTHROPIC_API_KEY",
    host: "api.anthropic.com",
    usual: "claude-sonnet-4-5",
  },
  {
    name: "google",
    package: "@ai-sdk/google",
    variable: "GOOGLE_API_KEY",
    host: "generativelanguage.googleapis.com",
    usual: "gemini-2.5-flash",
  },
  {
    name: "mistral",
    package: "@ai-sdk/mistral",
    variable: "MISTRAL_API_KEY",
    host: "api.mistral.ai",
    usual: "mistral-small-latest",
  },
  { name: "xai", package: "@ai-sdk/xai", variable: "XAI_API_KEY", host: "api.x.ai", usual: "grok-4" },
  {
    name: "groq",
    package: "@ai-sdk/groq",
    variable: "GROQ_API_KEY",
    host: "api.groq.com",
    usual: "openai/gpt-oss-20b",
  },
  {
    name: "deepseek",
    package: "@ai-sdk/deepseek",
    variable: "DEEPSEEK_API_KEY",
    host: "api.deepseek.com",
    usual: "deepseek-chat",
  },
  {
    name: "openrouter",
    package: COMPATIBLE,
    variable: "OPENROUTER_API_KEY",
    url: "https://openrouter.ai/api/v1",
    host: "openrouter.ai",
    usual: "openrouter/auto",
  },
  {
    name: "nebius",
    package: COMPATIBLE,
    variable: "NEBIUS_API_KEY",
    url: "https://api.studio.nebius.com/v1",
    host: "api.studio.nebius.com",
  },
  { name: "azure", package: "@ai-sdk/azure", variable: "AZURE_API_KEY" },
  { name: "amazon-bedrock", package: "@ai-sdk/amazon-bedrock", variable: "AWS_BEARER_TOKEN_BEDROCK" },
  { name: "ollama", package: "ollama-ai-provider-v2" },
  // Docker Model Runner.
  { name: "dmr", package: COMPATIBLE, url: "http://127.0.0.1:12434/engines/v1" },
  { name: "openai-compatible", package: COMPATIBLE },
]

/** Stands for a model of the first provider whose key is set. */
export const AUTO_MODEL = "auto"

/** The name of the model that `auto` stands for: that of the first provider whose key is set. */
export function autoModel(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const first = MODEL_PROVIDERS.find(({ variable, usual }) => variable && usual && env[variable]?.trim())
  return first && `${first.name}/${first.usual}`
}
