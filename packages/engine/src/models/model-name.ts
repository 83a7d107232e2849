/** How a model is called in records, prices and messages: `openai/gpt-5`. */
import type { Model } from "./model.ts"

/** `openai` of `openai.responses`: which of its interfaces a provider uses is not part of the name. */
export function providerOf({ provider }: Pick<Model, "provider">): string {
  const dot = provider.indexOf(".")
  return dot > 0 ? provider.slice(0, dot) : provider
}

export function modelName(model: Pick<Model, "provider" | "modelId">): string {
  return `${providerOf(model)}/${model.modelId}`
}
