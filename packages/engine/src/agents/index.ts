/** Agents: models with instructions and tools, as nodes of a workflow and by themselves. */
export {
  type AgentNodeOptions,
  agent,
  agentNode,
  conversation,
  isAgent,
  type JudgeOptions,
  judge,
} from "./agent.ts"
export { type WorkflowToolOptions, workflowTool } from "./agent-as-tool.ts"
export type {
  Agent,
  AgentContext,
  AgentOptions,
  AgentRefs,
  AgentRunOptions,
  AgentToolOptions,
  FailedCall,
  HandedOver,
  Handoff,
  HandoffRefs,
} from "./agent-core.ts"
export {
  type AgentLimits,
  type StopCondition,
  type StopInfo,
  type StopPredicate,
  type StopWhen,
  stepCount,
  toolCalled,
} from "./agent-limits.ts"
export {
  agentTurn,
  type CallToolsOptions,
  callTools,
  type MadeCalls,
  type Turn,
  type TurnOptions,
} from "./agent-turn.ts"
export { backgroundAgents } from "./background-agents.ts"
export { validHistory } from "./conversation.ts"
export type { HistoryBounds } from "./fit-messages.ts"
export {
  type Guardrail,
  type GuardrailSubject,
  type GuardrailTrip,
  isTrip,
  type OnTrip,
  type PatternGuardrailOptions,
  patternGuardrail,
} from "./guardrails.ts"
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
export type {
  AfterModel,
  AfterToolCall,
  AgentEnd,
  BeforeAgent,
  BeforeModel,
  HookInfo,
  HookOptions,
  Middleware,
  OnToolCall,
  PrepareInfo,
  ReplyInfo,
  RequestInfo,
  ToolCallInfo,
  ToolResultInfo,
} from "./middleware.ts"
export { type ModelRoute, modelPicker, pickedModel, rotateModels, routeModels } from "./model-choice.ts"
export type { StepPlan, ToolChoice } from "./step-plan.ts"
export type { OnTruncated } from "./structured-output.ts"
export { type ApprovalAnswer, type ApprovalRequest, approvalAnswer } from "./tool-approval.ts"
