/** The ways out of a node, and how they are wired. */
import type { NodeId } from "../../core/index.ts"
import { call, type Ref, type WorkflowWriter } from "../plan/index.ts"
import { edgesFrom, type ModelNode } from "./graph-model.ts"
import type { Topology } from "./topology.ts"

/** The node where all ways end. */
export const END = "#end"

const LIMIT = "limit"

interface Way {
  readonly to: NodeId
  /** What is written beside it in pictures. */
  readonly labels: string[]
  /** Taken whenever the node has its turn. */
  isAlways: boolean
}

export interface Ways {
  readonly ways: readonly Way[]
  /** It may be that none of them is taken: what the node gives then is an output. */
  readonly mayEnd: boolean
}

export function waysOf(
  topology: Topology,
  node: ModelNode,
  { hasEnd, isFirst }: { readonly hasEnd: boolean; readonly isFirst: boolean },
): Ways {
  const { model, handoff, members } = topology
  const ways = new Map<NodeId, Way>()
  const add = (to: NodeId, label: string | undefined, isAlways = false) => {
    const way = ways.get(to) ?? { to, labels: [], isAlways }
    if (label !== undefined && !way.labels.includes(label)) way.labels.push(label)
    way.isAlways ||= isAlways
    ways.set(to, way)
  }
  const isMember = members.has(node.id)
  const drawn = edgesFrom(model, node.id)
  for (const { to, when } of drawn) if (to !== null) add(to, when, when === undefined && !isMember)
  for (const to of node.data.nodes ?? []) add(to, undefined)
  // What comes without an edge: members go back to their node, tools to who called, people to anybody.
  for (const to of topology.next.get(node.id) ?? []) if (!ways.has(to)) add(to, implied(node))
  if (handoff !== undefined && handoff !== node && !isFirst) add(handoff.id, LIMIT)
  const mayEnd = topology.mayEnd(node)
  if (hasEnd && mayEnd) add(END, "end")
  return { ways: [...ways.values()], mayEnd: mayEnd && !hasEnd }
}

function implied({ type }: ModelNode): string | undefined {
  if (type === "tool_executor") return "back"
  return type === "human_handoff" ? "answer" : undefined
}

export function wireNode(
  workflow: WorkflowWriter,
  ref: Ref,
  { ways, mayEnd }: Ways,
  known: (id: NodeId) => Ref,
  { isExclusive, onCycle }: { readonly isExclusive: boolean; readonly onCycle: boolean },
): void {
  const [first, second] = ways
  if (first === undefined) return
  const chosen = ({ to, labels }: Way) => ({
    when: call("leadsTo", to),
    label: labels.length === 0 ? undefined : labels.join(", "),
  })
  if (isExclusive && (ways.length > 1 || mayEnd)) {
    // The case without a condition has no label either: not that of the limit.
    const last = mayEnd ? undefined : (ways.findLast(({ labels }) => !labels.includes(LIMIT)) ?? first)
    const cases = ways.filter((way) => way !== last).map((way) => ({ ...chosen(way), to: known(way.to) }))
    workflow.wire("switch", ref, cases, last && known(last.to))
    return
  }
  // On a cycle, the graph is told that it is decided whether to go round.
  const isPlain = !onCycle && ways.every(({ isAlways }) => isAlways)
  if (!isPlain) for (const way of ways) workflow.wire("edge", ref, known(way.to), chosen(way))
  else if (second === undefined) workflow.wire("edge", ref, known(first.to))
  else
    workflow.wire(
      "fanOut",
      ref,
      ways.map(({ to }) => known(to)),
    )
}
