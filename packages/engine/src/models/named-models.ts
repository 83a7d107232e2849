/** Resolves a model reference to a model: a model object, a name such as `openai/gpt-5`, or a configuration. */
import { SuperstepError } from "../core/index.ts"
import { AUTO_MODEL, autoModel, MODEL_PROVIDERS } from "../packages/index.ts"
import { checkProviderLimit } from "./call/provider-limits.ts"
import { type Model, type ModelConfig, type ModelRef, withLimit, withSettings } from "./model.ts"
import { loadPackage, PROVIDERS, type ProviderAccess } from "./providers.ts"

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
  const name = ref === AUTO_MODEL ? (autoModel(access.env) ?? noKey()) : ref
  const config = filled(typeof name === "string" ? configOf(name) : name, access.env)
  const own = registered.get(config.provider)
  if (ref === UNNAMED_MODEL && own === undefined) throw modelMissing()
  const builtIn = PROVIDERS.get(config.provider)
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

/** The providers that `registerProvider` has added, by name. */
export function registeredProviders(): ReadonlyMap<string, MakeModel> {
  return registered
}

/** The provider prefixes that resolve in this process. */
export function knownProviders(): readonly string[] {
  return [...new Set([...PROVIDERS.keys(), ...registered.keys()])]
}

/** A model's own name may contain slashes. A provider with one model needs no slash. */
function configOf(name: string): ModelConfig {
  const slash = name.indexOf("/")
  const [provider, model] = slash < 0 ? [name, name] : [name.slice(0, slash), name.slice(slash + 1)]
  if (slash < 0 && provider !== "offline" && !registered.has(provider)) {
    const text = `"${name}" is not a model's name: write provider/model, such as "openai/gpt-5" or "ollama/llama3.2"; or "auto" or "offline".`
    throw new SuperstepError("MODEL_NAME_INVALID", text, { retryable: false })
  }
  if (provider.trim() === "" || model.trim() === "") {
    const text = `"${name}" is not a model's name: both parts of provider/model are needed.`
    throw new SuperstepError("MODEL_NAME_INVALID", text, { retryable: false })
  }
  return { provider, model }
}

function noKey(): never {
  const variables = MODEL_PROVIDERS.flatMap(({ variable, usual }) => (usual && variable) ?? [])
  const text = `The model auto needs a key: set one of ${variables.join(", ")}.`
  throw new SuperstepError("MODEL_KEY_MISSING", text, { retryable: false })
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
