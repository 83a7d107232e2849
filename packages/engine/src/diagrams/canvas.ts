/** A grid of terminal cells to draw on, and its lines as text, with or without colours. */
import { cellsOf, graphemes } from "../text/index.ts"

import type { Arrow } from "./arrow.ts"
import type { Look } from "./diagram.ts"

export type Tone = "plain" | "dim" | "bold" | "red" | "green" | "yellow" | "blue" | "magenta" | "cyan"

const CODES: Record<Tone, number> = {
  plain: 0,
  bold: 1,
  dim: 2,
  red: 31,
  green: 32,
  yellow: 33,
  blue: 34,
  magenta: 35,
  cyan: 36,
}

interface Cell {
  /** Empty for the right half of a wide character. */
  readonly text: string
  readonly tone: Tone
}

/** Row by row; rows have different lengths. */
export type Canvas = (Cell | undefined)[][]

export function put(canvas: Canvas, x: number, y: number, text: string, tone: Tone = "plain"): void {
  while (canvas.length <= y) canvas.push([])
  const row = canvas[y] as Canvas[number]
  let at = x
  for (const grapheme of graphemes(text)) {
    const cells = cellsOf(grapheme)
    const before = row[at - 1]
    if (cells === 0) {
      if (at > x && before !== undefined) row[at - 1] = { text: before.text + grapheme, tone }
      continue
    }
    row[at++] = { text: grapheme, tone }
    if (cells === 2) row[at++] = { text: "", tone }
  }
}

export function paste(canvas: Canvas, x: number, y: number, source: Canvas): void {
  for (const [dy, row] of source.entries()) {
    while (canvas.length <= y + dy) canvas.push([])
    const target = canvas[y + dy] as Canvas[number]
    for (const [dx, cell] of row.entries()) if (cell !== undefined) target[x + dx] = cell
  }
}

export function canvasWidth(canvas: Canvas): number {
  return Math.max(0, ...canvas.map((row) => row.length))
}

export function canvasLines(canvas: Canvas, color: boolean): string[] {
  return canvas.map((row) => (color ? coloured(row) : plain(row)))
}

function plain(row: Canvas[number]): string {
  return Array.from(row, (cell) => cell?.text ?? " ")
    .join("")
    .trimEnd()
}

function coloured(row: Canvas[number]): string {
  let line = ""
  let tone: Tone = "plain"
  for (const cell of row) {
    // A gap has no colour, so it does not end a coloured run.
    if (cell !== undefined && cell.tone !== tone) {
      line += `${tone === "plain" ? "" : "\u001b[0m"}${cell.tone === "plain" ? "" : `\u001b[${CODES[cell.tone]}m`}`
      tone = cell.tone
    }
    line += cell?.text ?? " "
  }
  return tone === "plain" ? line.trimEnd() : `${line.trimEnd()}\u001b[0m`
}

/** The corners clockwise from the upper left, the horizontal and the vertical side, and a line that leaves below. */
export interface Border {
  readonly corners: string
  readonly level: string
  readonly upright: string
  readonly leave: string
}

/** The directions in which a line continues from a cell. */
export const NORTH = 1
export const EAST = 2
export const SOUTH = 4
export const WEST = 8

export interface Symbols {
  /** Indexed by the sum of the directions. */
  readonly joints: string
  readonly dashed: { readonly level: string; readonly upright: string }
  readonly down: string
  readonly up: string
  readonly self: string
  readonly back: string
  readonly refer: string
  readonly chain: string
  readonly branch: string
  readonly lastBranch: string
  readonly bar: string
  readonly border: (look: Look | "frame") => Border
}

const BOX: Border = { corners: "┌┐┘└", level: "─", upright: "│", leave: "┬" }
const ROUND: Border = { corners: "╭╮╯╰", level: "─", upright: "│", leave: "┬" }
const DOUBLE: Border = { corners: "╔╗╝╚", level: "═", upright: "║", leave: "╤" }
const HEAVY: Border = { corners: "┏┓┛┗", level: "━", upright: "┃", leave: "┯" }
const PLAIN: Border = { corners: "++++", level: "-", upright: "|", leave: "+" }

const BORDERS: Partial<Record<Look | "frame", Border>> = { agent: ROUND, human: DOUBLE, frame: HEAVY }

export const UNICODE: Symbols = {
  joints: " │─└││┌├─┘─┴┐┤┬┼",
  dashed: { level: "╌", upright: "╎" },
  down: "▼",
  up: "▲",
  self: "↺",
  back: "↺ back to",
  refer: "→",
  chain: "↓",
  branch: "├─",
  lastBranch: "└─",
  bar: "═",
  border: (look) => BORDERS[look] ?? BOX,
}

export const ASCII: Symbols = {
  joints: " |-+||++-+-+++++",
  dashed: { level: ".", upright: ":" },
  down: "v",
  up: "^",
  self: "^",
  back: "^ back to",
  refer: "->",
  chain: "v",
  branch: "|-",
  lastBranch: "`-",
  bar: "=",
  border: () => PLAIN,
}

const TONES: Partial<Record<Look | "frame", Tone>> = {
  start: "green",
  output: "green",
  end: "green",
  limit: "red",
  agent: "cyan",
  tool: "blue",
  human: "magenta",
  choice: "yellow",
  bar: "yellow",
}

export function toneOf(look: Look | "frame"): Tone {
  return TONES[look] ?? "plain"
}

export function lineTone(style: Arrow["style"]): Tone {
  return style === "error" ? "red" : "dim"
}
