/**
 * Reduces a graph to the nodes that its author wrote, as diagrams do: edges lead through nodes that a definition or a team added,
 * and the guard of a step (`when`) is part of the step. An edge that was joined remembers the edge that runs take.
 */
import { guardedStep, isInternal, passesTurns } from "@superstep/engine/core"
import type { GraphEdge, GraphModel } from "./graph-model.ts"

/** Ids of the server's data are plain text. */
type Spec = Parameters<typeof isInternal>[0]

/** Nodes that the layout draws as the start and the output. */
const ENDS: ReadonlySet<string> = new Set(["#start", "#end"])

/** Whose turn it is in a team is drawn as a decision: its edges are those that runs take. */
function isDrawn({ id }: { readonly id: string }): boolean {
  return ENDS.has(id) || passesTurns({ id })
}

export function authorGraph({ nodes, edges }: GraphModel): Pick<GraphModel, "nodes" | "edges"> {
  const known = new Set(nodes.map(({ id }) => id))
  const gone = new Set<string>()
  let left = edges
  for (const node of nodes) {
    const step = guardedStep(node as Spec)
    if (step !== undefined && known.has(step)) left = withoutGuard(left, node.id, step)
    else if (!isInternal(node as Spec) || isDrawn(node) || !left.some(({ from }) => from === node.id))
      continue
    else left = leadThrough(left, node.id)
    gone.add(node.id)
  }
  return { nodes: nodes.filter(({ id }) => !gone.has(id)), edges: left }
}

function taken({ from, to, taken: before }: GraphEdge): NonNullable<GraphEdge["taken"]> {
  return before ?? { from, to }
}

function withoutGuard(edges: readonly GraphEdge[], guard: string, step: string): readonly GraphEdge[] {
  return edges.flatMap((edge): GraphEdge[] => {
    if (edge.from === guard && edge.to === step) return []
    if (edge.from === guard) return [{ ...edge, from: step, label: "when false", taken: taken(edge) }]
    return [edge.to === guard ? { ...edge, to: step, taken: taken(edge) } : edge]
  })
}

function leadThrough(edges: readonly GraphEdge[], id: string): readonly GraphEdge[] {
  const on = edges.filter(({ from }) => from === id)
  return edges.flatMap((edge): GraphEdge[] => {
    if (edge.from === id) return []
    if (edge.to !== id) return [edge]
    return on.map((next) => ({
      from: edge.from,
      to: next.to,
      kind: edge.kind === "plain" ? next.kind : edge.kind,
      label: [edge.label, next.label].filter((one) => one !== "").join(", "),
      // Of several edges out, each is a different one; of one, each edge in is.
      taken: on.length === 1 ? taken(edge) : taken(next),
    }))
  })
}
