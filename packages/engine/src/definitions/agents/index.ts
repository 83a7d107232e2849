/** Agents, models and toolsets of definition files. */
export { agentFunctions } from "./agent-functions.ts"
export {
  type AgentData,
  agentShape,
  modelShape,
  permissionsShape,
  providerShape,
} from "./agent-shape.ts"
export { type AgentTextOptions, agentText, type Instructions } from "./agent-text.ts"
export { type ModelNames, modelArg } from "./model-args.ts"
export { type PlannedAgent, type PlannedAgents, planAgents } from "./plan-agents.ts"
export { toolsetAgent } from "./toolset-agent.ts"
export { type ToolsetData, toolsetShape } from "./toolset-shape.ts"
