/**
 * OpenTelemetry's names for generative AI: its semantic conventions 1.41, the last before they moved to a repository of
 * their own (open-telemetry/semantic-conventions-genai). They are still in development, so all of them are here.
 */
import type { Attributes } from "@opentelemetry/api"
import type { AnswerInfo, AskedModel, AskedSettings } from "../runtime/index.ts"
import { providerName } from "./provider-name.ts"

export const OPERATION = "gen_ai.operation.name"
const PROVIDER = "gen_ai.provider.name"
const REQUEST_MODEL = "gen_ai.request.model"
export const REQUEST_STREAM = "gen_ai.request.stream"
export const RESPONSE_MODEL = "gen_ai.response.model"
export const FIRST_CHUNK = "gen_ai.response.time_to_first_chunk"
export const OUTPUT_TYPE = "gen_ai.output.type"
export const TOKEN_KIND = "gen_ai.token.type"

export const AGENT_NAME = "gen_ai.agent.name"
export const AGENT_DESCRIPTION = "gen_ai.agent.description"

export const TOOL_NAME = "gen_ai.tool.name"
export const TOOL_TYPE = "gen_ai.tool.type"
export const TOOL_DESCRIPTION = "gen_ai.tool.description"
export const TOOL_CALL_ID = "gen_ai.tool.call.id"

/** What was said: only when it is asked for. */
export const INSTRUCTIONS = "gen_ai.system_instructions"
export const INPUT = "gen_ai.input.messages"
export const OUTPUT = "gen_ai.output.messages"
export const TOOL_ARGS = "gen_ai.tool.call.arguments"
export const TOOL_RESULT = "gen_ai.tool.call.result"

/** Not a convention's: how often a model was asked before there was an answer, and which time failed. */
export const ATTEMPTS = "superstep.model.attempts"
export const ATTEMPT = "superstep.model.attempt"
export const ATTEMPT_FAILED = "superstep.model.attempt_failed"

export function modelAttributes({ provider, model }: AskedModel): Attributes {
  return { [PROVIDER]: providerName(provider), [REQUEST_MODEL]: model }
}

/** Only what was set. */
export function settingsAttributes(settings: AskedSettings): Attributes {
  const { stopSequences } = settings
  return {
    "gen_ai.request.temperature": settings.temperature,
    "gen_ai.request.max_tokens": settings.maxOutputTokens,
    "gen_ai.request.top_p": settings.topP,
    "gen_ai.request.top_k": settings.topK,
    "gen_ai.request.presence_penalty": settings.presencePenalty,
    "gen_ai.request.frequency_penalty": settings.frequencyPenalty,
    "gen_ai.request.stop_sequences": stopSequences === undefined ? undefined : [...stopSequences],
    "gen_ai.request.seed": settings.seed,
  }
}

export function answerAttributes({ id, model, finish, tokens }: AnswerInfo): Attributes {
  return {
    "gen_ai.response.id": id,
    [RESPONSE_MODEL]: model,
    "gen_ai.response.finish_reasons": finish === undefined ? undefined : [finish],
    "gen_ai.usage.input_tokens": tokens?.input,
    "gen_ai.usage.output_tokens": tokens?.output,
    "gen_ai.usage.cache_read.input_tokens": tokens?.cacheRead,
    "gen_ai.usage.cache_creation.input_tokens": tokens?.cacheWrite,
    "gen_ai.usage.reasoning.output_tokens": tokens?.reasoning,
  }
}
