/**
 * Where all ways end, in a graph that has several: when the last one has come, the result is chosen. A way that ends
 * before its merge is taken off what the merge waits for.
 */
import type { NodeId } from "../../core/index.ts"
import { GOAL, OUTPUTS, STEPS, WAYS } from "./graph-channels.ts"
import type { GraphInfo } from "./graph-info.ts"
import { type GraphNode, rawNode, resultOf } from "./graph-node.ts"
import type { Token } from "./token.ts"

export interface GraphEndOptions {
  /** The nodes that ways are begun at, and the merges where those come together again. */
  readonly merges?: Readonly<Record<NodeId, NodeId>> | undefined
}

interface Ended {
  readonly node: NodeId
  readonly key: string | null
}

/** Of the ways that have ended: how many, and whose output is the result, as far as that is known. */
interface Ends {
  readonly count: number
  readonly chosen: Ended
}

export function graphEnd(graph: GraphInfo, id: NodeId, options: GraphEndOptions = {}): GraphNode {
  const { merges = {} } = options
  const { from = [] } = graph.end ?? {}
  return rawNode(id, "end", (message, ctx) => {
    const { from: node, key = null, lanes = [] } = message as Token
    const before = ctx.local.get<Ends>("ends")
    const count = (before?.count ?? 0) + 1
    const chosen = before === undefined ? { node, key } : chosenOf(from, before.chosen, { node, key })
    ctx.local.set("ends", { count, chosen } satisfies Ends)
    const lane = lanes.at(-1)
    const merge = lane === undefined || !Object.hasOwn(merges, lane.at) ? undefined : merges[lane.at]
    if (merge !== undefined) {
      ctx.state.write(STEPS, 1)
      ctx.state.write(WAYS, 1)
      return { from: id, go: [merge], lanes, gone: true } satisfies Token
    }
    if (count < ctx.state.get(WAYS)) return undefined
    const found = chosen.key
    ctx.output(resultOf(found === null ? ctx.state.get(GOAL) : ctx.state.get(OUTPUTS)[found]))
    return undefined
  })
}

/** By the order of the nodes, of one node on several ways that of the first way; of any others the last one. */
function chosenOf(order: readonly NodeId[], before: Ended, ended: Ended): Ended {
  const [was, is] = [order.indexOf(before.node), order.indexOf(ended.node)]
  if (was < 0) return ended
  if (is < 0 || is > was) return before
  return is < was || byKey(ended, before) < 0 ? ended : before
}

function byKey(one: Ended, other: Ended): number {
  return (one.key ?? "").localeCompare(other.key ?? "", "en", { numeric: true })
}
