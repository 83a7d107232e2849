/** Where ways come together, and nodes that run others at the same time. */
import type { NodeId } from "../../core/index.ts"
import { followAll, type GraphEdge } from "./edges.ts"
import { gather } from "./gathering.ts"
import type { GraphInfo } from "./graph-info.ts"
import { type GraphNode, type GraphNodeOptions, makeNode } from "./graph-node.ts"
import { type MergeValuesOptions, merging } from "./merge-values.ts"
import { readOutputs } from "./node-input.ts"

export interface GraphMergeOptions extends GraphNodeOptions, MergeValuesOptions {
  readonly edges?: readonly GraphEdge[] | undefined
  readonly outputs?: Readonly<Record<string, string>> | undefined
  /** The nodes whose ways end here. */
  readonly closes?: readonly NodeId[] | undefined
}

/** One output of several, in the order of definition. What comes by a single way is passed on as it is. */
export function graphMerge(graph: GraphInfo, id: NodeId, options: GraphMergeOptions = {}): GraphNode {
  const { closes = [] } = options
  const merge = merging(options)
  const follow = followAll(options.edges)
  const mapped = readOutputs(options.outputs)
  return makeNode(graph, id, { kind: "merge", gathers: true, ...options }, (visit, leave) => {
    const gathered = gather(visit, ({ at, members }) => !members && closes.includes(at))
    if (gathered === undefined) return leave({ to: "wait" })
    const { results, lanes } = gathered
    const isAlone = lanes.length === visit.lanes.length
    const output = isAlone ? undefined : merge(results, visit)
    const values = mapped(visit, output ?? visit.given)
    const to = follow(visit, { output, values })
    const opens = to !== "end" && to.length > 1 ? {} : undefined
    return leave({ output, values, lanes, to, opens })
  })
}

export interface GraphParallelOptions extends GraphNodeOptions, MergeValuesOptions {
  readonly edges?: readonly GraphEdge[] | undefined
  readonly outputs?: Readonly<Record<string, string>> | undefined
  /** The nodes that run. */
  readonly nodes: readonly NodeId[]
}

/** Its nodes run at the same time, and come back to it; one that fails gives null in its place. */
export function graphParallel(graph: GraphInfo, id: NodeId, options: GraphParallelOptions): GraphNode {
  const { nodes, strategy = "collect_list" } = options
  const merge = merging({ ...options, strategy })
  const follow = followAll(options.edges)
  const mapped = readOutputs(options.outputs)
  return makeNode(graph, id, { kind: "parallel", gathers: true, ...options }, (visit, leave) => {
    const { member } = visit
    if (member?.at !== id) return leave({ to: nodes, opens: { members: true } })
    const gathered = gather(visit, ({ at, members }) => members === true && at === id)
    if (gathered === undefined) return leave({ to: "wait" })
    const { results, lanes } = gathered
    const output = merge(results, visit)
    const values = mapped(visit, output)
    const isMember = lanes.at(-1)?.members === true
    const to = isMember ? "end" : follow(visit, { output, values })
    const opens = to !== "end" && to.length > 1 ? {} : undefined
    // Coming back is no visit of its own.
    return leave({ output, values, lanes, to, opens, steps: -1 })
  })
}
