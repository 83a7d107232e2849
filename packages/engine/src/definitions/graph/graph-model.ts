/** A graph as it was read, whichever way it is spelt. */
import type { NodeId } from "../../core/index.ts"
import type { Path } from "../document/index.ts"
import type { NodeData, NodeType } from "./graph-shape.ts"

export interface ModelNode {
  readonly id: NodeId
  /** What agents and people call it. */
  readonly name: string
  readonly type: NodeType
  readonly agentId: string | undefined
  /** Its other fields, with variables filled in. */
  readonly data: NodeData
  readonly at: Path
}

export interface ModelEdge {
  /** As written, or by its place. */
  readonly id: string
  readonly from: NodeId
  /** Null: the run ends. */
  readonly to: NodeId | null
  /** What it is chosen by: a name after agents and tools, a condition after others; absent: it is taken always. */
  readonly when: string | undefined
  readonly at: Path
}

export interface Limits {
  readonly maxSteps: number
  readonly timeout: number | undefined
  readonly maxIters: number
  readonly maxParallel: number | undefined
}

export interface GraphModel {
  /** As rows: agents share a conversation, and choose who is next. */
  readonly isChat: boolean
  readonly id: string
  readonly title: string
  readonly description: string | undefined
  readonly isConversational: boolean
  readonly entry: NodeId
  /** Where the entry is written; undefined: nowhere. */
  readonly entryAt: Path | undefined
  readonly exits: readonly NodeId[] | undefined
  readonly nodes: readonly ModelNode[]
  readonly edges: readonly ModelEdge[]
  readonly limits: Limits
}

/** Whether edges out of it are chosen by name, and not by a condition. */
export function isChosenByName({ isChat }: Pick<GraphModel, "isChat">, type: NodeType): boolean {
  return isChat && (type === "agent" || type === "tool_executor" || type === "human_handoff")
}

/** Asked for again and again: a list is looked through once. */
const indexes = new WeakMap<readonly ModelEdge[], ReadonlyMap<NodeId, readonly ModelEdge[]>>()

export function edgesFrom({ edges }: GraphModel, id: NodeId): readonly ModelEdge[] {
  const index = indexes.get(edges) ?? bySource(edges)
  indexes.set(edges, index)
  return index.get(id) ?? []
}

function bySource(edges: readonly ModelEdge[]): ReadonlyMap<NodeId, readonly ModelEdge[]> {
  const index = new Map<NodeId, ModelEdge[]>()
  for (const edge of edges) {
    const list = index.get(edge.from)
    if (list === undefined) index.set(edge.from, [edge])
    else list.push(edge)
  }
  return index
}
