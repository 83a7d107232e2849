/** What a graph can and cannot do, found without running it: reachability, cycles. */
import { type GraphSpec, type Hop, hopsOf, type OutGroup } from "./graph.ts"
import type { NodeId } from "./ids.ts"

export type Adjacency = ReadonlyMap<NodeId, readonly NodeId[]>

export function adjacency(hops: readonly Hop[]): Adjacency {
  return groupBy(hops.map(({ from, to }) => [from, to]))
}

export function groupBy<K, V>(pairs: readonly (readonly [K, V])[]): Map<K, V[]> {
  const groups = new Map<K, V[]>()
  for (const [key, value] of pairs) {
    const list = groups.get(key)
    if (list) list.push(value)
    else groups.set(key, [value])
  }
  return groups
}

/** Everything that can be reached from these nodes, themselves included, without entering `without`. */
export function reachable(next: Adjacency, from: Iterable<NodeId>, without?: NodeId): Set<NodeId> {
  const seen = new Set<NodeId>()
  const stack = [...from].filter((id) => id !== without)
  for (let id = stack.pop(); id !== undefined; id = stack.pop()) {
    if (seen.has(id)) continue
    seen.add(id)
    for (const to of next.get(id) ?? []) {
      if (to !== without && !seen.has(to)) stack.push(to)
    }
  }
  return seen
}

/** Where a run can enter the graph: its start, and the node it goes to at a limit. */
export function entries(spec: GraphSpec): NodeId[] {
  return [spec.start, spec.onLimit].filter((id): id is NodeId => id !== undefined)
}

export function allHops(spec: GraphSpec): Hop[] {
  return spec.edges.flatMap(hopsOf)
}

/** The groups that the messages of each node go along, in the order they were declared. */
export function outGroups(spec: GraphSpec): [NodeId, OutGroup][] {
  return spec.edges.flatMap((group): [NodeId, OutGroup][] => {
    if (group.kind === "error") return []
    return group.kind === "fan-in" ? group.from.map((from) => [from, group]) : [[group.from, group]]
  })
}

/** Groups of nodes that lie on a common cycle, and single nodes with an edge to themselves. */
export function cycles(nodes: readonly NodeId[], next: Adjacency): NodeId[][] {
  return components(nodes, next).filter(
    (group) => group.length > 1 || (next.get(group[0] as NodeId) ?? []).includes(group[0] as NodeId),
  )
}

/** Hops that close a cycle, seen from the start: those that lead back to a node whose walk is not over yet. */
export function backHops(spec: GraphSpec): Set<string> {
  const next = adjacency(allHops(spec))
  const back = new Set<string>()
  const state = new Map<NodeId, "open" | "done">()
  for (const root of [...entries(spec), ...spec.nodes.map((node) => node.id)]) {
    if (state.has(root)) continue
    const stack: { id: NodeId; at: number }[] = [{ id: root, at: 0 }]
    state.set(root, "open")
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const to = next.get(top.id)?.[top.at++]
      if (to === undefined) {
        state.set(top.id, "done")
        stack.pop()
      } else if (state.get(to) === "open") {
        back.add(hopKey(top.id, to))
      } else if (!state.has(to)) {
        state.set(to, "open")
        stack.push({ id: to, at: 0 })
      }
    }
  }
  return back
}

export function hopKey(from: NodeId, to: NodeId): string {
  return JSON.stringify([from, to])
}

/** Hops that are always taken when their source sends: nothing on them can end a cycle. */
export function unguardedHops(spec: GraphSpec): Hop[] {
  const limited = new Set(spec.nodes.filter((node) => node.maxVisits !== undefined).map((node) => node.id))
  return allHops(spec).filter(({ from, to, group }) => {
    if (limited.has(from) || limited.has(to)) return false
    switch (group.kind) {
      case "single":
        return !group.conditional && group.max === undefined
      case "fan-out":
        return !group.selective
      case "fan-in":
      case "map":
        return true
      case "switch":
      case "error":
        return false
    }
  })
}

/** Strongly connected components (Tarjan), without recursion: a chain may be long. */
function components(nodes: readonly NodeId[], next: Adjacency): NodeId[][] {
  const found: NodeId[][] = []
  const order = new Map<NodeId, number>()
  const low = new Map<NodeId, number>()
  const open: NodeId[] = []
  const isOpen = new Set<NodeId>()
  const enter = (id: NodeId) => {
    order.set(id, order.size)
    low.set(id, order.size - 1)
    open.push(id)
    isOpen.add(id)
    return { id, at: 0 }
  }
  const lower = (id: NodeId, to: number) => low.set(id, Math.min(low.get(id) as number, to))
  for (const root of nodes) {
    if (order.has(root)) continue
    const stack = [enter(root)]
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const to = next.get(top.id)?.[top.at++]
      if (to !== undefined) {
        if (!order.has(to)) stack.push(enter(to))
        else if (isOpen.has(to)) lower(top.id, order.get(to) as number)
        continue
      }
      stack.pop()
      const parent = stack.at(-1)
      if (parent) lower(parent.id, low.get(top.id) as number)
      if (low.get(top.id) === order.get(top.id)) found.push(closeComponent(top.id, open, isOpen))
    }
  }
  return found
}

function closeComponent(root: NodeId, open: NodeId[], isOpen: Set<NodeId>): NodeId[] {
  const group: NodeId[] = []
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    isOpen.delete(id)
    group.push(id)
    if (id === root) break
  }
  return group.reverse()
}
