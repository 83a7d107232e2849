/**
 * Compiles a description to a graph that a machine can run: validated, indexed, frozen. Also converts graphs to plain data
 * and back.
 */
import { allHops, backHops, groupBy, hopKey, outGroups } from "./analysis.ts"
import {
  type CountedEdge,
  type FanInEdge,
  type Graph,
  type GraphJoin,
  type GraphNode,
  type GraphSpec,
  hopsOf,
  joinId,
  joinNeeds,
  type MapEdge,
  type NodeSpec,
  type SwitchCase,
  wholeJoinId,
} from "./graph.ts"
import type { NodeId } from "./ids.ts"
import type { Json } from "./json.ts"
import { freezeData } from "./own-json.ts"
import { canonicalText } from "./reducers.ts"
import { digest } from "./signature.ts"
import { GraphInvalidError, type Problem, validateGraph } from "./validate.ts"

export interface CompiledGraph {
  readonly graph: Graph
  readonly warnings: readonly Problem[]
}

/** Throws a GraphInvalidError that lists every problem. */
export function compileGraph(spec: GraphSpec): CompiledGraph {
  const { problems, warnings } = validateGraph(spec)
  if (problems.length > 0) throw new GraphInvalidError(spec.name, problems)
  const index = new Map(spec.nodes.map((node, i) => [node.id, i]))
  const at = (id: NodeId) => index.get(id) as number
  const joins = spec.edges
    .filter((group): group is FanInEdge => group.kind === "fan-in")
    .map((group, i) => compileJoin(group, i, at(group.to)))
  const maps = spec.edges.filter((group): group is MapEdge => group.kind === "map")
  const counted = countedEdges(spec)
  const graph: Graph = {
    spec: freezeData(spec),
    name: spec.name,
    schedule: spec.schedule ?? "superstep",
    start: at(spec.start as NodeId),
    nodes: compileNodes(spec, joins, counted),
    index,
    joins,
    joinIndex: new Map(
      joins.flatMap((join) => [
        [wholeJoinId(join.group), join],
        [join.id, join],
      ]),
    ),
    maps: new Map(
      maps.map((group) => [
        group.worker,
        { group, worker: at(group.worker), target: group.to === undefined ? undefined : at(group.to) },
      ]),
    ),
    counted,
    channels: new Map((spec.channels ?? []).map((channel) => [channel.key, channel])),
    onLimit: spec.onLimit === undefined ? undefined : at(spec.onLimit),
  }
  return { graph: Object.freeze(graph), warnings }
}

function compileJoin(group: FanInEdge, index: number, target: number): GraphJoin {
  return {
    index,
    id: joinId(group),
    group,
    target,
    sources: new Map(group.from.map((id, i) => [id, i])),
    needs: joinNeeds(group.join, group.from.length),
  }
}

function compileNodes(
  spec: GraphSpec,
  joins: readonly GraphJoin[],
  counted: readonly CountedEdge[],
): GraphNode[] {
  const out = groupBy(outGroups(spec))
  const settles = groupBy(
    joins
      .filter((join) => join.group.join.kind === "settle")
      .flatMap((join) => join.group.from.map((from): [NodeId, GraphJoin] => [from, join])),
  )
  const onError = new Map(
    spec.edges.flatMap((group) => (group.kind === "error" ? [[group.from, group.to] as const] : [])),
  )
  const counters = groupBy(counted.map((edge): [NodeId, CountedEdge] => [edge.from, edge]))
  const workers = new Set(spec.edges.flatMap((group) => (group.kind === "map" ? [group.worker] : [])))
  const outputs = spec.outputs === undefined ? undefined : new Set(spec.outputs)
  const endsHere = (node: NodeSpec) => !out.has(node.id) && !workers.has(node.id)
  const nodes = spec.nodes.map((node, index) => ({
    index,
    id: node.id,
    spec: node,
    out: out.get(node.id) ?? [],
    targets: [] as GraphNode[],
    settles: settles.get(node.id) ?? [],
    onError: onError.get(node.id),
    isOutput: outputs === undefined ? endsHere(node) : outputs.has(node.id),
    isWorker: workers.has(node.id),
    maxVisits: node.maxVisits ?? Number.POSITIVE_INFINITY,
    counted: new Map((counters.get(node.id) ?? []).map((edge) => [edge.to, edge])),
  }))
  const byId = new Map(nodes.map((node) => [node.id, node]))
  for (const node of nodes) {
    const ids = new Set(
      node.out.flatMap((group) =>
        group.kind === "fan-in" || group.kind === "map" ? [] : hopsOf(group).map(({ to }) => to),
      ),
    )
    for (const id of ids) node.targets.push(byId.get(id) as GraphNode)
    Object.freeze(node)
  }
  return nodes
}

/** Edges that a run counts: those with their own limit, and back edges. */
function countedEdges(spec: GraphSpec): CountedEdge[] {
  const back = backHops(spec)
  const byKey = new Map<string, CountedEdge>()
  for (const { from, to, group } of allHops(spec)) {
    const key = hopKey(from, to)
    const capped =
      group.kind === "single" ? group.max : group.kind === "switch" ? caseMax(group.cases, to) : undefined
    if (capped === undefined && !back.has(key)) continue
    // A switch's case falls through to the next one at its limit; only a single edge ends the run.
    const max = group.kind === "single" ? (group.max ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY
    const index = byKey.get(key)?.index ?? byKey.size
    byKey.set(key, { index, from, to, max, back: back.has(key) })
  }
  return [...byKey.values()]
}

function caseMax(cases: readonly SwitchCase[], to: NodeId): number | undefined {
  return cases.find((one) => one.to === to)?.max
}

export interface GraphData {
  /** Equal for graphs that replay a journal identically: shape, schemas and policies. */
  readonly hash: string
  readonly data: Json
}

const known = new WeakMap<GraphSpec, GraphData>()
/** The canonical text of nested graphs: each nested workflow is serialized once, not once per level above it. */
const texts = new WeakMap<object, string>()

/** A graph as plain data, so that a journal can be folded without the code that created it. */
export function graphData({ spec }: Graph): GraphData {
  let made = known.get(spec)
  if (made === undefined) {
    const data = specData(spec)
    const text = canonicalText(data, texts)
    texts.set(data, text)
    made = { hash: digest(text), data }
    known.set(spec, made)
  }
  return made
}

function specData({ nodes, ...rest }: GraphSpec): Json & object {
  const plain = nodes.map(({ nested, ...node }) =>
    nested === undefined ? node : { ...node, nested: graphData(nested).data },
  )
  return { ...rest, nodes: plain } as unknown as Json & object
}

/** Throws GRAPH_INVALID if the data is not a graph. */
export function parseGraph(data: Json): Graph {
  type Plain = Omit<NodeSpec, "nested"> & { readonly nested?: Json }
  const { nodes, ...rest } = data as unknown as Omit<GraphSpec, "nodes"> & {
    readonly nodes: readonly Plain[]
  }
  return compileGraph({
    ...rest,
    nodes: nodes.map(({ nested, ...node }) =>
      nested === undefined ? node : { ...node, nested: parseGraph(nested) },
    ),
  }).graph
}
