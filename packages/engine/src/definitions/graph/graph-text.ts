/** Instructions with templates: what they show is the state when the agent is asked. */
import type { Json } from "../../core/index.ts"
import type { Context } from "../../runtime/index.ts"
import { template } from "../expressions/index.ts"
import type { GraphInfo } from "./graph-info.ts"
import { Visit } from "./visit.ts"

export function graphText(graph: GraphInfo, text: string): (input: unknown, ctx: Context) => string {
  const read = template(text, "graph")
  return (input, ctx) => {
    const visit = new Visit(graph, ctx.node, { from: ctx.node, go: [] }, ctx)
    const brought = typeof input === "string" ? { output: input as Json } : {}
    return read.render(visit.scope(read.references, brought))
  }
}
