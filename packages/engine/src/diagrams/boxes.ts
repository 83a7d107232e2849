/** Draws a diagram as boxes and lines. */
import { cellWidth } from "../text/index.ts"
import type { Arrow } from "./arrow.ts"
import {
  type Border,
  type Canvas,
  canvasWidth,
  lineTone,
  paste,
  put,
  type Symbols,
  type Tone,
  toneOf,
} from "./canvas.ts"
import { type Diagram, type Frame, type Look, partsByEnd, type Shape, textLines } from "./diagram.ts"
import { crossings, type Layers, type Link, layersOf, leftOf, setColumns, type Vertex } from "./layers.ts"
import { drawChannel, makeRoom, routesOf } from "./routes.ts"

/** With more parts the diagram is unreadable, however wide the terminal is. */
const MAX_PARTS = 60
const MAX_ARROWS = 240
const MAX_CROSSINGS = 6

export interface Drawing {
  readonly canvas: Canvas
  /** The area of each part and each label, by its index in the diagram's list: column, row, width, height. */
  readonly parts: readonly BoxArea[]
  readonly labels: ReadonlyMap<number, BoxArea>
}

export interface BoxArea {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** Undefined if the diagram does not fit or would be hard to read. */
export function drawBoxes(diagram: Diagram, width: number, pen: Pen): Drawing | undefined {
  if (diagram.parts.length > MAX_PARTS || diagram.arrows.length > MAX_ARROWS) return undefined
  const ends = partsByEnd(diagram)
  const place = new Map(diagram.parts.map((part, i) => [part.id, i]))
  const at = (end: string) => place.get((ends.get(end) as Shape | Frame).id) as number
  const arrows = distinct(diagram.arrows)
  const labels = arrows.map(({ label }) => textLines(label, pen.maxWidth, pen.ascii))
  const loops = diagram.parts.map((_, i) =>
    arrows.flatMap(({ from, to, label }) => (at(from) === i && at(to) === i ? [label] : [])),
  )
  const links: Link[] = []
  const shownLabels: { readonly lines: readonly string[]; readonly index: number }[] = []
  for (const [i, { from, to, style }] of arrows.entries()) {
    if (at(from) === at(to)) continue
    const lines = labels[i] as string[]
    const size = { width: Math.max(0, ...lines.map(cellWidth)), height: lines.length }
    links.push({ from: at(from), to: at(to), style, label: lines.length === 0 ? undefined : size })
    shownLabels.push({ lines, index: diagram.arrows.indexOf(arrows[i] as Arrow) })
  }
  const blockOf = (i: number, room: number): Block | undefined => {
    const part = diagram.parts[i] as Shape | Frame
    if (part.kind !== "frame") return shapeBlock(part, loops[i] ?? [], room, pen)
    const inner = drawBoxes(part.diagram, width - 4, pen)
    return inner && frameBlock(part, inner.canvas, loops[i] ?? [], room, pen)
  }
  const first = diagram.parts.map((_, i) => blockOf(i, 0))
  if (!first.every((block) => block !== undefined)) return undefined
  const layers = layersOf(first, links)
  makeRoom(layers)
  const blocks = first.map((block, i) => {
    const room = layers.parts[i]?.width as number
    return room > block.width + 1 ? (blockOf(i, room) as Block) : block
  })
  for (const [i, vertex] of layers.parts.entries())
    vertex.width = Math.max(vertex.width, odd(blocks[i]?.width ?? 1))
  if (setColumns(layers) > width) return undefined
  if (crossings(layers.ranks, layers.lines) > MAX_CROSSINGS) return undefined
  return drawLayers(layers, blocks, shownLabels, pen)
}

function odd(width: number): number {
  return width + 1 - (width % 2)
}

function distinct(arrows: readonly Arrow[]): Arrow[] {
  const key = ({ from, to, style, label }: Arrow) => JSON.stringify([from, to, style, label])
  return [...new Map(arrows.map((arrow) => [key(arrow), arrow])).values()]
}

function drawLayers(
  layers: Layers,
  blocks: readonly Block[],
  shownLabels: readonly { readonly lines: readonly string[]; readonly index: number }[],
  pen: Pen,
): Drawing | undefined {
  const channels = routesOf(layers)
  if (channels === undefined) return undefined
  const canvas: Canvas = []
  const parts: BoxArea[] = []
  const labels = new Map<number, BoxArea>()
  let y = 0
  for (const [r, rank] of layers.ranks.entries()) {
    const height = Math.max(...rank.map((one) => one.height))
    for (const vertex of rank) {
      if (vertex.kind === "bend") continue
      const x = leftOf(vertex)
      const partAt = layers.parts.indexOf(vertex)
      const block = blocks[partAt]
      if (block !== undefined) {
        paste(canvas, x, y, block.canvas)
        parts[partAt] = { x, y, width: block.width, height: block.height }
      } else {
        const text = shownLabels[layers.labels.indexOf(vertex)] as (typeof shownLabels)[number]
        putLabel(canvas, vertex, y, text.lines, layers)
        labels.set(text.index, { x, y, width: vertex.width, height: vertex.height })
      }
    }
    const leave = (vertex: Vertex) => blocks[layers.parts.indexOf(vertex)]?.leave
    y = drawChannel(canvas, { below: channels[r], top: y, height, leave }, pen.symbols)
  }
  return canvasWidth(canvas) === 0 ? undefined : { canvas, parts, labels }
}

function putLabel(canvas: Canvas, vertex: Vertex, y: number, lines: readonly string[], layers: Layers): void {
  const style = layers.lines.find(({ upper }) => upper === vertex)?.style ?? "solid"
  for (const [dy, line] of lines.entries()) {
    const x = leftOf(vertex) + Math.floor((vertex.width - cellWidth(line)) / 2)
    put(canvas, x, y + dy, line, lineTone(style))
  }
}

/** Draws one part of a diagram as a block of cells, and its name in one line for a tree. */

/** How to draw: the characters, and how many cells of text fit in a line. */
export interface Pen {
  readonly symbols: Symbols
  readonly ascii: boolean
  readonly maxWidth: number
}

interface Block {
  readonly canvas: Canvas
  readonly width: number
  readonly height: number
  /** The symbol for a line that leaves its lower side; absent if the line begins below it. */
  readonly leave: string | undefined
}

type Brackets = (text: string, symbols: Symbols) => string

/** Marks, choices and joins have no box. */
const BRACKETS: Partial<Record<Look, Brackets>> = {
  start: (text) => `( ${text} )`,
  output: (text) => `( ${text} )`,
  limit: (text) => `( ${text} )`,
  end: (text) => `( ${text} )`,
  choice: (text) => `< ${text} >`,
  bar: (text, { bar }) => `${bar}${bar} ${text} ${bar}${bar}`,
}

/** A shape of at least this width, with room for outgoing lines. Labels of self loops are below its name. */
function shapeBlock(shape: Shape, loops: readonly string[], room: number, pen: Pen): Block {
  const { kind, label, caption } = shape
  const lines = [...namedLines(label, pen), ...loopLines(loops, pen)]
  const brackets = BRACKETS[kind]
  const tone = toneOf(kind)
  if (brackets === undefined) {
    const inner: Canvas = []
    for (const [y, line] of lines.entries()) put(inner, 0, y, line)
    return boxed(
      inner,
      textLines(caption, pen.maxWidth, pen.ascii)[0] ?? "",
      room,
      pen.symbols.border(kind),
      tone,
    )
  }
  const canvas: Canvas = []
  const maxWidth = Math.max(...lines.map(cellWidth), room - cellWidth(brackets("", pen.symbols)), 1)
  for (const [y, line] of lines.entries())
    put(canvas, 0, y, brackets(centred(line, maxWidth), pen.symbols), tone)
  return { canvas, width: canvasWidth(canvas), height: canvas.length, leave: undefined }
}

/** A frame around the drawing of a nested workflow. */
function frameBlock(frame: Frame, drawing: Canvas, loops: readonly string[], room: number, pen: Pen): Block {
  const inner: Canvas = []
  const lines = [...namedLines(frame.label, pen), ...loopLines(loops, pen)]
  for (const [y, line] of lines.entries()) put(inner, 0, y, line, "bold")
  paste(inner, 0, lines.length + 1, drawing)
  return boxed(inner, "", room, pen.symbols.border("frame"), toneOf("frame"))
}

/** The name of a part in a tree: in brackets, or followed by its kind. */
export function shapeName(part: Shape | Frame, pen: Pen): string {
  const whole = { ...pen, maxWidth: Number.POSITIVE_INFINITY }
  const label = part.kind === "frame" ? part.node : part.label
  const text = namedLines(label, whole).join(" ")
  if (part.kind === "frame") return `${text} [workflow]`
  const brackets = BRACKETS[part.kind]
  if (brackets !== undefined) return brackets(text, pen.symbols)
  const [caption] = textLines(part.caption, whole.maxWidth, pen.ascii)
  return caption === undefined ? text : `${text} [${caption}]`
}

function namedLines(label: string, { maxWidth, ascii }: Pen): string[] {
  const lines = textLines(label, maxWidth, ascii)
  return lines.length === 0 ? ['""'] : lines
}

function loopLines(loops: readonly string[], { symbols, maxWidth, ascii }: Pen): string[] {
  return loops.flatMap((label) => textLines(`${symbols.self} ${label}`, maxWidth, ascii))
}

function boxed(inner: Canvas, caption: string, room: number, border: Border, tone: Tone): Block {
  const { corners, level, upright, leave } = border
  const [upperLeft, upperRight, lowerRight, lowerLeft] = Array.from(corners)
  const title = caption === "" ? "" : ` ${caption} `
  const content = Math.max(canvasWidth(inner), cellWidth(title), room - 4)
  // The total width is odd, so that a line can leave in the middle.
  const width = content + 1 - (content % 2)
  const canvas: Canvas = []
  put(canvas, 0, 0, `${upperLeft}${level.repeat(width + 2)}${upperRight}`, tone)
  if (title !== "") put(canvas, 2, 0, title, tone)
  for (let y = 1; y <= inner.length; y++) {
    put(canvas, 0, y, upright, tone)
    put(canvas, width + 3, y, upright, tone)
  }
  put(canvas, 0, inner.length + 1, `${lowerLeft}${level.repeat(width + 2)}${lowerRight}`, tone)
  paste(canvas, 2 + Math.floor((width - canvasWidth(inner)) / 2), 1, inner)
  return { canvas, width: width + 4, height: inner.length + 2, leave }
}

function centred(line: string, maxWidth: number): string {
  const free = maxWidth - cellWidth(line)
  return `${" ".repeat(Math.floor(free / 2))}${line}${" ".repeat(Math.ceil(free / 2))}`
}
