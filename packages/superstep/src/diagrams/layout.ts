/**
 * The layout of a diagram, computed in layers by dagre. A nested workflow is laid out separately and then placed as one
 * large box, so that nothing else overlaps it. The same diagram gets the same layout.
 */

import { Graph, layout } from "@dagrejs/dagre"
import { SuperstepError } from "@superstep/engine/core"
import {
  type Arrow,
  type Diagram,
  type Frame,
  labelLines,
  partsByEnd,
  type Shape,
  type Look as ShapeLook,
  untangle,
  wrap,
} from "@superstep/engine/diagrams"

/** Geometry of each kind of shape: its size around text, its corners, and where an arrow meets it. */

export type Look = ShapeLook | "frame"

export interface Point {
  readonly x: number
  readonly y: number
}

export interface Size {
  readonly width: number
  readonly height: number
}

/** How a shape is drawn: as a polygon, or as a box with a corner radius. */
export type Form = "polygon" | "cylinder" | "lined" | number

interface Outline {
  readonly form: Form
  /** Added to the size of the text. */
  readonly padding: readonly [width: number, height: number]
}

/** The inset of slanted sides. */
const SLANT = 12
const PILL: Outline = { form: 999, padding: [32, 12] }
const SLANTED: Outline = { form: "polygon", padding: [2 * SLANT + 16, 18] }

const OUTLINES: Record<Look, Outline> = {
  start: PILL,
  output: PILL,
  limit: PILL,
  end: PILL,
  box: { form: 3, padding: [28, 18] },
  agent: { form: 12, padding: [28, 18] },
  tool: SLANTED,
  human: SLANTED,
  handoff: SLANTED,
  state: { form: "cylinder", padding: [28, 32] },
  workflow: { form: "lined", padding: [40, 18] },
  choice: { form: "polygon", padding: [12, 12] },
  bar: { form: 3, padding: [24, 8] },
  frame: { form: 6, padding: [0, 0] },
}

export function formOf(look: Look): Form {
  return OUTLINES[look].form
}

/** The size of a shape around text of this size. */
function sizeAround(look: Look, text: Size): Size {
  const [dx, dy] = OUTLINES[look].padding
  const [width, height] = [text.width + dx, text.height + dy]
  if (look === "bar") return { width: Math.max(width, 90), height }
  if (look !== "choice") return { width, height }
  // A rhombus holds a box if width/w + height/h is at most 1.
  const tall = height + text.height
  return { width: Math.ceil(text.width / (1 - text.height / tall)) + dx, height: tall }
}

/** The corners of a shape around its centre, clockwise. */
export function corners({ look, x, y, width, height }: Point & Size & { readonly look: Look }): Point[] {
  return outlineOffsets(look, width / 2, height / 2).map(([dx, dy]) => ({ x: x + dx, y: y + dy }))
}

type Offset = readonly [dx: number, dy: number]

function outlineOffsets(look: Look, w: number, h: number): readonly Offset[] {
  const ring = (...offsets: Offset[]) => offsets
  const mirrored = (right: readonly Offset[]) => [...right, ...right.map(([dx, dy]): Offset => [-dx, -dy])]
  switch (look) {
    case "choice":
      return ring([0, -h], [w, 0], [0, h], [-w, 0])
    case "tool":
      return mirrored(ring([w - 8, -h], [w, 8 - h], [w, h - 8], [w - 8, h]))
    case "human":
      return ring([-w, -h], [w, -h], [w - SLANT, h], [-w + SLANT, h])
    case "handoff":
      return ring([-w, -h], [w - SLANT, -h], [w, 0], [w - SLANT, h], [-w, h])
  }
  if (OUTLINES[look] !== PILL) return ring([-w, -h], [w, -h], [w, h], [-w, h])
  const angles = Array.from({ length: 9 }, (_, i) => (i / 8) * Math.PI - Math.PI / 2)
  return mirrored(angles.map((angle): Offset => [w - h + h * Math.cos(angle), h * Math.sin(angle)]))
}

/** Where a line from the centre of a shape to a point crosses the border. */
function borderPoint(polygon: readonly Point[], middle: Point, towards: Point): Point {
  const [dx, dy] = [towards.x - middle.x, towards.y - middle.y]
  let best = Number.POSITIVE_INFINITY
  for (const [i, a] of polygon.entries()) {
    const b = polygon[(i + 1) % polygon.length] as Point
    const [ex, ey] = [b.x - a.x, b.y - a.y]
    const cross = dx * ey - dy * ex
    if (Math.abs(cross) < 1e-9) continue
    const t = ((a.x - middle.x) * ey - (a.y - middle.y) * ex) / cross
    const along = ((a.x - middle.x) * dy - (a.y - middle.y) * dx) / cross
    if (t > 0 && along >= -1e-9 && along <= 1 + 1e-9) best = Math.min(best, t)
  }
  return best === Number.POSITIVE_INFINITY ? middle : { x: middle.x + best * dx, y: middle.y + best * dy }
}

export const FONT = { name: 13, small: 11 }
export const LEADING = { name: 17, small: 14 }
const FRAME_PADDING = 16
/** dagre recurses along paths, and its run time grows with the layers that arrows cross. */
const MAX_PARTS = 1_500
/** Parts and bends of arrows. */
const MAX_NODES = 10_000

export interface PlacedShape extends Size, Point {
  readonly look: Shape["kind"]
  readonly lines: readonly string[]
  readonly caption: string
  readonly many: boolean
}

/** Its own centre, and the centres of its content, relative to the diagram. */
export interface PlacedFrame extends Size, Point {
  readonly look: "frame"
  readonly lines: readonly string[]
  readonly many: boolean
  readonly inside: Placed
}

interface Label extends Size {
  readonly lines: readonly string[]
}

export interface PlacedArrow {
  readonly style: Arrow["style"]
  readonly points: readonly Point[]
  readonly label: (Point & Label) | undefined
}

type PlacedPart = PlacedShape | PlacedFrame

/** Centres of shapes are relative to the upper left corner. */
export interface Placed extends Size {
  readonly parts: readonly PlacedPart[]
  readonly arrows: readonly PlacedArrow[]
}

function tooLarge(): SuperstepError {
  const message =
    "The graph is too large to be laid out as an SVG. Draw it with toDot and Graphviz, or with toMermaid."
  return new SuperstepError("DIAGRAM_TOO_LARGE", message, { retryable: false })
}

export function place(diagram: Diagram): Placed {
  if (diagram.parts.length > MAX_PARTS) throw tooLarge()
  const graph = new Graph({ multigraph: true })
  graph.setGraph({ rankdir: "TB", nodesep: 36, edgesep: 18, ranksep: 38, marginx: 8, marginy: 8 })
  const sized = diagram.parts.map((part) => (part.kind === "frame" ? frameOf(part) : shapeOf(part)))
  for (const [i, { width, height }] of sized.entries()) graph.setNode(`${i}`, { width, height })
  const ends = partsByEnd(diagram)
  const indexes = new Map(diagram.parts.map((part, i) => [part, i]))
  const at = (end: string) => indexes.get(ends.get(end) as Shape | Frame) as number
  const labels = diagram.arrows.map(({ label }) => labelOf(label))
  for (const [i, { from, to }] of diagram.arrows.entries()) {
    const { width, height } = labels[i] as Label
    graph.setEdge(`${at(from)}`, `${at(to)}`, { width, height, labelpos: "c" }, `${i}`)
  }
  layout(graph, { customOrder: orderLayers })
  const parts = sized.map((part, i) => {
    const { x, y } = graph.node(`${i}`) as Point
    return movedPart(part, x, y)
  })
  const arrows = diagram.arrows.map(({ from, to, style }, i): PlacedArrow => {
    const { x, y, points } = graph.edge(`${at(from)}`, `${at(to)}`, `${i}`) as Point & { points: Point[] }
    const [first, last] = [parts[at(from)], parts[at(to)]] as [PlacedPart, PlacedPart]
    const label = labels[i] as Label
    const line = first === last ? selfLoop(first, x, label) : between(first, last, points.slice(1, -1))
    return { style, points: line, label: label.lines.length === 0 ? undefined : { ...label, x, y } }
  })
  return fitted(parts, arrows)
}

/** A shape around the origin. */
function shapeOf({ kind, label, caption: fullCaption, many }: Shape): PlacedShape {
  const lines = wrapped(label, kind === "choice" ? 110 : 190, FONT.name)
  // A choice, a bar and an end are recognizable by their shape.
  const isPlain = kind === "choice" || kind === "bar" || kind === "end"
  const caption = isPlain ? "" : (wrapped(fullCaption, 190, FONT.small)[0] ?? "")
  const width = Math.max(24, textWidth(caption, FONT.small), widest(lines, FONT.name))
  const height = Math.max(1, lines.length) * LEADING.name + (caption === "" ? 0 : LEADING.small)
  return { look: kind, x: 0, y: 0, ...sizeAround(kind, { width, height }), lines, caption, many }
}

/** A frame around the origin. */
function frameOf({ label, many, diagram }: Frame): PlacedFrame {
  const inside = place(diagram)
  const lines = wrapped(label, Math.max(190, inside.width), FONT.name)
  const head = lines.length * LEADING.name + 16
  const width = Math.max(inside.width, widest(lines, FONT.name)) + 2 * FRAME_PADDING
  const height = inside.height + head + FRAME_PADDING
  const shown = moved(inside, -inside.width / 2, head - height / 2)
  return { look: "frame", x: 0, y: 0, width, height, lines, many, inside: shown }
}

function labelOf(label: string): Label {
  const lines = wrapped(label, 150, FONT.small)
  if (lines.length === 0) return { lines, width: 0, height: 0 }
  return { lines, width: widest(lines, FONT.small) + 8, height: lines.length * LEADING.small + 2 }
}

function widest(lines: readonly string[], size: number): number {
  return Math.max(0, ...lines.map((line) => textWidth(line, size)))
}

/** Shifts everything so that no coordinate is negative, wherever dagre draws a line. */
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
  return {
    ...placed,
    parts: placed.parts.map((part) => movedPart(part, dx, dy)),
    arrows: placed.arrows.map(({ style, points, label }) => ({
      style,
      points: points.map((point) => shifted(point, dx, dy)),
      label: label && shifted(label, dx, dy),
    })),
  }
}

function movedPart(part: PlacedPart, dx: number, dy: number): PlacedPart {
  const at = shifted(part, dx, dy)
  return at.look === "frame" ? { ...at, inside: moved(at.inside, dx, dy) } : at
}

function shifted<T extends Point>(one: T, dx: number, dy: number): T {
  return { ...one, x: one.x + dx, y: one.y + dy }
}

/** The part of dagre's graph that is read here: each node has a layer and a position in it. */
interface Layered {
  nodes(): string[]
  node(id: string): { rank?: number; order?: number }
  predecessors(id: string): string[] | undefined
  successors(id: string): string[] | undefined
}

/** Orders the nodes within dagre's layers, and removes crossings that dagre leaves. */
function orderLayers(graph: Layered, order: (graph: Layered) => void): void {
  if (graph.nodes().length > MAX_NODES) throw tooLarge()
  order(graph)
  const ids = graph.nodes()
  const layers: string[][] = []
  for (const id of ids) {
    const { rank = 0, order: place = 0 } = graph.node(id)
    layers[rank] ??= []
    ;(layers[rank] as string[])[place] = id
  }
  const full = layers.filter((layer) => layer !== undefined)
  untangle(
    full,
    new Map(ids.map((id) => [id, graph.predecessors(id) ?? []])),
    new Map(ids.map((id) => [id, graph.successors(id) ?? []])),
  )
  for (const layer of full) for (const [place, id] of layer.entries()) graph.node(id).order = place
}

/** The distance before its tip at which an arrow from the side turns vertical. */
const APPROACH = 12

/** From one part to another, through the points in between. */
function between(first: PlacedPart, last: PlacedPart, inner: readonly Point[]): Point[] {
  const start = meet(first, inner[0] ?? last)
  const end = meet(last, inner.at(-1) ?? first)
  return [start, ...inner, ...approach(last, inner.at(-1) ?? start, end), end]
}

/** From a part back to itself, around a label beside it. */
function selfLoop(part: PlacedPart, x: number, { height }: Size): Point[] {
  const far = Math.max(14, height / 2 + 6)
  const inner = [
    { x, y: part.y - far },
    { x, y: part.y + far },
  ] as const
  const outline = corners(part)
  return [borderPoint(outline, part, inner[0]), ...inner, borderPoint(outline, part, inner[1])]
}

/** Directly above or below the point if possible, otherwise as close to that as the shape allows. */
function meet(part: PlacedPart, point: Point): Point {
  const outline = corners(part)
  if (Math.abs(point.y - part.y) < part.height / 2) return borderPoint(outline, part, point)
  const reach = part.width * 0.35
  const x = Math.min(Math.max(point.x, part.x - reach), part.x + reach)
  return borderPoint(outline, { x, y: part.y }, { x, y: point.y })
}

function approach(part: PlacedPart, before: Point, end: Point): Point[] {
  const room = Math.abs(before.y - end.y)
  const fromSide = Math.abs(before.x - end.x) > 1
  if (!fromSide || room < APPROACH || Math.abs(before.y - part.y) < part.height / 2) return []
  return [{ x: end.x, y: end.y + Math.sign(before.y - end.y) * APPROACH }]
}

const NARROW = /[ijlftrI1.,:;'|!()[\]{} /\\-]/u
const BROAD = /[mwMW@%—…×]/u
const CAPITAL = /[\p{Lu}\d&#$?_<>=+~]/u
const PLAIN = /[\u0020-\u024f]/u
const NONE = /[\p{M}\p{Cf}]/u

/**
 * An estimate of the width of text in pixels. The reader's font is unknown, so the widths are those of a wide common
 * font: text always fits.
 */
export function textWidth(text: string, size: number): number {
  let em = 0
  for (const character of text) {
    if (NONE.test(character)) continue
    if (NARROW.test(character)) em += 0.42
    else if (BROAD.test(character)) em += 1
    else if (CAPITAL.test(character)) em += 0.74
    else em += PLAIN.test(character) ? 0.62 : 1.1
  }
  return Math.ceil(em * size)
}

/** Wraps a label to a width in pixels. */
function wrapped(label: string, maxWidth: number, size: number): string[] {
  return labelLines(label).flatMap((line) => wrap(line, maxWidth, (text) => textWidth(text, size)))
}
