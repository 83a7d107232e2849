/** Agents: models with instructions and tools, as nodes of a workflow and by themselves. */
export { type Agent, type AgentToolOptions, agent, conversation } from "./agent.ts"
export type { AgentLimits } from "./agent-limits.ts"
export type { AgentOptions, FailedCall, Fellows } from "./agent-options.ts"
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
