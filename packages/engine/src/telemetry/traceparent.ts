/** W3C traceparent strings, `00-<trace>-<span>-<flags>`: how a span is named in journals and messages. */
import { isSpanContextValid, type SpanContext } from "@opentelemetry/api"

const TRACEPARENT = /^00-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})$/

/** Undefined for a span that nobody records or passes on: it has no ids. */
export function formatTraceparent(span: SpanContext): string | undefined {
  if (!isSpanContextValid(span)) return undefined
  const flags = (span.traceFlags & 0xff).toString(16).padStart(2, "0")
  return `00-${span.traceId}-${span.spanId}-${flags}`
}

/** Undefined for anything that is not exactly a traceparent of version 00. */
export function parseTraceparent(text: string): SpanContext | undefined {
  const [, traceId = "", spanId = "", flags = ""] = TRACEPARENT.exec(text) ?? []
  const span = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) }
  return isSpanContextValid(span) ? span : undefined
}
