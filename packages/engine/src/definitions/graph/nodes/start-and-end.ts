/** Where a run begins, and where the lanes of a run end. */
import { inputMessages } from "../../../agents/internal.ts"
import type { Json, NodeId } from "../../../core/index.ts"
import { textOf } from "../../../expressions/index.ts"
import { type DefinitionNode, definitionNode } from "../../definition-node.ts"
import { followAll, type GraphEdge } from "./edges.ts"
import { GOAL, type GraphInfo, MESSAGES, OPEN_LANES, OUTPUTS, STEPS } from "./graph-info.ts"
import { leave, resultOf } from "./graph-node.ts"
import { type GraphToken, Visit } from "./visit.ts"

export interface GraphStartOptions {
  readonly edges: readonly GraphEdge[]
  /** It is a node of the definition, so its visit counts. */
  readonly counts?: boolean | undefined
  readonly keeps?: boolean | undefined
}

export function graphStart(graph: GraphInfo, id: NodeId, options: GraphStartOptions): DefinitionNode {
  const { edges, counts, keeps } = options
  const follow = followAll(edges)
  return definitionNode(id, "start", (message, ctx) => {
    const goal = textOf(message as Json)
    ctx.state.write(GOAL, goal)
    if (graph.chat) ctx.state.write(MESSAGES, inputMessages(message))
    if (counts) ctx.state.write(STEPS, 1)
    if (keeps) ctx.state.write(OUTPUTS, { [id]: goal })
    const visit = new Visit(graph, id, { from: id, go: [] }, ctx)
    const to = follow(visit, { output: goal, names: { goal } })
    return leave(visit, {}, { to, ...(to === "end" ? { result: goal } : {}) })
  })
}

export interface GraphEndOptions {
  /** The nodes that open lanes, and the merges that join them. */
  readonly merges?: Readonly<Record<NodeId, NodeId>> | undefined
}

interface Ended {
  readonly node: NodeId
  readonly key: string | null
}

/** The number of ended lanes, and whose output is the result so far. */
interface Ends {
  readonly count: number
  readonly chosen: Ended
}

/** Chooses the result when the last lane has ended. A lane that ends before its merge is reported to the merge. */
export function graphEnd(graph: GraphInfo, id: NodeId, options: GraphEndOptions = {}): DefinitionNode {
  const { merges = {} } = options
  const { from = [] } = graph.end ?? {}
  return definitionNode(id, "end", (message, ctx) => {
    const { from: node, key = null, lanes = [] } = message as GraphToken
    const before = ctx.local.get<Ends>("ends")
    const count = (before?.count ?? 0) + 1
    const chosen = before === undefined ? { node, key } : chosenOf(from, before.chosen, { node, key })
    ctx.local.set("ends", { count, chosen } satisfies Ends)
    const lane = lanes.at(-1)
    const merge = lane === undefined || !Object.hasOwn(merges, lane.at) ? undefined : merges[lane.at]
    if (merge !== undefined) {
      ctx.state.write(STEPS, 1)
      ctx.state.write(OPEN_LANES, 1)
      return { from: id, go: [merge], lanes, gone: true } satisfies GraphToken
    }
    if (count < ctx.state.get(OPEN_LANES)) return undefined
    const found = chosen.key
    ctx.output(resultOf(found === null ? ctx.state.get(GOAL) : ctx.state.get(OUTPUTS)[found]))
    return undefined
  })
}

/** Prefers the order of the nodes, then the first lane of a node; of other nodes, the last one. */
function chosenOf(order: readonly NodeId[], before: Ended, ended: Ended): Ended {
  const [was, is] = [order.indexOf(before.node), order.indexOf(ended.node)]
  if (was < 0) return ended
  if (is < 0 || is > was) return before
  return is < was || byKey(ended, before) < 0 ? ended : before
}

function byKey(one: Ended, other: Ended): number {
  return (one.key ?? "").localeCompare(other.key ?? "", "en", { numeric: true })
}
