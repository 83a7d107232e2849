/** Resolves a model reference to a model: a model object, a name such as `openai/gpt-5`, or a configuration. */
import { SuperstepError } from "../core/index.ts"
import { importOptional } from "../packages/index.ts"
import { checkProviderLimit } from "./call/provider-limits.ts"
import { type Model, type ModelConfig, type ModelRef, withLimit, withSettings } from "./model.ts"

export interface ResolveModelOptions {
  /** The environment with the API keys. Default: the environment of the process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /** Imports a provider's package, for programs that bundle their own. */
  readonly load?: ((name: string) => Promise<unknown>) | undefined
}

/** The model of an agent whose definition names none. It differs from `offline`, which a user chooses. */
export const UNNAMED_MODEL = "offline/unnamed"

export type MakeModel = (config: ModelConfig) => Model | Promise<Model>

const registered = new Map<string, MakeModel>()

/**
 * Registers a provider for `name/…` in this process; it overrides a built-in provider with that name. Returns a function
 * that unregisters it.
 */
export function registerProvider(name: string, make: MakeModel): () => void {
  if (name === "" || name.includes("/")) {
    const text = `"${name}" cannot be a provider's name: it must not be empty or contain a slash.`
    throw new SuperstepError("MODEL_NAME_INVALID", text, { retryable: false })
  }
  registered.set(name, make)
  return () => {
    if (registered.get(name) === make) registered.delete(name)
  }
}

export async function resolveModel(ref: ModelRef, options: ResolveModelOptions = {}): Promise<Model> {
  if (typeof ref !== "string" && "doGenerate" in ref) return checkVersion(ref)
  const access: ProviderAccess = { env: options.env ?? process.env, load: options.load ?? loadPackage }
  const config = filled(typeof ref === "string" ? configOf(ref) : ref, access.env)
  const own = registered.get(config.provider)
  if (ref === UNNAMED_MODEL && own === undefined) throw modelMissing()
  const builtIn = Object.hasOwn(PROVIDERS, config.provider) ? PROVIDERS[config.provider] : undefined
  if (own === undefined && builtIn === undefined) throw unknownProvider(config.provider)
  const model = checkVersion(await (own === undefined ? builtIn?.(config, access) : own(config)))
  const { settings, limits } = config
  if (limits !== undefined) checkProviderLimit(`${config.provider}/${config.model}`, limits)
  const set = settings === undefined ? model : withSettings(model, settings)
  return limits === undefined ? set : withLimit(set, limits)
}

const VARIABLE = /\$\{env\.([A-Za-z_][A-Za-z0-9_]*)\}/g

/** Replaces `${env.NAME}` in the server's URL and in the name of the key's variable. */
function filled(config: ModelConfig, env: ProviderAccess["env"]): ModelConfig {
  const { provider, model, baseUrl, tokenKey } = config
  const fill = (field: string, text: string) =>
    text.replace(VARIABLE, (_, name: string) => {
      const value = env[name]?.trim()
      if (value) return value
      const message = `The ${field} of ${provider}/${model} needs the environment variable ${name}: set it.`
      throw new SuperstepError("MODEL_CONFIG_INVALID", message, { retryable: false })
    })
  return {
    ...config,
    ...(baseUrl !== undefined && { baseUrl: fill("base URL", baseUrl) }),
    ...(tokenKey !== undefined && { tokenKey: variableName(tokenKey) ?? fill("token key", tokenKey) }),
  }
}

/** `NAME` for the string `${env.NAME}`; undefined for any other. */
export function variableName(text: string): string | undefined {
  return /^\s*\$\{env\.([A-Za-z_][A-Za-z0-9_]*)\}\s*$/.exec(text)?.[1]
}

/** The provider prefixes that resolve in this process. */
export function knownProviders(): readonly string[] {
  return [...new Set([...Object.keys(PROVIDERS), ...registered.keys()])]
}

/** A model's own name may contain slashes. A provider with one model needs no slash. */
function configOf(name: string): ModelConfig {
  const slash = name.indexOf("/")
  const [provider, model] = slash < 0 ? [name, name] : [name.slice(0, slash), name.slice(slash + 1)]
  if (slash < 0 && provider !== "offline" && !registered.has(provider)) {
    const text = `"${name}" is not a model's name: write provider/model, such as "openai/gpt-5" or "ollama/llama3.2"; or "offline".`
    throw new SuperstepError("MODEL_NAME_INVALID", text, { retryable: false })
  }
  if (provider.trim() === "" || model.trim() === "") {
    const text = `"${name}" is not a model's name: both parts of provider/model are needed.`
    throw new SuperstepError("MODEL_NAME_INVALID", text, { retryable: false })
  }
  return { provider, model }
}

/** The offline model answers only if a user chooses it. */
function modelMissing(): SuperstepError {
  const text = `The definition sets no model for this agent: write model: provider/model, or model: offline to try it without a language model.`
  return new SuperstepError("MODEL_MISSING", text, { retryable: false })
}

function unknownProvider(provider: string): SuperstepError {
  const known = knownProviders().join(", ")
  const text = `Unknown provider "${provider}"; known providers: ${known}. For a server with an OpenAI-compatible API use openai-compatible with its base URL, for anything else registerProvider.`
  return new SuperstepError("MODEL_PROVIDER_UNKNOWN", text, { retryable: false })
}

/** Throws if the value is not a model, or a model of another version. */
export function checkVersion(model: Model | undefined): Model {
  // The types promise a model, but an older package or a function without a return statement may break that promise.
  const version: unknown = model?.specificationVersion
  if (model !== undefined && version === "v3") return model
  const text = `A model must be a LanguageModelV3 of the AI SDK, not ${version === undefined ? "this" : `version ${version}`}. Use a provider package for @ai-sdk/provider 3.`
  throw new SuperstepError("MODEL_VERSION", text, { retryable: false })
}

interface ProviderAccess {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Imports a package by its name. */
  readonly load: (name: string) => Promise<unknown>
}

type Maker = (config: ModelConfig, access: ProviderAccess) => Promise<Model>

/**
 * The built-in providers. Their packages are optional and loaded on first use. Keys are passed from the environment to
 * the package only.
 */
const PROVIDERS: Readonly<Record<string, Maker>> = {
  async openai(config, access) {
    const apiKey = key(config, access, "OPENAI_API_KEY")
    const { createOpenAI } = await load(config, "@ai-sdk/openai", access)
    const url = baseUrl(config, access.env.OPENAI_BASE_URL)
    const openai = createOpenAI({ apiKey, ...url })
    // Servers other than OpenAI's own implement its older API.
    return url.baseURL === undefined ? openai(config.model) : openai.chat(config.model)
  },

  async anthropic(config, access) {
    const apiKey = key(config, access, "ANTHROPIC_API_KEY")
    const { createAnthropic } = await load(config, "@ai-sdk/anthropic", access)
    return createAnthropic({ apiKey, ...baseUrl(config, access.env.ANTHROPIC_BASE_URL) })(config.model)
  },

  async azure(config, access) {
    const apiKey = key(config, access, "AZURE_API_KEY")
    const resourceName = access.env.AZURE_RESOURCE_NAME
    if (config.baseUrl === undefined && !resourceName) {
      throw invalid(config, "needs a resource: set AZURE_RESOURCE_NAME, or a base URL")
    }
    const { createAzure } = await load(config, "@ai-sdk/azure", access)
    const where = config.baseUrl === undefined && resourceName ? { resourceName } : baseUrl(config)
    // The API that every deployment supports.
    return createAzure({ apiKey, ...where }).chat(config.model)
  },

  async ollama(config, access) {
    const { createOllama } = await load(config, "ollama-ai-provider-v2", access)
    const apiKey = config.tokenKey === undefined ? undefined : key(config, access, config.tokenKey)
    const headers = apiKey === undefined ? {} : { headers: { Authorization: `Bearer ${apiKey}` } }
    const url = config.baseUrl === undefined ? {} : { baseURL: ollamaUrl(config.baseUrl) }
    return createOllama({ ...url, ...headers })(config.model)
  },

  async "openai-compatible"(config, access) {
    if (config.baseUrl === undefined) throw invalid(config, "needs the server's base URL (base_url)")
    const name = "openai-compatible"
    const apiKey = config.tokenKey === undefined ? undefined : key(config, access, config.tokenKey)
    const { createOpenAICompatible } = await load(config, "@ai-sdk/openai-compatible", access)
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
    const { offlineModel } = await import("./offline/offline-model.ts")
    return offlineModel()
  },
}

/** The name is hidden from bundlers, because the packages are optional. */
function loadPackage(name: string): Promise<unknown> {
  return import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ name)
}

interface ProviderPackages {
  readonly "@ai-sdk/anthropic": typeof import("@ai-sdk/anthropic")
  readonly "@ai-sdk/azure": typeof import("@ai-sdk/azure")
  readonly "@ai-sdk/openai": typeof import("@ai-sdk/openai")
  readonly "@ai-sdk/openai-compatible": typeof import("@ai-sdk/openai-compatible")
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

/** Users configure the server's URL, or that of its OpenAI API; the package needs `/api`. */
function ollamaUrl(url: string): string {
  const bare = url.replace(/(?<!\/)\/+$/, "").replace(/\/(?:v1|api)$/, "")
  return `${bare}/api`
}

function invalid({ provider, model }: ModelConfig, why: string): SuperstepError {
  const text = `${provider}/${model} ${why}.`
  return new SuperstepError("MODEL_CONFIG_INVALID", text, { retryable: false })
}
