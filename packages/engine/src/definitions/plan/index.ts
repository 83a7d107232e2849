/** Definitions as calls: linked to workflows, or printed as TypeScript. */
export { eject } from "./eject.ts"
export { functionsFrom, type PlanFunction, type PlanFunctions } from "./functions.ts"
export { type Linked, link } from "./link.ts"
export {
  type Arg,
  type ArgObject,
  Call,
  call,
  callWith,
  later,
  type Plan,
  Ref,
  SUPERSTEPS,
} from "./plan.ts"
export { PlanWriter, WorkflowWriter } from "./plan-writer.ts"
export { reachable } from "./reachable.ts"
