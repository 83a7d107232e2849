/**
 * Assigns the shapes of one diagram to ranks, one below the other, by Sugiyama's method: back arrows are reversed, labels
 * are vertices on their arrows, and an arrow that crosses a rank has a bend there.
 *
 * 1. A line joins two vertices of adjacent ranks.
 * 2. Lines that are drawn as one (a net) share their first or their last vertex, so the drawing never suggests an arrow
 *    that the graph does not have.
 * 3. A bend has one net above it and one below it.
 */
import type { Arrow } from "./arrow.ts"

export interface Vertex {
  readonly kind: "part" | "label" | "bend"
  readonly id: number
  /** Odd, so that it has a centre. */
  width: number
  readonly height: number
  rank: number
  /** The column of its centre. */
  center: number
}

export interface Line {
  readonly upper: Vertex
  readonly lower: Vertex
  readonly style: Arrow["style"]
  /** The vertex belongs to an arrow that goes up. */
  readonly up: boolean
  net: string
}

/** An arrow between parts, by their indexes in the list of parts. */
export interface Link {
  readonly from: number
  readonly to: number
  readonly style: Arrow["style"]
  /** Absent if the arrow has no label. */
  readonly label: Size | undefined
}

export interface Size {
  readonly width: number
  readonly height: number
}

export interface Layers {
  readonly parts: readonly Vertex[]
  /** By link. Undefined if it has no label. */
  readonly labels: readonly (Vertex | undefined)[]
  readonly ranks: Vertex[][]
  readonly lines: Line[]
}

type Span = Omit<Line, "net">

export function layersOf(sizes: readonly Size[], links: readonly Link[]): Layers {
  let ids = 0
  const vertex = (kind: Vertex["kind"], { width, height }: Size): Vertex => ({
    kind,
    id: ids++,
    width: width + 1 - (width % 2),
    height,
    rank: 0,
    center: 0,
  })
  const parts = sizes.map((size) => vertex("part", size))
  const labels = links.map(({ label }) => (label === undefined ? undefined : vertex("label", label)))
  const spans = spansOf(parts, labels, links)
  const all = [...parts, ...labels.filter((label) => label !== undefined)]
  rank(all, spans)
  const bend = (at: number) => {
    const made = vertex("bend", { width: 1, height: 0 })
    made.rank = at
    all.push(made)
    return made
  }
  const lines = linesOf(spans, bend)
  const ranks: Vertex[][] = []
  for (const one of all) {
    ranks[one.rank] ??= []
    ranks[one.rank]?.push(one)
  }
  return { parts, labels, ranks, lines }
}

/** Every arrow as one span, or as two with its label between them, all directed downwards. */
function spansOf(
  parts: readonly Vertex[],
  labels: readonly (Vertex | undefined)[],
  links: readonly Link[],
): Span[] {
  const back = backLinks(parts.length, links)
  return links.flatMap((link, i) => {
    const { style } = link
    const up = back.has(link)
    const upper = parts[up ? link.to : link.from] as Vertex
    const lower = parts[up ? link.from : link.to] as Vertex
    const label = labels[i]
    if (label === undefined) return [{ upper, lower, style, up }]
    return [
      { upper, lower: label, style, up },
      { upper: label, lower, style, up },
    ]
  })
}

/** The links that close a cycle in a walk from the first part that follows links in order. */
function backLinks(count: number, links: readonly Link[]): ReadonlySet<Link> {
  const back = new Set<Link>()
  const state = new Map<number, "open" | "done">()
  const visit = (at: number): void => {
    state.set(at, "open")
    for (const link of links) {
      if (link.from !== at) continue
      const met = state.get(link.to)
      if (met === "open") back.add(link)
      else if (met === undefined) visit(link.to)
    }
    state.set(at, "done")
  }
  for (let i = 0; i < count; i++) if (!state.has(i)) visit(i)
  return back
}

/** Places each vertex one rank below its lowest predecessor; further roots right above their successors. */
function rank(all: readonly Vertex[], spans: readonly Span[]): void {
  let moved = true
  while (moved) {
    moved = false
    for (const { upper, lower } of spans) {
      if (lower.rank > upper.rank) continue
      lower.rank = upper.rank + 1
      moved = true
    }
  }
  for (const one of all.slice(1)) {
    if (spans.some(({ lower }) => lower === one)) continue
    const below = spans.filter(({ upper }) => upper === one).map(({ lower }) => lower.rank)
    if (below.length > 0) one.rank = Math.min(...below) - 1
  }
}

/** Cuts spans at the ranks that they cross. Spans with the same target and style merge as early as possible. */
function linesOf(spans: readonly Span[], bend: (rank: number) => Vertex): Line[] {
  const lines = new Map<string, Line>()
  const shared = new Map<string, Vertex>()
  const alone = (one: Vertex, style: string) =>
    spans.filter((span) => span.upper === one && span.style === style && !span.up).length === 1
  for (const { upper, lower, style, up } of spans) {
    let above = upper
    for (let at = upper.rank + 1; at <= lower.rank; at++) {
      const mayShare = up || at > upper.rank + 1 || alone(upper, style)
      const key = `${up ? `up ${upper.id}` : `in ${lower.id}`} ${style} ${at}`
      const below = at === lower.rank ? lower : ((mayShare ? shared.get(key) : undefined) ?? bend(at))
      if (below.kind === "bend" && mayShare) shared.set(key, below)
      lines.set(`${above.id} ${below.id} ${style} ${up}`, { upper: above, lower: below, style, up, net: "" })
      above = below
    }
  }
  return named([...lines.values()])
}

function named(lines: Line[]): Line[] {
  const leaving = new Map<string, number>()
  const source = ({ upper, style }: Line) => `${upper.id} ${style}`
  for (const line of lines) {
    if (!line.up) leaving.set(source(line), (leaving.get(source(line)) ?? 0) + 1)
  }
  for (const line of lines) {
    if (line.up) line.net = `up ${source(line)}`
    else
      line.net = leaving.get(source(line)) === 1 ? `in ${line.lower.id} ${line.style}` : `out ${source(line)}`
  }
  return lines
}

/** Assigns the vertices of each rank to columns: few crossings first, then straight lines. */

const SWEEPS = 8
const GAP = 2

interface Neighbours {
  readonly above: ReadonlyMap<Vertex, readonly Vertex[]>
  readonly below: ReadonlyMap<Vertex, readonly Vertex[]>
}

/** Orders the ranks and sets the centre of every vertex. Columns start at 0. Returns the number of columns. */
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

/** The number of line crossings with this order of the ranks. */
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
 * Moves the vertices of a rank towards the centre of their neighbours, minimizing the sum of squares: overlapping
 * vertices form a group that moves together (pool adjacent violators).
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

/** The number of crossings that a swap of the two would remove. */
function tangle(left: readonly number[], right: readonly number[]): number {
  let sum = 0
  for (const a of left) for (const b of right) sum += Math.sign(a - b)
  return sum
}
