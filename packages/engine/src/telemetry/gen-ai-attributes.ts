/**
 * OpenTelemetry's names for generative AI: its semantic conventions 1.41, the last before they moved to a repository of
 * their own (open-telemetry/semantic-conventions-genai). They are still in development, so all of them are here.
 */
import type { Attributes } from "@opentelemetry/api"
import type { AnswerInfo, AskedModel, AskedSettings, RemoteAgentInfo } from "../runtime/index.ts"

export const OPERATION = "gen_ai.operation.name"
const PROVIDER = "gen_ai.provider.name"
const REQUEST_MODEL = "gen_ai.request.model"
export const REQUEST_STREAM = "gen_ai.request.stream"
export const RESPONSE_MODEL = "gen_ai.response.model"
export const FIRST_CHUNK = "gen_ai.response.time_to_first_chunk"
export const OUTPUT_TYPE = "gen_ai.output.type"
export const TOKEN_KIND = "gen_ai.token.type"
export const CONVERSATION = "gen_ai.conversation.id"

export const AGENT_NAME = "gen_ai.agent.name"
export const AGENT_DESCRIPTION = "gen_ai.agent.description"

export const TOOL_NAME = "gen_ai.tool.name"
export const TOOL_TYPE = "gen_ai.tool.type"
export const TOOL_DESCRIPTION = "gen_ai.tool.description"
export const TOOL_CALL_ID = "gen_ai.tool.call.id"

/** Content, recorded only when the user asks for it. */
export const INSTRUCTIONS = "gen_ai.system_instructions"
export const INPUT = "gen_ai.input.messages"
export const OUTPUT = "gen_ai.output.messages"
export const TOOL_ARGS = "gen_ai.tool.call.arguments"
export const TOOL_RESULT = "gen_ai.tool.call.result"

/** Our own: the number of attempts of a call, and the attempt that failed. */
export const ATTEMPTS = "superstep.model.attempts"
export const ATTEMPT = "superstep.model.attempt"
export const ATTEMPT_FAILED = "superstep.model.attempt_failed"

export function modelAttributes({ provider, model }: AskedModel): Attributes {
  return { [PROVIDER]: providerName(provider), [REQUEST_MODEL]: model }
}

/** Of an agent that lives elsewhere. The address has neither path nor query. */
export function remoteAttributes({ provider, url }: RemoteAgentInfo): Attributes {
  const { hostname, port, protocol } = new URL(url)
  return {
    [PROVIDER]: provider,
    "server.address": hostname,
    "server.port": port === "" ? (protocol === "https:" ? 443 : 80) : Number(port),
  }
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

/** OpenTelemetry names by the prefix of an AI SDK provider; the longest matching prefix counts. */
const KNOWN: Readonly<Record<string, string>> = {
  openai: "openai",
  anthropic: "anthropic",
  azure: "azure.ai.openai",
  "azure-openai": "azure.ai.openai",
  "amazon-bedrock": "aws.bedrock",
  bedrock: "aws.bedrock",
  google: "gcp.gen_ai",
  "google.generative-ai": "gcp.gemini",
  "google.vertex": "gcp.vertex_ai",
  vertex: "gcp.vertex_ai",
  cohere: "cohere",
  deepseek: "deepseek",
  groq: "groq",
  mistral: "mistral_ai",
  moonshotai: "moonshot_ai",
  perplexity: "perplexity",
  xai: "x_ai",
}

/** `azure.chat` becomes `azure.ai.openai`. An unknown provider keeps its own name, without the interface after the dot. */
export function providerName(provider: string): string {
  const [first = "", second] = provider.split(".")
  return KNOWN[`${first}.${second}`] ?? KNOWN[first] ?? (first === "" ? provider : first)
}
