/** TypeScript in, a graph with its functions out. */
export type {
  Batch,
  ConcurrencyLimit,
  Debounce,
  FlowOptions,
  KeyOf,
  NodeFlowOptions,
  NodeKeyOf,
  RateLimit,
  Throttle,
} from "./flow-options.ts"
export { node, on } from "./node.ts"
export type { Case, EdgeOptions, LoopOptions, SubWorkflowOptions, WorkflowOptions } from "./options.ts"
export {
  type AnyNode,
  all,
  any,
  type Failure,
  type Join,
  type LimitNotice,
  type Node,
  type NodePolicies,
  quorum,
  settle,
  type TypedHandler,
  type UnfinishedAgent,
} from "./wiring.ts"
export type { Workflow } from "./workflow.ts"
export { type WorkflowBuilder, workflow } from "./workflow-builder.ts"
