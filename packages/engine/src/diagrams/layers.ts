/**
 * The shapes of one diagram in ranks, one below the other, as Sugiyama draws graphs: back arrows are reversed, labels are
 * vertices on their arrows, and an arrow that passes a rank has a bend there.
 *
 * 1. A line joins two vertices of neighbouring ranks.
 * 2. Lines that are drawn as one (a net) all begin at one vertex or all end at one: the drawing never
 *    suggests an arrow that the graph does not have.
 * 3. A bend has one net above it and one below it.
 */
import type { Arrow } from "./diagram.ts"

export interface Vertex {
  readonly kind: "part" | "label" | "bend"
  readonly id: number
  /** Odd, so that there is a middle. */
  width: number
  readonly height: number
  rank: number
  /** The column of its middle. */
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
  /** By link; undefined if it has no label. */
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

/** Every arrow as one span, or as two with its label between them, all from above to below. */
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

/** Cuts spans at the ranks that they pass. Spans with the same target and style merge as early as possible. */
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
