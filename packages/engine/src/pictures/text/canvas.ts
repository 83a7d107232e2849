/** A grid of terminal cells to draw on, and its lines as text, with or without colours. */
import { cellsOf, graphemes } from "../../text/index.ts"

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
  /** Empty: the right half of a wide one. */
  readonly text: string
  readonly tone: Tone
}

/** Row by row; a row is as long as what is drawn on it. */
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
    // A gap has no colour of its own: it does not end a run.
    if (cell !== undefined && cell.tone !== tone) {
      line += `${tone === "plain" ? "" : "\u001b[0m"}${cell.tone === "plain" ? "" : `\u001b[${CODES[cell.tone]}m`}`
      tone = cell.tone
    }
    line += cell?.text ?? " "
  }
  return tone === "plain" ? line.trimEnd() : `${line.trimEnd()}\u001b[0m`
}
