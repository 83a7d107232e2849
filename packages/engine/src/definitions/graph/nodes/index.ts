/** The functions that create the nodes of a graph. Plans call them, and ejected code imports them. */
export {
  type ChatAgentOptions,
  type ChatToolsOptions,
  chatAgent,
  chatTools,
  type GraphHandoffOptions,
  graphHandoff,
} from "./chat-nodes.ts"
export { type GraphEdge, type GraphNodeOptions, graphFlowKey } from "./graph-node.ts"
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
export {
  chatChannels,
  type GraphInfo,
  type GraphInputOptions,
  type GraphOptions,
  graphChannels,
  graphInfo,
  graphText,
  leadsTo,
} from "./visit.ts"
export {
  type GraphFunctionOptions,
  type GraphStateOptions,
  type GraphToolOptions,
  type GraphWaitOptions,
  type GraphWorkOptions,
  graphAgent,
  graphFunction,
  graphState,
  graphTool,
  graphWait,
  graphWorkflow,
} from "./work-nodes.ts"
