/** The graph dialect: its schema, its compiler, and the functions that its plans call. */
import { functionsFrom, type PlanFunctions } from "../plan/index.ts"
import * as nodes from "./nodes/index.ts"

export { graphJsonSchema } from "./graph-json-schema.ts"
export { graphFields } from "./graph-shape.ts"
export { planGraph } from "./plan-graph.ts"

export const graphFunctions: PlanFunctions = functionsFrom("superstep/definitions", { ...nodes })
