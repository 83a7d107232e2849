/** Attributes of spans and metrics. `workflow.*` describes the definition, `superstep.*` what happened in a run. */
import type { Attributes, Meter, Span, SpanContext, Tracer } from "@opentelemetry/api"
import type { ErrorData, Usage } from "../core/index.ts"
import { requireFrom, requireOptional } from "../packages/index.ts"
import type { AnswerInfo, AskedModel, AskedSettings, RemoteAgentInfo } from "../runtime/index.ts"

export const WORKFLOW_NAME = "workflow.name"
export const WORKFLOW_SIGNATURE = "workflow.signature"
export const WORKFLOW_NODES = "workflow.nodes"
export const WORKFLOW_EDGES = "workflow.edges"

export const RUN_ID = "superstep.run.id"
export const RUN_PATH = "superstep.run.path"
export const RUN_NESTED = "superstep.run.nested"
export const RUN_RESUMED = "superstep.run.resumed"
export const RUN_STATUS = "superstep.run.status"

export const NODE_ID = "superstep.node.id"
export const NODE_KIND = "superstep.node.kind"

export const TASK_ID = "superstep.task.id"
export const TASK_ATTEMPT = "superstep.task.attempt"
export const TASK_SUPERSTEP = "superstep.task.superstep"
export const TASK_OUTCOME = "superstep.task.outcome"

export const EDGE_GROUP_KIND = "superstep.edge_group.kind"
export const EDGE_GROUP_TARGETS = "superstep.edge_group.targets"
export const EDGE_GROUP_OUTCOME = "superstep.edge_group.outcome"

export const MESSAGE_SOURCE = "superstep.message.source"
export const MESSAGE_TARGET = "superstep.message.target"
export const MESSAGE_OUTCOME = "superstep.message.outcome"

const CANCEL_REASON = "superstep.cancel.reason"
export const TOKEN_TYPE = "superstep.token.type"
/** OpenTelemetry's own name: dashboards group errors by it. */
export const ERROR_TYPE = "error.type"

/** Only what was counted: unknown is not zero. */
export function usageAttributes(usage: Usage): Attributes {
  return {
    "superstep.usage.input_tokens": usage.inputTokens,
    "superstep.usage.output_tokens": usage.outputTokens,
    "superstep.usage.cached_input_tokens": usage.cachedInputTokens,
    "superstep.usage.cache_write_tokens": usage.cacheWriteTokens,
    "superstep.usage.reasoning_tokens": usage.reasoningTokens,
    "superstep.usage.model_calls": usage.modelCalls,
    "superstep.usage.tool_calls": usage.toolCalls,
    "superstep.usage.iterations": usage.iterations,
    "superstep.usage.usd": usage.usd,
  }
}

export function markFailed(span: Span, { code, message }: ErrorData, type = code): void {
  span.setAttribute(ERROR_TYPE, type)
  span.recordException({ code, message })
  span.setStatus({ code: openTelemetry().SpanStatusCode.ERROR, message: `${code}: ${message}` })
}

/** A cancellation is not an error, and must not hide an earlier one. */
export function markCancelled(span: Span, { message }: ErrorData): void {
  span.setAttribute(CANCEL_REASON, message)
}

/** For a failed model call, the code of its provider or of the network (`HTTP_429`, `ECONNRESET`); otherwise ours. */
export function errorType({ code, cause }: ErrorData): string {
  return (code === "MODEL_FAILED" || code === "CONTEXT_OVERFLOW") && cause !== undefined
    ? errorType(cause)
    : code
}

/** For work inside a task: only the error tells whether the work failed or was cancelled. */
export function markEnded(span: Span, error: ErrorData | undefined): void {
  if (error === undefined) return
  if (error.code === "CANCELLED") markCancelled(span, error)
  else markFailed(span, error, errorType(error))
}

// OpenTelemetry's names for generative AI: its semantic conventions 1.41, the last before they moved to a repository of
// their own (open-telemetry/semantic-conventions-genai). They are still in development, so all of them are here.

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

/** For a remote agent. The address has neither path nor query. */
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

// `@opentelemetry/api`, loaded by the first call of `telemetry()`. It is optional, and so never imported by name. Two
// copies in one process share the registered providers.

export type OpenTelemetryApi = Pick<
  typeof import("@opentelemetry/api"),
  "context" | "isSpanContextValid" | "metrics" | "SpanKind" | "SpanStatusCode" | "trace" | "ValueType"
>

let loaded: OpenTelemetryApi | undefined

export function openTelemetry(): OpenTelemetryApi {
  loaded ??= requireOptional<OpenTelemetryApi>(
    { name: "@opentelemetry/api", neededBy: "superstep/telemetry" },
    requireFrom(import.meta.url),
  )
  return loaded
}

/** Uses this copy instead of the installed one. */
export function setOpenTelemetry(api: OpenTelemetryApi): void {
  loaded = api
}

/** W3C traceparent, `00-<trace>-<span>-<flags>`: how journals and messages name a span. */
const TRACEPARENT = /^00-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})$/

/** Undefined for a span that is neither recorded nor propagated: it has no ids. */
export function formatTraceparent(span: SpanContext): string | undefined {
  if (!openTelemetry().isSpanContextValid(span)) return undefined
  const flags = (span.traceFlags & 0xff).toString(16).padStart(2, "0")
  return `00-${span.traceId}-${span.spanId}-${flags}`
}

/** Undefined for anything that is not exactly a traceparent of version 00. */
export function parseTraceparent(text: string): SpanContext | undefined {
  const [, traceId = "", spanId = "", flags = ""] = TRACEPARENT.exec(text) ?? []
  const span = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) }
  return openTelemetry().isSpanContextValid(span) ? span : undefined
}

// The metrics. Their attributes name workflows and nodes, never runs: the number of series stays small.

type Instruments = ReturnType<typeof makeInstruments>

/** Where spans and metrics go. */
export interface TelemetrySink {
  readonly tracer: Tracer
  readonly instruments: Instruments
  /** Whether messages get spans of their own. */
  readonly messages: boolean
  /** Whether spans contain prompts, answers, arguments and results. */
  readonly content: boolean
  readonly now: () => number
}

/** From less than a millisecond of plain code to agents that work for an hour. */
const MILLISECONDS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 900_000,
  3_600_000,
]

/** The conventions' own: for calls of models, in seconds, and for their tokens. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
const TOKENS = [
  1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
]

export function makeInstruments(meter: Meter) {
  const counter = (name: string, unit: string, description: string) =>
    meter.createCounter(name, { unit, description, valueType: openTelemetry().ValueType.INT })
  const duration = (name: string, description: string) =>
    meter.createHistogram(name, {
      unit: "ms",
      description,
      advice: { explicitBucketBoundaries: MILLISECONDS },
    })
  const seconds = (name: string, description: string) =>
    meter.createHistogram(name, { unit: "s", description, advice: { explicitBucketBoundaries: SECONDS } })
  return {
    tasks: counter("superstep.tasks", "{attempt}", "Attempts at tasks that ended, by outcome."),
    taskDuration: duration("superstep.task.duration", "How long an attempt took, waiting included."),
    taskRetries: counter(
      "superstep.task.retries",
      "{retry}",
      "Failed attempts that are followed by another.",
    ),
    taskQueueTime: duration("superstep.task.queue_time", "How long a task waited for a free place."),
    runs: counter("superstep.runs", "{run}", "Runs that ended, by status."),
    runDuration: duration("superstep.run.duration", "How long a run took in this process."),
    tokens: counter("superstep.tokens", "{token}", "Tokens that runs used."),
    cost: meter.createCounter("superstep.cost", { unit: "USD", description: "What runs cost." }),
    modelTokens: meter.createHistogram("gen_ai.client.token.usage", {
      unit: "{token}",
      description: "Number of input and output tokens used.",
      valueType: openTelemetry().ValueType.INT,
      advice: { explicitBucketBoundaries: TOKENS },
    }),
    modelDuration: seconds("gen_ai.client.operation.duration", "GenAI operation duration."),
    modelFirstChunk: seconds(
      "gen_ai.client.operation.time_to_first_chunk",
      "Time to receive the first chunk of a streamed answer.",
    ),
  }
}
