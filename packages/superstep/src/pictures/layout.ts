/**
 * Where everything in a picture stands, laid out in layers by dagre. A nested workflow is laid out by itself and
 * then takes part as one big box, so that nothing else can come to lie inside it. The same picture gives the same
 * places.
 */
import { Graph, layout } from "@dagrejs/dagre"
import {
  type Arrow,
  type Frame,
  type Look,
  type Picture,
  partsByEnd,
  type Shape,
} from "@superstep/engine/pictures"
import { around, between } from "./arrow-line.ts"
import { orderLayers } from "./layer-order.ts"
import { textWidth, wrapped } from "./measure.ts"
import { type Point, type Size, sizeAround } from "./outline.ts"

export const FONT = { name: 13, small: 11 }
export const LEADING = { name: 17, small: 14 }
const FRAME_PADDING = 16

export interface PlacedShape extends Size, Point {
  readonly look: Look
  readonly lines: readonly string[]
  readonly caption: string
  readonly many: boolean
}

/** Its own middle, and the middle of what is inside, moved to where it stands. */
export interface PlacedFrame extends Size, Point {
  readonly look: "frame"
  readonly lines: readonly string[]
  readonly many: boolean
  readonly inside: Placed
}

export interface PlacedArrow {
  readonly style: Arrow["style"]
  readonly points: readonly Point[]
  readonly label: (Point & Size & { readonly lines: readonly string[] }) | undefined
}

export type PlacedPart = PlacedShape | PlacedFrame

/** The middles of shapes are counted from the upper left corner of the whole. */
export interface Placed extends Size {
  readonly parts: readonly PlacedPart[]
  readonly arrows: readonly PlacedArrow[]
}

/** A part with its size, before it has a place. */
type Sized = { readonly part: Shape; readonly lines: readonly string[] } & Size
type SizedFrame = { readonly part: Frame; readonly lines: readonly string[]; readonly inside: Placed } & Size

export function place(picture: Picture): Placed {
  const graph = new Graph({ multigraph: true })
  graph.setGraph({ rankdir: "TB", nodesep: 36, edgesep: 18, ranksep: 38, marginx: 8, marginy: 8 })
  const sized = picture.parts.map((part) => (part.kind === "frame" ? sizeFrame(part) : sizeShape(part)))
  for (const { part, width, height } of sized) graph.setNode(part.id, { width, height })
  const ends = partsByEnd(picture)
  const idOf = (end: string) => (ends.get(end) as Shape | Frame).id
  const labels = picture.arrows.map(({ label }) => wrapped(label, 150, FONT.small))
  for (const [i, { from, to }] of picture.arrows.entries()) {
    const size = labelSize(labels[i] as string[])
    graph.setEdge(idOf(from), idOf(to), { ...size, labelpos: "c" }, `${i}`)
  }
  layout(graph, { customOrder: orderLayers })
  const parts = sized.map((one) => placePart(one, graph.node(one.part.id) as Point))
  const byId = new Map(sized.map(({ part }, i) => [part.id, parts[i] as PlacedPart]))
  const arrows = picture.arrows.map(({ from, to, style }, i): PlacedArrow => {
    const edge = graph.edge(idOf(from), idOf(to), `${i}`) as Point & { points: Point[] }
    const [first, last] = [byId.get(idOf(from)), byId.get(idOf(to))] as [PlacedPart, PlacedPart]
    const size = labelSize(labels[i] as string[])
    const points =
      first === last ? around(first, edge.x, size) : between(first, last, edge.points.slice(1, -1))
    const lines = labels[i] as string[]
    return { style, points, label: lines.length === 0 ? undefined : { x: edge.x, y: edge.y, ...size, lines } }
  })
  return fitted(parts, arrows)
}

function sizeShape(part: Shape): Sized {
  const most = part.kind === "choice" ? 110 : 190
  const lines = wrapped(part.label, most, FONT.name)
  const caption = shownCaption(part)
  const width = Math.max(
    24,
    textWidth(caption, FONT.small),
    ...lines.map((line) => textWidth(line, FONT.name)),
  )
  const height = Math.max(1, lines.length) * LEADING.name + (caption === "" ? 0 : LEADING.small)
  return { part, lines, ...sizeAround(part.kind, { width, height }) }
}

/** A choice and a bar say by their shapes what they are. */
function shownCaption({ kind, caption }: Shape): string {
  return kind === "choice" || kind === "bar" || kind === "end"
    ? ""
    : (wrapped(caption, 190, FONT.small)[0] ?? "")
}

function sizeFrame(part: Frame): SizedFrame {
  const inside = place(part.picture)
  const lines = wrapped(part.label, Math.max(190, inside.width), FONT.name)
  const title = Math.max(...lines.map((line) => textWidth(line, FONT.name)), 0)
  const width = Math.max(inside.width, title) + 2 * FRAME_PADDING
  return { part, lines, inside, width, height: inside.height + frameHead(lines) + FRAME_PADDING }
}

function frameHead(lines: readonly string[]): number {
  return lines.length * LEADING.name + 16
}

function placePart(sized: Sized | SizedFrame, { x, y }: Point): PlacedPart {
  const { width, height, lines, part } = sized
  if (!("inside" in sized)) {
    const { kind, many } = part as Shape
    return { look: kind, x, y, width, height, lines, caption: shownCaption(part as Shape), many }
  }
  const dx = x - sized.inside.width / 2
  const dy = y - height / 2 + frameHead(lines)
  return { look: "frame", x, y, width, height, lines, many: part.many, inside: moved(sized.inside, dx, dy) }
}

function labelSize(lines: readonly string[]): Size {
  if (lines.length === 0) return { width: 0, height: 0 }
  const width = Math.max(...lines.map((line) => textWidth(line, FONT.small))) + 8
  return { width, height: lines.length * LEADING.small + 2 }
}

/** Moved so that nothing is left of or above zero, whatever a line of dagre's does. */
function fitted(parts: Placed["parts"], arrows: readonly PlacedArrow[]): Placed {
  const boxes: (Point & Size)[] = [
    ...parts,
    ...arrows.flatMap(({ points, label }) => [
      ...points.map((point) => ({ ...point, width: 16, height: 16 })),
      ...(label === undefined ? [] : [label]),
    ]),
  ]
  const left = Math.min(...boxes.map(({ x, width }) => x - width / 2))
  const top = Math.min(...boxes.map(({ y, height }) => y - height / 2))
  const width = Math.ceil(Math.max(...boxes.map((box) => box.x + box.width / 2)) - left)
  const height = Math.ceil(Math.max(...boxes.map((box) => box.y + box.height / 2)) - top)
  return moved({ parts, arrows, width, height }, -left, -top)
}

export function moved(placed: Placed, dx: number, dy: number): Placed {
  const shift = <T extends Point>(one: T): T => ({ ...one, x: one.x + dx, y: one.y + dy })
  return {
    ...placed,
    parts: placed.parts.map((part) =>
      part.look === "frame" ? { ...shift(part), inside: moved(part.inside, dx, dy) } : shift(part),
    ),
    arrows: placed.arrows.map(({ style, points, label }) => ({
      style,
      points: points.map(shift),
      label: label === undefined ? undefined : shift(label),
    })),
  }
}
