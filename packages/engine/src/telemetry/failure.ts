/** What a span says about work that did not succeed. */
import { type Span, SpanStatusCode } from "@opentelemetry/api"
import type { ErrorData } from "../core/index.ts"
import { CANCEL_REASON, ERROR_TYPE } from "./attributes.ts"

export function markFailed(span: Span, { code, message }: ErrorData, type = code): void {
  span.setAttribute(ERROR_TYPE, type)
  span.recordException({ code, message })
  span.setStatus({ code: SpanStatusCode.ERROR, message: `${code}: ${message}` })
}

/** Somebody wanted it to stop: that is no error, and must not hide the one that may be behind it. */
export function markCancelled(span: Span, { message }: ErrorData): void {
  span.setAttribute(CANCEL_REASON, message)
}

/** Of a model that failed, what its provider or the network said: `HTTP_429`, `ECONNRESET`. Of all else, our code. */
export function errorType({ code, cause }: ErrorData): string {
  return code === "MODEL_FAILED" && cause !== undefined ? errorType(cause) : code
}

/** For work inside a task, which is not told whether it failed or was stopped. */
export function markEnded(span: Span, error: ErrorData | undefined): void {
  if (error === undefined) return
  if (error.code === "CANCELLED") markCancelled(span, error)
  else markFailed(span, error, errorType(error))
}
