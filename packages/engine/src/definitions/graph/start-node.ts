/** Where a run begins: what it was asked goes into the state. */
import { inputMessages } from "../../agents/conversation.ts"
import type { Json, NodeId } from "../../core/index.ts"
import { textOf } from "../expressions/index.ts"
import { followAll, type GraphEdge } from "./edges.ts"
import { GOAL, MESSAGES, OUTPUTS, STEPS } from "./graph-channels.ts"
import type { GraphInfo } from "./graph-info.ts"
import { type GraphNode, leave, rawNode } from "./graph-node.ts"
import { Visit } from "./visit.ts"

export interface GraphStartOptions {
  readonly edges: readonly GraphEdge[]
  /** It is a node of the definition, and a visit of it counts. */
  readonly counts?: boolean | undefined
  readonly keeps?: boolean | undefined
}

export function graphStart(graph: GraphInfo, id: NodeId, options: GraphStartOptions): GraphNode {
  const { edges, counts, keeps } = options
  const follow = followAll(edges)
  return rawNode(id, "start", (message, ctx) => {
    const goal = textOf(message as Json)
    ctx.state.write(GOAL, goal)
    if (graph.chat) ctx.state.write(MESSAGES, inputMessages(message))
    if (counts) ctx.state.write(STEPS, 1)
    if (keeps) ctx.state.write(OUTPUTS, { [id]: goal })
    const visit = new Visit(graph, id, { from: id, go: [] }, ctx)
    const to = follow(visit, { output: goal, names: { goal } })
    const opens = to !== "end" && to.length > 1 ? {} : undefined
    return leave(visit, {}, { to, opens, ...(to === "end" ? { result: goal } : {}) })
  })
}
