/** Which vertices lie on every path from a root to a vertex, found for all vertices at once (Semi-NCA). */

export interface Dominators {
  isReached(vertex: number): boolean
  /** The nearest vertex that every path to this one passes before it; undefined for the root. */
  above(vertex: number): number | undefined
  /** Whether every path from the root to `below` passes `vertex`; a vertex dominates itself. Both are reached. */
  dominates(vertex: number, below: number): boolean
}

export function dominators(root: number, next: readonly (readonly number[])[]): Dominators {
  const { order, rank, parent } = depthFirst(root, next)
  const idom = immediateDominators(parent, ranksBefore(order, rank, next))
  const count = order.length
  const size = new Int32Array(count).fill(1)
  for (let at = count - 1; at > 0; at--) raise(size, idom[at] as number, size[at] as number)
  // A subtree of dominators is a range of places.
  const place = new Int32Array(count)
  const free = new Int32Array(count)
  free[0] = 1
  for (let at = 1; at < count; at++) {
    const above = idom[at] as number
    place[at] = free[above] as number
    raise(free, above, size[at] as number)
    free[at] = (place[at] as number) + 1
  }
  const rankOf = (vertex: number) => rank[vertex] as number
  return {
    isReached: (vertex) => rankOf(vertex) >= 0,
    above: (vertex) => (rankOf(vertex) > 0 ? order[idom[rankOf(vertex)] as number] : undefined),
    dominates(vertex, below) {
      const distance = (place[rankOf(below)] as number) - (place[rankOf(vertex)] as number)
      return distance >= 0 && distance < (size[rankOf(vertex)] as number)
    },
  }
}

function raise(counts: Int32Array, at: number, by: number): void {
  counts[at] = (counts[at] as number) + by
}

/** The vertices in the order of a walk, the rank of each in it (-1: not reached), and the rank of the one before it. */
function depthFirst(root: number, next: readonly (readonly number[])[]) {
  const order = [root]
  const rank = new Int32Array(next.length).fill(-1)
  const parent = [0]
  rank[root] = 0
  const stack = [{ vertex: root, at: 0 }]
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    const to = next[top.vertex]?.[top.at++]
    if (to === undefined) stack.pop()
    else if (rank[to] === -1) {
      parent.push(rank[top.vertex] as number)
      rank[to] = order.length
      order.push(to)
      stack.push({ vertex: to, at: 0 })
    }
  }
  return { order, rank, parent }
}

function ranksBefore(order: readonly number[], rank: Int32Array, next: readonly (readonly number[])[]) {
  const before: number[][] = order.map(() => [])
  for (const [at, vertex] of order.entries()) {
    for (const to of next[vertex] ?? []) before[rank[to] as number]?.push(at)
  }
  return before
}

/** By rank. */
function immediateDominators(parent: readonly number[], before: readonly (readonly number[])[]): Int32Array {
  const semi = Int32Array.from(parent.keys())
  const label = Int32Array.from(parent.keys())
  const ancestor = Int32Array.from(parent)
  const path: number[] = []
  /** The vertex with the least semidominator on the way up from here to those not yet linked, with the way made short. */
  const least = (from: number, linked: number) => {
    let at = from
    for (; (ancestor[at] as number) >= linked; at = ancestor[at] as number) path.push(at)
    for (let below = path.pop(); below !== undefined; below = path.pop()) {
      const above = ancestor[below] as number
      ancestor[below] = ancestor[above] as number
      const [mine, its] = [label[below] as number, label[above] as number]
      if ((semi[its] as number) < (semi[mine] as number)) label[below] = its
    }
    return label[from] as number
  }
  for (let at = parent.length - 1; at > 0; at--) {
    let lowest = parent[at] as number
    for (const from of before[at] ?? []) lowest = Math.min(lowest, semi[least(from, at + 1)] as number)
    semi[at] = lowest
  }
  const idom = Int32Array.from(parent)
  for (let at = 1; at < parent.length; at++) {
    while ((idom[at] as number) > (semi[at] as number)) idom[at] = idom[idom[at] as number] as number
  }
  return idom
}
