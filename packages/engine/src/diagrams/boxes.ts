/** A diagram as boxes and lines. */

import { cellWidth } from "../text/index.ts"
import { type Block, frameBlock, type Pen, shapeBlock } from "./blocks.ts"
import { type Canvas, canvasWidth, lineTone, paste, put } from "./canvas.ts"
import { crossings, leftOf, setColumns } from "./columns.ts"
import { type Arrow, type Diagram, type Frame, partsByEnd, type Shape } from "./diagram.ts"
import { textLines } from "./labels.ts"
import { type Layers, type Link, layersOf, type Vertex } from "./layers.ts"
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
