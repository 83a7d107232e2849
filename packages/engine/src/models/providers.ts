/**
 * The built-in providers of models. Their packages are optional and loaded on first use. Keys are passed from the
 * environment to the package only.
 */
import { SuperstepError } from "../core/index.ts"
import { importOptional, MODEL_PROVIDERS, type ModelProvider } from "../packages/index.ts"
import type { Model, ModelConfig } from "./model.ts"

export interface ProviderAccess {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Imports a package by its name. */
  readonly load: (name: string) => Promise<unknown>
}

type Make = (config: ModelConfig, access: ProviderAccess) => Promise<Model>

/** A provider with a package of its own, which knows its server. */
function packaged<Name extends keyof ProviderPackages>(
  name: Name,
  create: (
    module: ProviderPackages[Name],
    options: { readonly apiKey: string; readonly baseURL?: string },
  ) => (model: string) => Model,
): Make {
  return async (config, access) => {
    const apiKey = key(config, access)
    const module = await load(config, name, access)
    return create(module, { apiKey, ...baseUrl(config) })(config.model)
  }
}

/** A server with OpenAI's API. */
const compatible: Make = async (config, access) => {
  const { url: baseURL = invalid(config, "needs the server's base URL (base_url)"), variable } =
    config.baseUrl === undefined
      ? infoOf(config.provider)
      : { url: config.baseUrl, variable: infoOf(config.provider).variable }
  const hasKey = config.tokenKey !== undefined || variable !== undefined
  const apiKey = hasKey ? key(config, access) : undefined
  if (config.api === "responses") {
    const { createOpenAI } = await load(config, "@ai-sdk/openai", access)
    return createOpenAI({ name: config.provider, baseURL, apiKey: apiKey ?? "none" }).responses(config.model)
  }
  const { createOpenAICompatible } = await load(config, "@ai-sdk/openai-compatible", access)
  const provider = createOpenAICompatible({
    name: config.provider,
    baseURL,
    includeUsage: true,
    supportsStructuredOutputs: true,
    ...(apiKey === undefined ? {} : { apiKey }),
  })
  return provider(config.model)
}

const openai: Make = async (config, access) => {
  const apiKey = key(config, access)
  const { createOpenAI } = await load(config, "@ai-sdk/openai", access)
  const url = baseUrl(config, access.env.OPENAI_BASE_URL)
  const provider = createOpenAI({ apiKey, ...url })
  // Most other servers implement OpenAI's older API.
  const { api = url.baseURL === undefined ? "responses" : "chat" } = config
  return api === "responses" ? provider.responses(config.model) : provider.chat(config.model)
}

const anthropic: Make = async (config, access) => {
  const apiKey = key(config, access)
  const { createAnthropic } = await load(config, "@ai-sdk/anthropic", access)
  return createAnthropic({ apiKey, ...baseUrl(config, access.env.ANTHROPIC_BASE_URL) })(config.model)
}

const azure: Make = async (config, access) => {
  const apiKey = key(config, access)
  const resourceName = access.env.AZURE_RESOURCE_NAME
  if (config.baseUrl === undefined && !resourceName) {
    invalid(config, "needs a resource: set AZURE_RESOURCE_NAME, or a base URL")
  }
  const { createAzure } = await load(config, "@ai-sdk/azure", access)
  const where = config.baseUrl === undefined && resourceName ? { resourceName } : baseUrl(config)
  const provider = createAzure({ apiKey, ...where })
  // Every deployment supports the older API.
  return config.api === "responses" ? provider.responses(config.model) : provider.chat(config.model)
}

/** With a key of Bedrock, or with access keys of AWS, which sign the requests. */
const bedrock: Make = async (config, access) => {
  const { env } = access
  const region = env.AWS_REGION ?? env.AWS_DEFAULT_REGION
  if (config.baseUrl === undefined && !region) invalid(config, "needs a region: set AWS_REGION")
  const { createAmazonBedrock } = await load(config, "@ai-sdk/amazon-bedrock", access)
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env
  const isSigned = config.tokenKey === undefined && !env.AWS_BEARER_TOKEN_BEDROCK
  const credentials =
    isSigned && accessKeyId && secretAccessKey
      ? {
          accessKeyId,
          secretAccessKey,
          ...(env.AWS_SESSION_TOKEN ? { sessionToken: env.AWS_SESSION_TOKEN } : {}),
        }
      : { apiKey: key(config, access) }
  return createAmazonBedrock({ region: region ?? "", ...credentials, ...baseUrl(config) })(config.model)
}

const ollama: Make = async (config, access) => {
  const { createOllama } = await load(config, "ollama-ai-provider-v2", access)
  const apiKey = config.tokenKey === undefined ? undefined : key(config, access)
  const headers = apiKey === undefined ? {} : { headers: { Authorization: `Bearer ${apiKey}` } }
  const url = config.baseUrl === undefined ? {} : { baseURL: ollamaUrl(config.baseUrl) }
  return createOllama({ ...url, ...headers })(config.model)
}

/** What makes the models of a provider of `MODEL_PROVIDERS`. */
const MAKERS: Readonly<Record<string, Make>> = {
  openai,
  anthropic,
  google: packaged("@ai-sdk/google", (module, options) => module.createGoogleGenerativeAI(options)),
  mistral: packaged("@ai-sdk/mistral", (module, options) => module.createMistral(options)),
  xai: packaged("@ai-sdk/xai", (module, options) => module.createXai(options)),
  groq: packaged("@ai-sdk/groq", (module, options) => module.createGroq(options)),
  deepseek: packaged("@ai-sdk/deepseek", (module, options) => module.createDeepSeek(options)),
  azure,
  "amazon-bedrock": bedrock,
  ollama,
}

async function offline(): Promise<Model> {
  const { offlineModel } = await import("./offline/offline-model.ts")
  return offlineModel()
}

export const PROVIDERS: ReadonlyMap<string, Make> = new Map<string, Make>([
  ...MODEL_PROVIDERS.map(({ name }): [string, Make] => [name, MAKERS[name] ?? compatible]),
  ["offline", offline],
])

function infoOf(provider: string): Partial<ModelProvider> {
  return MODEL_PROVIDERS.find(({ name }) => name === provider) ?? {}
}

/** The name is hidden from bundlers, because the packages are optional. */
export function loadPackage(name: string): Promise<unknown> {
  return import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ name)
}

interface ProviderPackages {
  readonly "@ai-sdk/amazon-bedrock": typeof import("@ai-sdk/amazon-bedrock")
  readonly "@ai-sdk/anthropic": typeof import("@ai-sdk/anthropic")
  readonly "@ai-sdk/azure": typeof import("@ai-sdk/azure")
  readonly "@ai-sdk/deepseek": typeof import("@ai-sdk/deepseek")
  readonly "@ai-sdk/google": typeof import("@ai-sdk/google")
  readonly "@ai-sdk/groq": typeof import("@ai-sdk/groq")
  readonly "@ai-sdk/mistral": typeof import("@ai-sdk/mistral")
  readonly "@ai-sdk/openai": typeof import("@ai-sdk/openai")
  readonly "@ai-sdk/openai-compatible": typeof import("@ai-sdk/openai-compatible")
  readonly "@ai-sdk/xai": typeof import("@ai-sdk/xai")
  readonly "ollama-ai-provider-v2": typeof import("ollama-ai-provider-v2")
}

function load<Name extends keyof ProviderPackages>(
  { provider, model }: ModelConfig,
  name: Name,
  access: ProviderAccess,
): Promise<ProviderPackages[Name]> {
  const neededBy = `The model ${provider}/${model}`
  return importOptional({ name, neededBy, code: "MODEL_PROVIDER_MISSING" }, access.load)
}

function key({ provider, model, tokenKey }: ModelConfig, { env }: ProviderAccess): string {
  const variable = tokenKey ?? infoOf(provider).variable ?? ""
  const value = env[variable]?.trim()
  if (value) return value
  const text = `${provider}/${model} needs a key: set the environment variable ${variable}.`
  throw new SuperstepError("MODEL_KEY_MISSING", text, { retryable: false })
}

function baseUrl(config: ModelConfig, usual?: string | undefined): { baseURL?: string } {
  const baseURL = config.baseUrl ?? usual
  return baseURL === undefined || baseURL === "" ? {} : { baseURL }
}

/** Users configure the server's URL, or that of its OpenAI API; the package needs `/api`. */
function ollamaUrl(url: string): string {
  const bare = url.replace(/(?<!\/)\/+$/, "").replace(/\/(?:v1|api)$/, "")
  return `${bare}/api`
}

function invalid({ provider, model }: ModelConfig, why: string): never {
  const text = `${provider}/${model} ${why}.`
  throw new SuperstepError("MODEL_CONFIG_INVALID", text, { retryable: false })
}
