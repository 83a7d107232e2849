/** TypeScript in, a graph with its functions out. */
export { all, any, type Join, quorum, settle } from "./joins.ts"
export {
  type Node,
  type NodePolicies,
  node,
  on,
  type SubWorkflowOptions,
  type TypedHandler,
} from "./node.ts"
export type { AnyNode, Failure, LimitNotice } from "./wiring.ts"
export type { Workflow } from "./workflow.ts"
export {
  type Case,
  type EdgeOptions,
  type LoopOptions,
  type WorkflowBuilder,
  type WorkflowOptions,
  workflow,
} from "./workflow-builder.ts"
