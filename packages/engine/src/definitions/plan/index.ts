/** Definitions as calls: linked to workflows, or printed as TypeScript. */
export { eject } from "./eject.ts"
export { type Linked, link } from "./link.ts"
export {
  type Arg,
  type ArgObject,
  Call,
  call,
  callWith,
  definedArgs,
  functionsFrom,
  later,
  type Plan,
  type PlanFunction,
  type PlanFunctions,
  PlanWriter,
  Ref,
  reachable,
  SUPERSTEPS,
  WorkflowWriter,
} from "./plan.ts"
