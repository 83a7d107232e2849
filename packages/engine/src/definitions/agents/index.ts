/** Agents, models and toolsets of definition files. */

export {
  type AgentTextOptions,
  agentFunctions,
  agentText,
  type ExpressionGuardrailOptions,
  expressionGuardrail,
  type Instructions,
} from "./agent-functions.ts"
export {
  type AgentData,
  agentShape,
  agentsFileFields,
  modelShape,
  permissionsShape,
  providerShape,
  type ToolsetData,
  toolsetShape,
} from "./agent-shape.ts"
export { type CommandHook, type CommandHooksOptions, commandHooks, type ToolHooks } from "./command-hooks.ts"
export {
  type PlannedAgent,
  type PlannedAgents,
  planAgents,
  toolsetAgent,
} from "./plan-agents.ts"
export { type ModelNames, modelArg } from "./plan-models.ts"
export {
  type A2aToolOptions,
  a2aTool,
  type DocumentSearchOptions,
  documentSearch,
  type SearchedDocuments,
} from "./search-tools.ts"
export { agentToolNames } from "./tool-names.ts"
