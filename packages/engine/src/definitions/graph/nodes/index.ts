/** The functions that create the nodes of a graph. Plans call them, and ejected code imports them. */
export { type ChatAgentOptions, type ChatToolsOptions, chatAgent, chatTools } from "./chat-nodes.ts"
export { chatChannels, type GraphInfo, type GraphOptions, graphChannels, graphInfo } from "./graph-info.ts"
export { type GraphEdge, type GraphNodeOptions, graphFlowKey } from "./graph-node.ts"
export { type GraphHandoffOptions, graphHandoff } from "./handoff-node.ts"
export {
  type GraphMergeOptions,
  type GraphParallelOptions,
  graphMerge,
  graphParallel,
  type MergeValuesOptions,
} from "./merge-nodes.ts"
export {
  type GraphConditionalOptions,
  type GraphDecisionOptions,
  type GraphEndOptions,
  type GraphFanoutOptions,
  type GraphLoopOptions,
  type GraphStartOptions,
  graphConditional,
  graphDecision,
  graphEnd,
  graphFanout,
  graphLoop,
  graphStart,
} from "./routing-nodes.ts"
export { type GraphInputOptions, graphText, leadsTo } from "./visit.ts"
export {
  type GraphStateOptions,
  type GraphToolOptions,
  type GraphWaitOptions,
  type GraphWorkOptions,
  graphAgent,
  graphState,
  graphTool,
  graphWait,
  graphWorkflow,
} from "./work-nodes.ts"
