/** A line of source as a terminal shows it, character by character. */
import { cellsOf, graphemes, printable } from "../../text/index.ts"

const TAB = 4

export interface LineCell {
  /** Safe to print, and never a tab. */
  readonly shown: string
  readonly width: number
  /** Offset of its first UTF-16 unit in the line, and of the one behind its last. */
  readonly start: number
  readonly end: number
}

export function lineCells(line: string): LineCell[] {
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
