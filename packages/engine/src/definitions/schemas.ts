/** The JSON Schemas of the dialects, for editors: made from what the definitions are checked with. */
import { jsonSchemaFor } from "./document/index.ts"
import { graphShape } from "./graph/index.ts"
import { stepsShape } from "./steps/index.ts"

export const jsonSchemas: Readonly<Record<"steps" | "graph", () => Record<string, unknown>>> = {
  steps: () => jsonSchemaFor(stepsShape, { id: "superstep-steps.json", title: "Superstep steps" }),
  graph: () => jsonSchemaFor(graphShape, { id: "superstep-graph.json", title: "Superstep graph" }),
}
