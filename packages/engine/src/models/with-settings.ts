/** A model that answers with settings of its own, where a call does not say otherwise. */
import type { LanguageModelV3CallOptions } from "@ai-sdk/provider"
import type { Model, ModelSettings } from "./model.ts"

const SETTINGS: unique symbol = Symbol.for("superstep.settings") as never

type WithSettings = Model & { readonly [SETTINGS]?: ModelSettings }

/** The settings that a model has of its own, as far as we know them. */
export function settingsOf(model: Model): ModelSettings {
  return (model as WithSettings)[SETTINGS] ?? {}
}

export function withSettings(model: Model, settings: ModelSettings): Model {
  const filled = (options: LanguageModelV3CallOptions): LanguageModelV3CallOptions => {
    const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
    return {
      ...settings,
      ...(given as LanguageModelV3CallOptions),
      providerOptions: mergeProviders(settings.providerOptions, options.providerOptions),
    }
  }
  const own: WithSettings = {
    [SETTINGS]: { ...settingsOf(model), ...settings },
    specificationVersion: model.specificationVersion,
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    doGenerate: (options) => model.doGenerate(filled(options)),
    doStream: (options) => model.doStream(filled(options)),
  }
  return own
}

type ProviderOptions = NonNullable<LanguageModelV3CallOptions["providerOptions"]>

function mergeProviders(own: ProviderOptions = {}, given: ProviderOptions = {}): ProviderOptions {
  const all = { ...own }
  for (const [provider, values] of Object.entries(given)) all[provider] = { ...all[provider], ...values }
  return all
}
