/** One part of a diagram as a block of cells, and its name in one line for a tree. */

import { cellWidth } from "../text/index.ts"
import {
  type Border,
  type Canvas,
  canvasWidth,
  paste,
  put,
  type Symbols,
  type Tone,
  toneOf,
} from "./canvas.ts"
import type { Frame, Look, Shape } from "./diagram.ts"
import { textLines } from "./labels.ts"

/** How to draw: the characters, and how many cells of text fit in a line. */
export interface Pen {
  readonly symbols: Symbols
  readonly ascii: boolean
  readonly maxWidth: number
}

export interface Block {
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
export function shapeBlock(shape: Shape, loops: readonly string[], room: number, pen: Pen): Block {
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
export function frameBlock(
  frame: Frame,
  drawing: Canvas,
  loops: readonly string[],
  room: number,
  pen: Pen,
): Block {
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
