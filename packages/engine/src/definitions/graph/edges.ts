/** Which edges of a node are followed. */
import { type NodeId, SuperstepError } from "../../core/index.ts"
import { type Condition, condition } from "../expressions/index.ts"
import type { Brought, Visit } from "./visit.ts"

export interface GraphEdge {
  /** Null: the run ends there. */
  readonly to: NodeId | null
  /** Taken when this holds. */
  readonly when?: string | undefined
}

interface ReadEdge {
  readonly to: NodeId | null
  readonly holds: ((visit: Visit, brought: Brought) => boolean) | undefined
}

export type Follow = (visit: Visit, brought: Brought) => readonly NodeId[] | "end"

function readEdges(edges: readonly GraphEdge[]): readonly ReadEdge[] {
  return edges.map(({ to, when }) => ({ to, holds: when === undefined ? undefined : holding(when) }))
}

export function holding(text: string): (visit: Visit, brought: Brought) => boolean {
  const read: Condition = condition(text, "graph")
  return (visit, brought) => read.holds(visit.scope(read.references, brought))
}

/** All whose condition holds. */
export function followAll(edges: readonly GraphEdge[] = []): Follow {
  const read = readEdges(edges)
  return (visit, brought) => {
    const taken = read.filter(({ holds }) => holds === undefined || holds(visit, brought))
    const to = [...new Set(taken.flatMap((edge) => edge.to ?? []))]
    return to.length === 0 ? "end" : to
  }
}

/** The first whose condition holds, else the one without. */
export function followFirst(id: NodeId, edges: readonly GraphEdge[]): Follow {
  const read = readEdges(edges)
  return (visit, brought) => {
    const taken =
      read.find(({ holds }) => holds?.(visit, brought)) ?? read.find(({ holds }) => holds === undefined)
    if (taken !== undefined) return taken.to === null ? "end" : [taken.to]
    const text = `None of the conditions after "${id}" holds. Add an edge without a condition: it is taken then.`
    throw new SuperstepError("NO_EDGE_HOLDS", text, { retryable: false })
  }
}
