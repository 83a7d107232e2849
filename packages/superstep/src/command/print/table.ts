/** Prints rows in columns that fit the terminal: numbers are right-aligned, and long columns shrink. */
import { clipped, padded, sanitizeLine, type Terminal, widthOf } from "../terminal/terminal.ts"

export interface Column {
  readonly title: string
  readonly align?: "right" | undefined
  /** Cut off if the others leave too little room. Of several, the last shrinks first. */
  readonly canShrink?: boolean | undefined
  readonly paint?: ((text: string) => string) | undefined
}

const GAP = 2
const MIN_WIDTH = 6

/** Cells are sanitized. */
export function printTable(
  terminal: Terminal,
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  indent = "",
): void {
  const cells = rows.map((row) => row.map(sanitizeLine))
  const widths = fittingWidths(columns, cells, terminal.width - indent.length)
  const line = (texts: readonly string[], paint: (column: Column) => (text: string) => string) =>
    columns
      .map((column, i) => {
        const width = widths[i] ?? 0
        const text = clipped(texts[i] ?? "", width)
        const isLast = i === columns.length - 1
        if (column.align === "right") return " ".repeat(width - widthOf(text)) + paint(column)(text)
        return isLast ? paint(column)(text) : padded(paint(column)(text), width)
      })
      .join(" ".repeat(GAP))
      .trimEnd()
  const { dim } = terminal.paint
  const titles = columns.map(({ title }) => title)
  terminal.line(indent + line(titles, () => dim))
  for (const row of cells) terminal.line(indent + line(row, ({ paint }) => paint ?? ((text) => text)))
}

function fittingWidths(
  columns: readonly Column[],
  cells: readonly (readonly string[])[],
  room: number,
): number[] {
  const widths = columns.map(({ title }, i) =>
    cells.reduce((max, row) => Math.max(max, widthOf(row[i] ?? "")), widthOf(title)),
  )
  let over = widths.reduce((sum, width) => sum + width + GAP, -GAP) - room
  for (let i = columns.length - 1; i >= 0 && over > 0; i--) {
    if (columns[i]?.canShrink !== true) continue
    const width = widths[i] as number
    const less = Math.min(over, Math.max(0, width - MIN_WIDTH))
    widths[i] = width - less
    over -= less
  }
  return widths
}
