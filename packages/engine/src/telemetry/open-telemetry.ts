/**
 * `@opentelemetry/api`, loaded by the first call of `telemetry()`. It is optional, and so never imported by name. Two
 * copies in one process share the registered providers.
 */
import type { Meter, SpanContext, Tracer } from "@opentelemetry/api"
import { requireFrom, requireOptional } from "../packages/index.ts"

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
