/** What a span says about work that did not succeed. */
import { type Span, SpanStatusCode } from "@opentelemetry/api"
import type { ErrorData } from "../core/index.ts"
import { CANCEL_REASON, ERROR_TYPE } from "./attributes.ts"

export function markFailed(span: Span, { code, message }: ErrorData): void {
  span.setAttribute(ERROR_TYPE, code)
  span.recordException({ code, message })
  span.setStatus({ code: SpanStatusCode.ERROR, message: `${code}: ${message}` })
}

/** Somebody wanted it to stop: that is no error, and must not hide the one that may be behind it. */
export function markCancelled(span: Span, { message }: ErrorData): void {
  span.setAttribute(CANCEL_REASON, message)
}
