/**
 * `@opentelemetry/api`, loaded by the first call of `telemetry()`. It is optional, and so never imported by name. Two
 * copies in one process share the registered providers.
 */
import type { SpanContext } from "@opentelemetry/api"
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

/** Undefined for a span that nobody records or passes on: it has no ids. */
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
