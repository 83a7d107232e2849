/** Rows in columns that fit the terminal: numbers to the right, and one column that takes what room is left. */
import { clipped, foreignLine, padded, type Terminal, widthOf } from "./terminal.ts"

export interface Column {
  readonly title: string
  readonly align?: "right" | undefined
  /** It is cut off where the others leave too little room. Of several, the later ones first. */
  readonly canShrink?: boolean | undefined
  readonly paint?: ((text: string) => string) | undefined
}

const GAP = 2
const NARROWEST = 6

/** Cells are foreign text: a line break or a control character in one is no matter. */
export function printTable(
  terminal: Terminal,
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  indent = "",
): void {
  const cells = rows.map((row) => row.map(foreignLine))
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
  terminal.line(
    indent +
      line(
        columns.map(({ title }) => title),
        () => dim,
      ),
  )
  for (const row of cells) terminal.line(indent + line(row, ({ paint }) => paint ?? ((text) => text)))
}

function fittingWidths(
  columns: readonly Column[],
  cells: readonly (readonly string[])[],
  room: number,
): number[] {
  const widths = columns.map(({ title }, i) =>
    cells.reduce((most, row) => Math.max(most, widthOf(row[i] ?? "")), widthOf(title)),
  )
  let over = widths.reduce((sum, width) => sum + width + GAP, -GAP) - room
  for (let i = columns.length - 1; i >= 0 && over > 0; i--) {
    if (columns[i]?.canShrink !== true) continue
    const width = widths[i] as number
    const less = Math.min(over, Math.max(0, width - NARROWEST))
    widths[i] = width - less
    over -= less
  }
  return widths
}
