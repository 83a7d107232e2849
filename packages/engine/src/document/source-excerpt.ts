/** A line of source with an underline, cut around the place when it is too long. */
import { cellsOf, graphemes, printable } from "../text/index.ts"

export interface Excerpt {
  readonly source: string
  /** Spaces before the underline. */
  readonly indent: number
  /** Columns it covers. */
  readonly length: number
}

/** A line longer than this is cut down before its characters are looked at one by one. */
const LONG = 2000

/** `column` from 1 and `length` in UTF-16 units, as in a source range; `width` is what the terminal has left. */
export function excerptOf(line: string, column: number, length: number, width: number): Excerpt {
  const skipped = line.length > LONG ? Math.max(0, column - 1 - LONG / 2) : 0
  const near = line.slice(skipped, skipped + LONG)
  const cells = lineCells(near)
  const from = column - 1 - skipped
  const first = indexOf(cells, from)
  const last = indexOf(cells, from + length - 1)
  const whole = near.length === line.length
  const window = windowAround(cells, first, last, width, whole)
  const shown = cells.slice(window.from, window.to)
  const before = skipped > 0 || window.from > 0 ? "…" : ""
  const after = skipped + near.length < line.length || window.to < cells.length ? "…" : ""
  return {
    source: (before + shown.map((cell) => cell.shown).join("") + after).trimEnd(),
    indent: before.length + columns(cells.slice(window.from, first)),
    length: Math.max(1, columns(cells.slice(first, Math.min(last + 1, window.to)))),
  }
}

/** The cell that holds a unit, or the number of cells when it lies behind them all. */
function indexOf(cells: readonly LineCell[], unit: number): number {
  const found = cells.findIndex((cell) => unit < cell.end)
  return found === -1 ? cells.length : found
}

function columns(cells: readonly LineCell[]): number {
  return cells.reduce((sum, cell) => sum + cell.width, 0)
}

/** The cells to show: all, or the place with what fits on both sides, and one column for each `…`. */
function windowAround(
  cells: readonly LineCell[],
  first: number,
  last: number,
  width: number,
  whole: boolean,
): { readonly from: number; readonly to: number } {
  // One more than the line, when the underline stands behind its end.
  const all = columns(cells) + (last >= cells.length ? 1 : 0)
  if (whole && all <= width) return { from: 0, to: cells.length }
  let room = width - 2 - (last >= cells.length ? 1 : 0)
  let from = first
  let to = first
  const take = (index: number): boolean => {
    const cell = cells[index]
    if (cell === undefined || cell.width > room) return false
    room -= cell.width
    return true
  }
  while (to <= last && take(to)) to++
  // What is left goes to both sides in turn, so that the place stays in the middle.
  for (let grows = true; grows; ) {
    grows = false
    if (take(from - 1)) {
      from--
      grows = true
    }
    if (take(to)) {
      to++
      grows = true
    }
  }
  return { from, to }
}

const TAB = 4

interface LineCell {
  /** Safe to print, and never a tab. */
  readonly shown: string
  readonly width: number
  /** Offset of its first UTF-16 unit in the line, and of the one behind its last. */
  readonly start: number
  readonly end: number
}

function lineCells(line: string): LineCell[] {
  const cells: LineCell[] = []
  let column = 0
  let start = 0
  for (const grapheme of graphemes(line)) {
    const isTab = grapheme === "\t"
    const shown = isTab ? " ".repeat(TAB - (column % TAB)) : printable(grapheme)
    const width = isTab ? shown.length : cellsOf(shown)
    const end = start + grapheme.length
    cells.push({ shown, width, start, end })
    column += width
    start = end
  }
  return cells
}
