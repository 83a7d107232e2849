/** Agents, models and toolsets of definition files. */

export { type AgentTextOptions, agentFunctions, agentText, type Instructions } from "./agent-functions.ts"
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
export { type ExpressionGuardrailOptions, expressionGuardrail } from "./guardrails.ts"
export {
  type ModelNames,
  modelArg,
  type PlannedAgent,
  type PlannedAgents,
  planAgents,
  toolsetAgent,
} from "./plan-agents.ts"
export { agentToolNames } from "./toolset-calls.ts"
