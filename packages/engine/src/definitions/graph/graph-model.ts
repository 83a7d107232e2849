/** The model of a graph, the same for both spellings. */
import type { NodeId } from "../../core/index.ts"
import type { Path } from "../../document/index.ts"
import type { NodeData, NodeType } from "./graph-shape.ts"

export interface ModelNode {
  readonly id: NodeId
  /** The name that agents and people use. */
  readonly name: string
  readonly type: NodeType
  readonly agentId: string | undefined
  /** Its other fields, with variables filled in. */
  readonly data: NodeData
  readonly at: Path
}

export interface ModelEdge {
  /** As written, else its position. */
  readonly id: string
  readonly from: NodeId
  readonly to: NodeId | null
  /** A name after agents and tools, a condition after other nodes; undefined: always followed. */
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
  /** Written as rows: agents share a conversation and choose the next speaker. */
  readonly isChat: boolean
  readonly id: string
  readonly title: string
  readonly description: string | undefined
  readonly isConversational: boolean
  readonly entry: NodeId
  readonly entryAt: Path | undefined
  readonly exits: readonly NodeId[] | undefined
  readonly nodes: readonly ModelNode[]
  readonly edges: readonly ModelEdge[]
  readonly limits: Limits
}

/** Whether its edges are chosen by name instead of by a condition. */
export function isChosenByName({ isChat }: Pick<GraphModel, "isChat">, type: NodeType): boolean {
  return isChat && (type === "agent" || type === "tool_executor" || type === "human_handoff")
}

/** An index for each list of edges. */
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

export function textIn(value: string | boolean | null | undefined): string | undefined {
  return value === null || value === undefined ? undefined : String(value)
}

/** As the file spells it. */
export function typeName({ isChat }: Pick<GraphModel, "isChat">, type: NodeType): string {
  return isChat ? type.toUpperCase() : type
}

/** `an AGENT node`, `a merge node`. */
export function aType(model: GraphModel, type: NodeType): string {
  return `${type === "agent" ? "an" : "a"} ${typeName(model, type)} node`
}
