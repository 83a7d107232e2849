/** A graph as plain data and back, so that a journal can be folded where the code that made it is gone or has changed. */
import { compileGraph } from "./compile.ts"
import type { Graph, GraphSpec, NodeSpec } from "./graph.ts"
import type { Json } from "./json.ts"
import { canonicalJson } from "./reducers.ts"
import { digest } from "./signature.ts"

export interface GraphData {
  /** Equal for graphs that run a journal alike: shape, schemas, and policies too. */
  readonly hash: string
  readonly data: Json
}

const known = new WeakMap<Graph, GraphData>()

export function graphData(graph: Graph): GraphData {
  let made = known.get(graph)
  if (made === undefined) {
    const data = specData(graph.spec)
    made = { hash: digest(canonicalJson(data)), data }
    known.set(graph, made)
  }
  return made
}

function specData({ nodes, ...rest }: GraphSpec): Json {
  const plain = nodes.map(({ nested, ...node }) =>
    nested === undefined ? node : { ...node, nested: specData(nested.spec) },
  )
  return { ...rest, nodes: plain } as unknown as Json
}

/** Throws GRAPH_INVALID where the data is no graph. */
export function graphOf(data: Json): Graph {
  type Plain = Omit<NodeSpec, "nested"> & { readonly nested?: Json }
  const { nodes, ...rest } = data as unknown as Omit<GraphSpec, "nodes"> & {
    readonly nodes: readonly Plain[]
  }
  return compileGraph({
    ...rest,
    nodes: nodes.map(({ nested, ...node }) =>
      nested === undefined ? node : { ...node, nested: graphOf(nested) },
    ),
  }).graph
}
