/** Assigns the vertices of each rank to columns: few crossings first, then straight lines. */
import type { Layers, Line, Vertex } from "./layers.ts"

const SWEEPS = 8
const GAP = 2

interface Neighbours {
  readonly above: ReadonlyMap<Vertex, readonly Vertex[]>
  readonly below: ReadonlyMap<Vertex, readonly Vertex[]>
}

/** Orders the ranks and sets every vertex's middle. Columns begin at 0; returns how many there are. */
export function setColumns({ ranks, lines }: Layers): number {
  const near = neighbours(lines)
  order(ranks, lines, near)
  for (const rank of ranks) settle(rank, new Map())
  for (let i = 0; i < SWEEPS; i++) {
    for (const rank of ranks.toReversed()) settle(rank, near.below)
    for (const rank of ranks) settle(rank, near.above)
  }
  const all = ranks.flat()
  const left = Math.min(...all.map(leftOf))
  for (const one of all) one.center -= left
  return Math.max(...all.map(rightOf)) + 1
}

export function leftOf({ center, width }: Vertex): number {
  return center - (width - 1) / 2
}

export function rightOf({ center, width }: Vertex): number {
  return center + (width - 1) / 2
}

function neighbours(lines: readonly Line[]): Neighbours {
  const above = new Map<Vertex, Vertex[]>()
  const below = new Map<Vertex, Vertex[]>()
  for (const { upper, lower } of lines) {
    below.set(upper, [...(below.get(upper) ?? []), lower])
    above.set(lower, [...(above.get(lower) ?? []), upper])
  }
  return { above, below }
}

/** The best order of those found from the declared one and from its mirror image. */
function order(ranks: Vertex[][], lines: readonly Line[], near: Neighbours): void {
  const declared = improved(ranks, lines, near)
  const mirrored = improved(
    ranks.map((rank) => rank.toReversed()),
    lines,
    near,
  )
  const best = crossings(mirrored, lines) < crossings(declared, lines) ? mirrored : declared
  for (const [i, rank] of best.entries()) ranks[i] = rank
}

/** Orders by the mean position of neighbours, alternately from above and from below. */
function improved(from: readonly Vertex[][], lines: readonly Line[], near: Neighbours): Vertex[][] {
  const ranks = from.map((rank) => [...rank])
  let best = from.map((rank) => [...rank])
  let fewest = crossings(best, lines)
  for (let i = 0; i < SWEEPS && fewest > 0; i++) {
    const down = i % 2 === 0
    for (const rank of down ? ranks : ranks.toReversed()) {
      sortByMean(rank, ranks, down ? near.above : near.below)
    }
    const now = crossings(ranks, lines)
    if (now >= fewest) continue
    fewest = now
    best = ranks.map((rank) => [...rank])
  }
  untangle(best, near.above, near.below)
  return best
}

function sortByMean(
  rank: Vertex[],
  ranks: readonly Vertex[][],
  near: ReadonlyMap<Vertex, readonly Vertex[]>,
): void {
  const key = new Map(
    rank.map((one, place) => {
      const places = (near.get(one) ?? []).map((other) => (ranks[other.rank] as Vertex[]).indexOf(other))
      return [one, places.length === 0 ? place : mean(places)]
    }),
  )
  rank.sort((a, b) => (key.get(a) as number) - (key.get(b) as number))
}

/** How often lines cross, with the ranks in their order. */
export function crossings(ranks: readonly Vertex[][], lines: readonly Line[]): number {
  const place = new Map(ranks.flatMap((rank) => rank.map((one, i): [Vertex, number] => [one, i])))
  const at = (one: Vertex) => place.get(one) as number
  const channels = ranks.map(() => [] as { net: string; above: number; below: number }[])
  let count = 0
  for (const { upper, lower, net } of lines) {
    const [above, below] = [at(upper), at(lower)]
    const beside = channels[upper.rank] ?? []
    for (const other of beside) {
      if (other.net !== net && (other.above - above) * (other.below - below) < 0) count++
    }
    beside.push({ net, above, below })
  }
  return count
}

/**
 * Moves the vertices of a rank towards the middle of their neighbours, minimizing the sum of squares: overlapping vertices
 * form a group that moves together (pool adjacent violators).
 */
function settle(rank: readonly Vertex[], near: ReadonlyMap<Vertex, readonly Vertex[]>): void {
  const groups: { target: number; members: number }[] = []
  const offsets: number[] = []
  for (const [i, one] of rank.entries()) {
    const before = rank[i - 1]
    const step = before === undefined ? 0 : (before.width + one.width) / 2 + GAP
    offsets.push((offsets[i - 1] ?? 0) + step)
    const others = near.get(one)
    const target = others === undefined ? one.center : mean(others.map(({ center }) => center))
    groups.push({ target: target - (offsets[i] as number), members: 1 })
    for (let last = groups.at(-1), next = groups.at(-2); last !== undefined && next !== undefined; ) {
      if (next.target < last.target) break
      const members = next.members + last.members
      const together = (next.target * next.members + last.target * last.members) / members
      groups.splice(-2, 2, { target: together, members })
      last = groups.at(-1)
      next = groups.at(-2)
    }
  }
  let i = 0
  for (const { target, members } of groups) {
    for (let n = 0; n < members; n++, i++) {
      ;(rank[i] as Vertex).center = Math.round(target) + (offsets[i] as number)
    }
  }
}

function mean(list: readonly number[]): number {
  return list.reduce((sum, one) => sum + one, 0) / list.length
}

const ROUNDS = 6

/**
 * Ordering by mean positions stops at ties; this swaps adjacent vertices as long as that removes a crossing. Changes the
 * order within the layers. Neighbours are those in the layer above, and in the one below.
 */
export function untangle<T>(
  layers: readonly T[][],
  above: ReadonlyMap<T, readonly T[]>,
  below: ReadonlyMap<T, readonly T[]>,
): void {
  const place = new Map(layers.flatMap((layer) => layer.map((one, i): [T, number] => [one, i])))
  const places = (list: readonly T[] | undefined) => (list ?? []).map((one) => place.get(one) ?? 0)
  const gain = (left: T, right: T) =>
    tangle(places(above.get(left)), places(above.get(right))) +
    tangle(places(below.get(left)), places(below.get(right)))
  for (let round = 0, better = true; round < ROUNDS && better; round++) {
    better = false
    for (const layer of layers) {
      for (let i = 0; i + 1 < layer.length; i++) {
        const [left, right] = [layer[i] as T, layer[i + 1] as T]
        if (gain(left, right) <= 0) continue
        layer.splice(i, 2, right, left)
        place.set(right, i).set(left, i + 1)
        better = true
      }
    }
  }
}

/** How many crossings a swap of the two would remove. */
function tangle(left: readonly number[], right: readonly number[]): number {
  let sum = 0
  for (const a of left) for (const b of right) sum += Math.sign(a - b)
  return sum
}
