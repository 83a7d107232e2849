/** Agents: models with instructions and tools, as nodes of a workflow and by themselves. */
export { type Agent, type AgentToolOptions, agent, conversation, isAgent } from "./agent.ts"
export type { AgentLimits } from "./agent-limits.ts"
export { type AgentNodeOptions, agentNode } from "./agent-node.ts"
export type { AgentOptions, FailedCall, Fellows } from "./agent-options.ts"
export {
  agentTurn,
  type CallToolsOptions,
  callTools,
  type MadeCalls,
  type Turn,
  type TurnOptions,
} from "./agent-turn.ts"
export {
  type ChooseMessages,
  type HistoryPolicy,
  type LastItems,
  lastItems,
  type Summarise,
  type SummariseOptions,
  summarise,
  type TokenWindow,
  tokenWindow,
} from "./history-policy.ts"
export { type ApprovalAnswer, type ApprovalRequest, approvalAnswer } from "./tool-approval.ts"
export { validHistory } from "./valid-history.ts"
export { type WorkflowToolOptions, workflowTool } from "./workflow-tool.ts"
