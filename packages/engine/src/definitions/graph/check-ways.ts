/** Rules about the ways through a graph that is not a conversation. */

import { reachable } from "../../core/analysis.ts"
import type { NodeId } from "../../core/index.ts"
import type { Checking } from "./check-parts.ts"
import { edgesFrom, type ModelEdge, type ModelNode } from "./graph-model.ts"
import { roundTrips, type Topology } from "./topology.ts"

export function checkWays(topology: Topology, { document, report }: Checking): void {
  const { model } = topology
  const lost = model.nodes.filter(({ id }) => !topology.reached.has(id))
  const [first] = lost
  if (first !== undefined && !model.isChat) {
    const text = `Unreachable nodes from entry node: ${lost.map(({ id }) => id).join(", ")}`
    report.error("UNREACHABLE_NODE", text, document.place([...first.at, "id"]))
  }
  if (!model.isChat) checkCycles(topology, { document, report })
  for (const node of topology.nodes) if (node.type === "loop") checkLoop(topology, node, { document, report })
}

function checkLoop(topology: Topology, node: ModelNode, { document, report }: Checking): void {
  for (const { id, when = "", at } of edgesFrom(topology.model, node.id)) {
    if (["", "continue", "exit"].includes(when)) continue
    const text = `Edge ${id} leads from a loop: it has \`continue\`, \`exit\` or no condition, and the loop has loop_condition`
    report.error("LOOP_EDGES", text, document.place(at))
  }
  if (loopEdges(topology, node) !== undefined) return
  const text = `Node ${node.id} (loop) needs exactly one edge that leads back to it, and one that leaves`
  report.error("LOOP_EDGES", text, document.place([...node.at, "id"]))
}

const DECIDES = ["decision", "conditional", "loop", "human_handoff"]

/** A cycle has to pass a place where something is decided. */
function checkCycles(topology: Topology, { document, report }: Checking): void {
  const { model, byId } = topology
  const decides = (id: NodeId) => DECIDES.includes(byId.get(id)?.type ?? "")
  // Drawn edges alone: a parallel node and its members are no cycle, they come back once.
  const undecided = new Map<NodeId, NodeId[]>(topology.nodes.map(({ id }) => [id, []]))
  for (const { from, to, when } of model.edges) {
    if (to !== null && when === undefined && !decides(from) && !decides(to)) undecided.get(from)?.push(to)
  }
  for (const way of roundTrips([...undecided.keys()], undecided)) {
    const text = `Cycle that passes no decision node: ${way.join(" → ")}`
    report.error("CYCLE", text, document.place([...(byId.get(way[0] as NodeId)?.at ?? []), "id"]))
  }
}

interface LoopEdges {
  readonly again: NodeId
  readonly exit: NodeId | null
  /** Nodes that lead back to the loop. */
  readonly back: readonly NodeId[]
}

/** Which edge begins another pass, and which leaves. Undefined: that cannot be told. */
export function loopEdges({ model, next }: Topology, node: ModelNode): LoopEdges | undefined {
  const edges = edgesFrom(model, node.id)
  const [one, two] = edges
  if (one === undefined || two === undefined || edges.length > 2) return undefined
  const isAgain = ({ to, when }: ModelEdge) => {
    if (when === "continue" || when === "exit") return when === "continue"
    return to !== null && reachable(next, [to]).has(node.id)
  }
  if (isAgain(one) === isAgain(two)) return undefined
  const [again, exit] = isAgain(one) ? [one, two] : [two, one]
  if (again.to === null || again.to === node.id) return undefined
  const body = reachable(next, [again.to], node.id)
  const back = [...body].filter((id) => next.get(id)?.includes(node.id))
  return { again: again.to, exit: exit.to, back }
}
