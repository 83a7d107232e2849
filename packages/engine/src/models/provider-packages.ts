/**
 * The providers that are known by name. Their packages are optional: each is loaded when a model of it is named, and a
 * missing one says what to install. Keys come from the environment and go to the package only.
 */
import { SuperstepError } from "../core/index.ts"
import type { Model, ModelConfig } from "./model.ts"

export interface ProviderAccess {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Imports a package by its name. */
  readonly load: (name: string) => Promise<unknown>
}

type Maker = (config: ModelConfig, access: ProviderAccess) => Promise<Model>

export const PROVIDERS: Readonly<Record<string, Maker>> = {
  async openai(config, access) {
    const apiKey = key(config, access, "OPENAI_API_KEY")
    const { createOpenAI } = await from<typeof import("@ai-sdk/openai")>("@ai-sdk/openai", access)
    const url = baseUrl(config, access.env.OPENAI_BASE_URL)
    const openai = createOpenAI({ apiKey, ...url })
    // Servers that are not OpenAI's own speak its older interface.
    return url.baseURL === undefined ? openai(config.model) : openai.chat(config.model)
  },

  async anthropic(config, access) {
    const apiKey = key(config, access, "ANTHROPIC_API_KEY")
    const { createAnthropic } = await from<typeof import("@ai-sdk/anthropic")>("@ai-sdk/anthropic", access)
    return createAnthropic({ apiKey, ...baseUrl(config, access.env.ANTHROPIC_BASE_URL) })(config.model)
  },

  async azure(config, access) {
    const apiKey = key(config, access, "AZURE_API_KEY")
    const resourceName = access.env.AZURE_RESOURCE_NAME
    if (config.baseUrl === undefined && !resourceName) {
      throw invalid(config, "needs its resource: set AZURE_RESOURCE_NAME, or give a base URL")
    }
    const { createAzure } = await from<typeof import("@ai-sdk/azure")>("@ai-sdk/azure", access)
    const where = config.baseUrl === undefined && resourceName ? { resourceName } : baseUrl(config)
    // The interface that every deployment speaks.
    return createAzure({ apiKey, ...where }).chat(config.model)
  },

  async ollama(config, access) {
    const { createOllama } = await from<typeof import("ollama-ai-provider-v2")>(
      "ollama-ai-provider-v2",
      access,
    )
    const apiKey = config.tokenKey === undefined ? undefined : key(config, access, config.tokenKey)
    const headers = apiKey === undefined ? {} : { headers: { Authorization: `Bearer ${apiKey}` } }
    const url = config.baseUrl === undefined ? {} : { baseURL: ollamaUrl(config.baseUrl) }
    return createOllama({ ...url, ...headers })(config.model)
  },

  async "openai-compatible"(config, access) {
    if (config.baseUrl === undefined) throw invalid(config, "needs a base URL (base_url): that of the server")
    const name = "openai-compatible"
    const apiKey = config.tokenKey === undefined ? undefined : key(config, access, config.tokenKey)
    const { createOpenAICompatible } = await from<typeof import("@ai-sdk/openai-compatible")>(
      "@ai-sdk/openai-compatible",
      access,
    )
    const provider = createOpenAICompatible({
      name,
      baseURL: config.baseUrl,
      includeUsage: true,
      supportsStructuredOutputs: true,
      ...(apiKey === undefined ? {} : { apiKey }),
    })
    return provider(config.model)
  },

  async offline() {
    const { offlineModel } = await import("./offline/index.ts")
    return offlineModel()
  },
}

/** Written out, so that bundlers see them. */
const IMPORTS: Readonly<Record<string, () => Promise<unknown>>> = {
  "@ai-sdk/openai": () => import("@ai-sdk/openai"),
  "@ai-sdk/anthropic": () => import("@ai-sdk/anthropic"),
  "@ai-sdk/azure": () => import("@ai-sdk/azure"),
  "@ai-sdk/openai-compatible": () => import("@ai-sdk/openai-compatible"),
  "ollama-ai-provider-v2": () => import("ollama-ai-provider-v2"),
}

export function loadPackage(name: string): Promise<unknown> {
  return IMPORTS[name]?.() ?? import(name)
}

async function from<Package>(name: string, { load }: ProviderAccess): Promise<Package> {
  try {
    return (await load(name)) as Package
  } catch (error) {
    const { code, message } = error as { code?: unknown; message?: unknown }
    const isMissing =
      /MODULE_NOT_FOUND/.test(String(code)) || /cannot find (?:package|module)/i.test(String(message))
    const text =
      isMissing && String(message).includes(name)
        ? `The package ${name} is not installed. Install it: npm i ${name}`
        : `The package ${name} could not be loaded. Check its version: npm ls ${name}`
    throw new SuperstepError("MODEL_PROVIDER_MISSING", text, { cause: error, retryable: false })
  }
}

function key({ provider, model, tokenKey }: ModelConfig, { env }: ProviderAccess, usual: string): string {
  const variable = tokenKey ?? usual
  const value = env[variable]?.trim()
  if (value) return value
  const text = `${provider}/${model} needs a key: set the environment variable ${variable}.`
  throw new SuperstepError("MODEL_KEY_MISSING", text, { retryable: false })
}

function baseUrl(config: ModelConfig, usual?: string | undefined): { baseURL?: string } {
  const baseURL = config.baseUrl ?? usual
  return baseURL === undefined || baseURL === "" ? {} : { baseURL }
}

/** People give the server's address, or that of its OpenAI interface; the package wants `/api`. */
function ollamaUrl(url: string): string {
  const bare = url.replace(/(?<!\/)\/+$/, "").replace(/\/(?:v1|api)$/, "")
  return `${bare}/api`
}

function invalid({ provider, model }: ModelConfig, why: string): SuperstepError {
  const text = `${provider}/${model} ${why}.`
  return new SuperstepError("MODEL_CONFIG_INVALID", text, { retryable: false })
}
