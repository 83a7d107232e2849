/** The names of what spans and metrics say. `workflow.*` is about the definition, `superstep.*` about what happened. */
import type { Attributes } from "@opentelemetry/api"
import type { Usage } from "../core/index.ts"

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

export const CANCEL_REASON = "superstep.cancel.reason"
export const TOKEN_TYPE = "superstep.token.type"
/** OpenTelemetry's own name: dashboards group errors by it. */
export const ERROR_TYPE = "error.type"

/** Only what was counted: unknown is not zero. */
export function usageAttributes(usage: Usage): Attributes {
  return {
    "superstep.usage.input_tokens": usage.inputTokens,
    "superstep.usage.output_tokens": usage.outputTokens,
    "superstep.usage.model_calls": usage.modelCalls,
    "superstep.usage.tool_calls": usage.toolCalls,
    "superstep.usage.iterations": usage.iterations,
    "superstep.usage.usd": usage.usd,
  }
}
