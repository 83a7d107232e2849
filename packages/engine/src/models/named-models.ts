/** From what a user writes to a model: an object as it is, `openai/gpt-5`, or a configuration. */
import { SuperstepError } from "../core/index.ts"
import type { Model, ModelConfig, ModelRef } from "./model.ts"
import { loadPackage, PROVIDERS, type ProviderAccess } from "./provider-packages.ts"
import { withSettings } from "./with-settings.ts"

export interface ResolveModelOptions {
  /** Where keys are looked up. Default: the environment of the process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /** How a provider's package is imported, for programs that bring theirs along. */
  readonly load?: ((name: string) => Promise<unknown>) | undefined
}

export type MakeModel = (config: ModelConfig) => Model | Promise<Model>

const registered = new Map<string, MakeModel>()

/** Makes `name/…` a model's name in this process, before a built-in provider of that name. Gives the way back. */
export function registerProvider(name: string, make: MakeModel): () => void {
  if (name === "" || name.includes("/")) {
    const text = `"${name}" cannot be a provider's name: it must not be empty or have a slash.`
    throw new SuperstepError("MODEL_NAME_INVALID", text, { retryable: false })
  }
  registered.set(name, make)
  return () => {
    if (registered.get(name) === make) registered.delete(name)
  }
}

export async function resolveModel(ref: ModelRef, options: ResolveModelOptions = {}): Promise<Model> {
  if (typeof ref !== "string" && "doGenerate" in ref) return checkVersion(ref)
  const config = typeof ref === "string" ? configOf(ref) : ref
  const access: ProviderAccess = { env: options.env ?? process.env, load: options.load ?? loadPackage }
  const own = registered.get(config.provider)
  const builtIn = Object.hasOwn(PROVIDERS, config.provider) ? PROVIDERS[config.provider] : undefined
  if (own === undefined && builtIn === undefined) throw unknownProvider(config.provider)
  const model = checkVersion(await (own === undefined ? builtIn?.(config, access) : own(config)))
  return config.settings === undefined ? model : withSettings(model, config.settings)
}

/** The model's own name may have slashes. A provider that has one model goes by its own name. */
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

function unknownProvider(provider: string): SuperstepError {
  const known = [...new Set([...Object.keys(PROVIDERS), ...registered.keys()])].join(", ")
  const text = `There is no provider "${provider}"; there are ${known}. For a server that speaks OpenAI's interface use openai-compatible with its base URL, for anything else registerProvider.`
  return new SuperstepError("MODEL_PROVIDER_UNKNOWN", text, { retryable: false })
}

/** Throws where it is no model, or one of another version. */
export function checkVersion(model: Model | undefined): Model {
  // The types promise it; what an older package made, or a handler without a return, does not keep it.
  const version: unknown = model?.specificationVersion
  if (model !== undefined && version === "v3") return model
  const text = `A model must be a LanguageModelV3 of the AI SDK, not ${version === undefined ? "this" : `version ${version}`}. Use a provider package for @ai-sdk/provider 3.`
  throw new SuperstepError("MODEL_VERSION", text, { retryable: false })
}
