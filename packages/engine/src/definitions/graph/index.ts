/** The graph dialect: its files as plans, and the functions that make its nodes. */
import { functionsFrom, type PlanFunctions } from "../plan/index.ts"
import { chatAgent } from "./chat-agent.ts"
import { chatTools } from "./chat-tools.ts"
import { graphEnd } from "./end-node.ts"
import { chatChannels, graphChannels } from "./graph-channels.ts"
import { graphOf } from "./graph-info.ts"
import { graphText } from "./graph-text.ts"
import { graphHandoff } from "./handoff-node.ts"
import { graphMerge, graphParallel } from "./merge-node.ts"
import { graphStart } from "./start-node.ts"
import { graphState } from "./state-node.ts"
import { leadsTo } from "./token.ts"
import { graphConditional, graphDecision, graphFanout, graphLoop } from "./way-nodes.ts"
import { graphAgent, graphTool, graphWorkflow } from "./work-nodes.ts"

export { type ChatAgentOptions, chatAgent } from "./chat-agent.ts"
export { type ChatToolsOptions, chatTools } from "./chat-tools.ts"
export type { GraphEdge } from "./edges.ts"
export { type GraphEndOptions, graphEnd } from "./end-node.ts"
export { chatChannels, graphChannels } from "./graph-channels.ts"
export { type GraphInfo, type GraphOptions, graphOf } from "./graph-info.ts"
export type { GraphNode, GraphNodeOptions } from "./graph-node.ts"
export { graphShape } from "./graph-shape.ts"
export { graphText } from "./graph-text.ts"
export { type GraphHandoffOptions, graphHandoff } from "./handoff-node.ts"
export {
  type GraphMergeOptions,
  type GraphParallelOptions,
  graphMerge,
  graphParallel,
} from "./merge-node.ts"
export type { MergeValuesOptions } from "./merge-values.ts"
export type { GraphInputOptions } from "./node-input.ts"
export { planGraph } from "./plan-graph.ts"
export { type GraphStartOptions, graphStart } from "./start-node.ts"
export { type GraphStateOptions, graphState } from "./state-node.ts"
export { leadsTo } from "./token.ts"
export {
  type GraphConditionalOptions,
  type GraphDecisionOptions,
  type GraphFanoutOptions,
  type GraphLoopOptions,
  graphConditional,
  graphDecision,
  graphFanout,
  graphLoop,
} from "./way-nodes.ts"
export {
  type GraphToolOptions,
  type GraphWorkOptions,
  graphAgent,
  graphTool,
  graphWorkflow,
} from "./work-nodes.ts"

export const graphFunctions: PlanFunctions = functionsFrom("superstep/definitions", {
  chatAgent,
  chatChannels,
  chatTools,
  graphAgent,
  graphChannels,
  graphConditional,
  graphDecision,
  graphEnd,
  graphFanout,
  graphHandoff,
  graphLoop,
  graphMerge,
  graphOf,
  graphParallel,
  graphStart,
  graphState,
  graphText,
  graphTool,
  graphWorkflow,
  leadsTo,
})
