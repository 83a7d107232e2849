/** Which edges of a node are followed. */
import { type NodeId, SuperstepError } from "../../../core/index.ts"
import { type Condition, condition } from "../../../expressions/index.ts"
import type { Overlay, Visit } from "./visit.ts"

export interface GraphEdge {
  /** Null ends the run. */
  readonly to: NodeId | null
  readonly when?: string | undefined
}

interface ReadEdge {
  readonly to: NodeId | null
  readonly holds: ((visit: Visit, overlay: Overlay) => boolean) | undefined
}

export type Follow = (visit: Visit, overlay: Overlay) => readonly NodeId[] | "end"

function readEdges(edges: readonly GraphEdge[]): readonly ReadEdge[] {
  return edges.map(({ to, when }) => ({ to, holds: when === undefined ? undefined : holding(when) }))
}

export function holding(text: string): (visit: Visit, overlay: Overlay) => boolean {
  const read: Condition = condition(text, "graph")
  return (visit, overlay) => read.holds(visit.scope(read.references, overlay))
}

export function followAll(edges: readonly GraphEdge[] = []): Follow {
  const read = readEdges(edges)
  return (visit, overlay) => {
    const taken = read.filter(({ holds }) => holds === undefined || holds(visit, overlay))
    const to = [...new Set(taken.flatMap((edge) => edge.to ?? []))]
    return to.length === 0 ? "end" : to
  }
}

/** The first edge whose condition holds, else the one without a condition. */
export function followFirst(id: NodeId, edges: readonly GraphEdge[]): Follow {
  const read = readEdges(edges)
  return (visit, overlay) => {
    const taken =
      read.find(({ holds }) => holds?.(visit, overlay)) ?? read.find(({ holds }) => holds === undefined)
    if (taken !== undefined) return taken.to === null ? "end" : [taken.to]
    const text = `No condition after "${id}" holds. Add an edge without a condition as the default.`
    throw new SuperstepError("NO_EDGE_HOLDS", text, { retryable: false })
  }
}
