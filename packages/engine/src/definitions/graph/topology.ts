/** How the nodes of a graph are connected: where routes lead, where lanes open, and where they merge. */

import type { NodeId } from "../../core/index.ts"
import { type Adjacency, cycles, reachable } from "../../core/internal.ts"
import { edgesFrom, type GraphModel, isChosenByName, type ModelNode } from "./graph-model.ts"

export class Topology {
  readonly model: GraphModel
  readonly byId: ReadonlyMap<NodeId, ModelNode>
  readonly handoff: ModelNode | undefined
  /** Members of parallel nodes, and the nodes that run them. */
  readonly members: ReadonlyMap<NodeId, readonly NodeId[]>
  readonly #targeted: ReadonlySet<NodeId | null>
  readonly next: Adjacency
  readonly reached: ReadonlySet<NodeId>
  /** Nodes that open lanes, and the merges that join them. */
  readonly openers: ReadonlyMap<NodeId, NodeId | undefined>

  constructor(model: GraphModel) {
    this.model = model
    this.byId = new Map(model.nodes.map((node) => [node.id, node]))
    this.handoff = model.nodes.find(({ type }) => type === "human_handoff")
    this.members = membersIn(model)
    this.#targeted = new Set([model.entry, ...model.edges.map(({ to }) => to)])
    this.next = new Map(model.nodes.map((node) => [node.id, [...new Set(this.#targets(node))]]))
    const entries = [model.entry, ...(this.handoff === undefined ? [] : [this.handoff.id])]
    this.reached = reachable(
      this.next,
      entries.filter((id) => this.byId.has(id)),
    )
    const openers = model.nodes.filter((node) => this.reached.has(node.id) && this.isOpener(node))
    this.openers = new Map(openers.map((node) => [node.id, this.#mergeOf(node)]))
  }

  get nodes(): readonly ModelNode[] {
    return this.model.nodes.filter(({ id }) => this.reached.has(id))
  }

  callersOf(executor: NodeId): readonly ModelNode[] {
    const { nodes, edges } = this.model
    return nodes.filter(
      ({ id, type }) => type === "agent" && edges.some(({ from, to }) => from === id && to === executor),
    )
  }

  isExclusive({ type }: ModelNode): boolean {
    if (type === "conditional" || type === "loop" || type === "decision") return true
    return isChosenByName(this.model, type)
  }

  isOpener(node: ModelNode): boolean {
    if (node.type === "fanout") return true
    const targets = edgesFrom(this.model, node.id).flatMap(({ to }) => to ?? [])
    return !this.isExclusive(node) && new Set(targets).size > 1
  }

  /** No node follows: its output is a result. */
  isTerminal({ id, type }: ModelNode): boolean {
    if (this.model.exits !== undefined) return this.model.exits.includes(id)
    return (
      edgesFrom(this.model, id).every(({ to }) => to === null) && !this.#isMemberOnly(id) && type !== "fanout"
    )
  }

  /** A lane may end there. */
  mayEnd(node: ModelNode): boolean {
    if (this.#isMemberOnly(node.id)) return false
    const edges = edgesFrom(this.model, node.id)
    if (edges.length === 0 || edges.some(({ to }) => to === null) || node.type === "human_handoff")
      return true
    if (this.model.isChat && node.type === "agent") {
      return this.model.isConversational || edges.every(({ when }) => when !== undefined)
    }
    return !this.isExclusive(node) && edges.every(({ when }) => when !== undefined)
  }

  cycles(): readonly (readonly NodeId[])[] {
    return cycles([...this.reached], this.next)
  }

  /** One cycle of each group. */
  roundTrips(): readonly (readonly NodeId[])[] {
    return roundTrips(
      this.nodes.map(({ id }) => id),
      this.next,
    )
  }

  /** Nodes that several lanes can lead through at the same time. */
  sharedNodes(): ReadonlySet<NodeId> {
    const shared = new Set<NodeId>()
    for (const [opener, merge] of this.openers) {
      const seen = new Map<NodeId, number>()
      const without = new Map([...this.next].map(([id, to]) => [id, to.filter((one) => one !== opener)]))
      for (const branch of this.#branchesOf(opener)) {
        for (const id of reachable(without, [branch], merge)) seen.set(id, (seen.get(id) ?? 0) + 1)
      }
      for (const [id, times] of seen) if (times > 1) shared.add(id)
    }
    return shared
  }

  #branchesOf(id: NodeId): readonly NodeId[] {
    return [...new Set(edgesFrom(this.model, id).flatMap(({ to }) => to ?? []))]
  }

  /** Whether only a parallel node leads to it. */
  #isMemberOnly(id: NodeId): boolean {
    return this.members.has(id) && !this.#targeted.has(id)
  }

  #targets(node: ModelNode): NodeId[] {
    const { model } = this
    const drawn = edgesFrom(model, node.id).flatMap(({ to }) => to ?? [])
    const members = node.type === "parallel" ? (node.data.nodes ?? []) : []
    const parents = this.members.get(node.id) ?? []
    return [...drawn, ...members, ...parents, ...this.#spoken(node)].filter((id) => this.byId.has(id))
  }

  /** Where a conversation continues without an edge. */
  #spoken({ id, type }: ModelNode): readonly NodeId[] {
    const { model } = this
    if (!model.isChat) return []
    const hasAlways = edgesFrom(model, id).some(({ when }) => when === undefined)
    if (type === "tool_executor" && !hasAlways) return this.callersOf(id).map((one) => one.id)
    if (type !== "human_handoff") return []
    return [model.entry, ...model.nodes.filter((one) => one.type === "agent").map((one) => one.id)]
  }

  /** The nearest of the merges that most of its branches lead to. */
  #mergeOf({ id }: ModelNode): NodeId | undefined {
    const distances = this.#branchesOf(id).map((branch) => distancesFrom(this.next, branch))
    const merges = this.model.nodes.filter(({ type, id: one }) => type === "merge" && one !== id)
    const found = merges.flatMap((merge) => {
      const near = distances.flatMap((one) => one.get(merge.id) ?? [])
      return near.length === 0 ? [] : [{ id: merge.id, count: near.length, far: Math.max(...near) }]
    })
    found.sort((a, b) => b.count - a.count || a.far - b.far)
    return found[0]?.id
  }
}

function membersIn({ nodes }: GraphModel): ReadonlyMap<NodeId, readonly NodeId[]> {
  const members = new Map<NodeId, NodeId[]>()
  for (const { id, type, data } of nodes) {
    if (type !== "parallel") continue
    for (const member of new Set(data.nodes)) members.set(member, [...(members.get(member) ?? []), id])
  }
  return members
}

function distancesFrom(next: Adjacency, from: NodeId): ReadonlyMap<NodeId, number> {
  const distances = new Map([[from, 0]])
  for (const [id, distance] of distances) {
    for (const to of next.get(id) ?? []) if (!distances.has(to)) distances.set(to, distance + 1)
  }
  return distances
}

/** For each group of nodes on a common cycle, the shortest cycle from its first node: `a, b, a`. */
export function roundTrips(nodes: readonly NodeId[], next: Adjacency): readonly (readonly NodeId[])[] {
  const order = new Map(nodes.map((id, i) => [id, i]))
  return cycles(nodes, next).map((group) => {
    const first = group.reduce((one, id) => ((order.get(id) ?? 0) < (order.get(one) ?? 0) ? id : one))
    return roundTrip(first, next)
  })
}

function roundTrip(start: NodeId, next: Adjacency): readonly NodeId[] {
  const before = new Map<NodeId, NodeId>()
  const open = new Set([start])
  for (const id of open) {
    for (const to of next.get(id) ?? []) {
      if (!before.has(to)) before.set(to, id)
      open.add(to)
    }
    if (before.has(start)) break
  }
  const trip = [start]
  for (let id = before.get(start); id !== undefined && id !== start; id = before.get(id)) trip.unshift(id)
  return [start, ...trip]
}
