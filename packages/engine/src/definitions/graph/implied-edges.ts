/** Edges that a node says without drawing them: the branches of a fan-out, the options of a decision. */
import type { NodeId } from "../../core/index.ts"
import type { Document, Report } from "../document/index.ts"
import type { GraphModel, ModelEdge, ModelNode } from "./graph-model.ts"

export function withImpliedEdges(model: GraphModel, document: Document, report: Report): GraphModel {
  let edges = model.edges
  for (const node of model.nodes) {
    if (node.type === "decision")
      edges = [...edges, ...missing(node, "options", node.data.options ?? [], edges)]
    if (node.type === "fanout" && node.data.branches !== undefined) {
      edges = fannedOut(node, node.data.branches, edges, document, report)
    }
  }
  return { ...model, edges }
}

function missing(
  node: ModelNode,
  field: string,
  targets: readonly NodeId[],
  edges: readonly ModelEdge[],
): readonly ModelEdge[] {
  const drawn = new Set(edges.filter(({ from }) => from === node.id).map(({ to }) => to))
  return targets.flatMap((to, i) => {
    if (drawn.has(to)) return []
    drawn.add(to)
    return [
      { id: `${node.id}.${field}[${i}]`, from: node.id, to, when: undefined, at: [...node.at, field, i] },
    ]
  })
}

/** Where a fan-out leads beside its branches is where those go on that do not say so themselves. */
function fannedOut(
  node: ModelNode,
  branches: readonly NodeId[],
  edges: readonly ModelEdge[],
  document: Document,
  report: Report,
): readonly ModelEdge[] {
  const own = edges.filter(({ from }) => from === node.id)
  const after = own.filter(({ to }) => to === null || !branches.includes(to))
  const open = branches.filter((branch) => !edges.some(({ from }) => from === branch))
  if (after.length > 0 && open.length === 0) {
    for (const { id, at } of after) {
      const text = `Edge ${id} leads from a fanout with branches to none of them: draw it from where the branches end`
      report.error("FANOUT_EDGE", text, document.place(at))
    }
  }
  const going = open.flatMap((from) =>
    after.map((edge) => ({ ...edge, id: `${edge.id} from ${from}`, from })),
  )
  // Branches in the order that the node gives.
  const drawn = branches.flatMap((branch) => own.find(({ to }) => to === branch) ?? [])
  const others = edges.filter(({ from }) => from !== node.id)
  const all = [...others, ...going, ...drawn]
  const made = missing(node, "branches", branches, all)
  const ordered = branches.flatMap((branch) => [...drawn, ...made].find(({ to }) => to === branch) ?? [])
  return [...others, ...going, ...new Set(ordered)]
}
