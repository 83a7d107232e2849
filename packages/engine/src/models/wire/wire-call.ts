/**
 * A call in the form that a model's provider takes: schemas, files, reasoning, ids. Stand-ins that stand between the engine
 * and a provider, such as cassettes, get calls as they are, and adapt what they pass on: a recording does not depend on it.
 */
import type { LanguageModelV3CallOptions } from "@ai-sdk/provider"
import { adaptsCalls, type Model } from "../model.ts"
import { wirePrompt, wireThinking } from "./wire-prompt.ts"
import { wireSchemas } from "./wire-schema.ts"

export function wireCall(model: Model, options: LanguageModelV3CallOptions): LanguageModelV3CallOptions {
  if (adaptsCalls(model)) return options
  const { prompt, providerOptions } = wireThinking(
    model,
    wirePrompt(model, options.prompt),
    options.providerOptions,
  )
  const { responseFormat, tools } = options
  return {
    ...options,
    prompt: [...prompt],
    ...wireSchemas(model, { responseFormat, tools, providerOptions }),
  }
}
