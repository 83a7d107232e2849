/** Who calls a model, as stand-ins for models see it: `callModel` says it under `providerOptions.superstep`. */
import type { LanguageModelV3CallOptions } from "@ai-sdk/provider"

export interface CalledBy {
  /** Empty when the caller does not say. */
  readonly agent: string
  readonly ordinal?: number | undefined
}

export function calledBy({ providerOptions }: LanguageModelV3CallOptions): CalledBy {
  const { agent, ordinal } = providerOptions?.superstep ?? {}
  return {
    agent: typeof agent === "string" ? agent : "",
    ...(typeof ordinal === "number" && Number.isSafeInteger(ordinal) && ordinal >= 0 ? { ordinal } : {}),
  }
}
