/** A model as tracing sees it: the same one, with what its provider says about each answer told on the way. */
import type { LanguageModelV3StreamPart, LanguageModelV3Usage } from "@ai-sdk/provider"
import type { Model, ModelCall } from "../models/index.ts"
import { settingsOf } from "../models/with-settings.ts"
import type { AnswerTokens, AskedModel, ModelCallTelemetry } from "../runtime/index.ts"

/** The settings of a call come before the model's own. */
export function askedModel(model: Model, call: ModelCall): AskedModel {
  return { provider: model.provider, model: model.modelId, settings: { ...settingsOf(model), ...call } }
}

export function observedModel(model: Model, call: ModelCall, telemetry: ModelCallTelemetry): Model {
  const asked = askedModel(model, call)
  return {
    specificationVersion: model.specificationVersion,
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    async doGenerate(options) {
      const result = await telemetry.attempt(asked, false, () => model.doGenerate(options))
      const { response, finishReason, usage } = result
      telemetry.answered({
        ...namesOf(response),
        finish: finishReason.raw ?? finishReason.unified,
        tokens: tokensOf(usage),
      })
      return result
    },
    async doStream(options) {
      const result = await telemetry.attempt(asked, true, () => model.doStream(options))
      return { ...result, stream: observedStream(result.stream, telemetry) }
    },
  }
}

/** Reads no faster than it is read, and breaks off when it is left. */
function observedStream(
  stream: ReadableStream<LanguageModelV3StreamPart>,
  telemetry: ModelCallTelemetry,
): ReadableStream<LanguageModelV3StreamPart> {
  const reader = stream.getReader()
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await reader.read()
        if (done) return controller.close()
        tell(value, telemetry)
        controller.enqueue(value)
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}

function tell(part: LanguageModelV3StreamPart, telemetry: ModelCallTelemetry): void {
  switch (part.type) {
    case "stream-start":
      // The package's own, before anything has come.
      return
    case "response-metadata":
      telemetry.began()
      telemetry.answered(namesOf(part))
      return
    case "finish":
      telemetry.answered({
        finish: part.finishReason.raw ?? part.finishReason.unified,
        tokens: tokensOf(part.usage),
      })
      return
    default:
      telemetry.began()
  }
}

function namesOf(response: { readonly id?: unknown; readonly modelId?: unknown } | undefined) {
  const { id, modelId } = response ?? {}
  return {
    ...(typeof id === "string" && id !== "" ? { id } : {}),
    ...(typeof modelId === "string" && modelId !== "" ? { model: modelId } : {}),
  }
}

/** As far as they are numbers: what providers give is not checked before. */
function tokensOf(usage: LanguageModelV3Usage | undefined): AnswerTokens {
  const { inputTokens, outputTokens } = usage ?? {}
  return {
    input: sum(inputTokens?.total, inputTokens?.noCache, inputTokens?.cacheRead, inputTokens?.cacheWrite),
    cacheRead: count(inputTokens?.cacheRead),
    cacheWrite: count(inputTokens?.cacheWrite),
    output: sum(outputTokens?.total, outputTokens?.text, outputTokens?.reasoning),
    reasoning: count(outputTokens?.reasoning),
  }
}

/** The total, or the sum of its parts where only these were told. */
function sum(total: unknown, ...parts: unknown[]): number | undefined {
  const told = parts.map(count).filter((value) => value !== undefined)
  return count(total) ?? (told.length === 0 ? undefined : told.reduce((all, value) => all + value, 0))
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined
}
