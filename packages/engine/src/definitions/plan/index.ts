/** Definitions as calls: linked to workflows, or printed as TypeScript. */
export { eject } from "./eject.ts"
export {
  type Arg,
  type ArgObject,
  Call,
  call,
  callWith,
  definedArgs,
  functionsFrom,
  type Linked,
  later,
  link,
  type Plan,
  type PlanFunction,
  type PlanFunctions,
  type PlannedImport,
  PlanWriter,
  Ref,
  reachable,
  SUPERSTEPS,
  WorkflowWriter,
} from "./plan.ts"
