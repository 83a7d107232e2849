/** The TypeScript builder: turns nodes and edges into a graph with its functions. */
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
