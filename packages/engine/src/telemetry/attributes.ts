/** Attributes of spans and metrics. `workflow.*` describes the definition, `superstep.*` what happened in a run. */
import type { Attributes, Span } from "@opentelemetry/api"
import type { ErrorData, Usage } from "../core/index.ts"
import { openTelemetry } from "./open-telemetry.ts"

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
