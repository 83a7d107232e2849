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

export function graphEnd(graph: GraphInfo, id: NodeId, options: GraphEndOptions = {}): GraphNode {
  const { merges = {} } = options
  const { from = [] } = graph.end ?? {}
  return rawNode(id, "end", (message, ctx) => {
    const { from: node, key = null, lanes = [] } = message as Token
    const ended: readonly Ended[] = [...(ctx.local.get<Ended[]>("ended") ?? []), { node, key }]
    ctx.local.set("ended", ended)
    const lane = lanes.at(-1)
    const merge = lane === undefined || !Object.hasOwn(merges, lane.at) ? undefined : merges[lane.at]
    if (merge !== undefined) {
      ctx.state.write(STEPS, 1)
      ctx.state.write(WAYS, 1)
      return { from: id, go: [merge], lanes, gone: true } satisfies Token
    }
    if (ended.length < ctx.state.get(WAYS)) return undefined
    const outputs = ctx.state.get(OUTPUTS)
    const [first] = from.flatMap((one) => ended.filter((end) => end.node === one).sort(byKey))
    const { key: found } = first ?? (ended.at(-1) as Ended)
    ctx.output(resultOf(found === null ? ctx.state.get(GOAL) : outputs[found]))
    return undefined
  })
}

/** Of one node on several ways, that of the first way. */
function byKey(one: Ended, other: Ended): number {
  return (one.key ?? "").localeCompare(other.key ?? "", "en", { numeric: true })
}
