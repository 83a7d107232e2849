/**
 * Prints diagnostics for a terminal, like a compiler: position, severity and code on a line that tools can parse; the
 * message; the underlined source; a suggestion; and a count at the end.
 */
import { cellsOf, cellWidth, graphemes, printable, wrapText } from "../text/index.ts"
import { type Diagnostic, linesOf, type SourceRange } from "./diagnostic.ts"

export interface PrintOptions {
  readonly color: boolean
  /** Columns of the terminal, 80 by default. File names are never truncated, so that they can be clicked. */
  readonly width?: number
}

/** Maximum diagnostics to print; the count at the end covers all. */
const MAX = 100
const NARROWEST = 40

type Paint = (text: string) => string

interface Style {
  readonly width: number
  readonly bold: Paint
  readonly dim: Paint
  readonly suggestion: Paint
  readonly severity: Record<Diagnostic["severity"], Paint>
}

/** In the order of the text, file by file. Ends with a line break, or is empty if there are no diagnostics. */
export function printDiagnostics(
  diagnostics: readonly Diagnostic[],
  sources: (file: string) => string | undefined,
  options: PrintOptions,
): string {
  if (diagnostics.length === 0) return ""
  const style = styleOf(options)
  const lineAt = lineReader(sources)
  const sorted = inOrder(diagnostics)
  const blocks = sorted.slice(0, MAX).map((one) => blockOf(one, lineAt, style).join("\n"))
  if (sorted.length > MAX) blocks.push(`… and ${sorted.length - MAX} more`)
  return `${[...blocks, summaryOf(diagnostics, style)].join("\n\n")}\n`
}

function blockOf(
  diagnostic: Diagnostic,
  lineAt: (place: SourceRange) => string | undefined,
  style: Style,
): string[] {
  const { severity, code, message, place, suggestion } = diagnostic
  const paint = style.severity[severity]
  const where = place && `${printable(place.file)}:${place.line}:${place.column}: `
  const lines = [`${style.bold(where ?? "")}${paint(`${severity} ${printable(code)}`)}`]
  for (const line of wrapText(printable(message), style.width - 2)) lines.push(`  ${line}`)

  const source = place && lineAt(place)
  const meant = suggestion === undefined ? undefined : `did you mean \`${printable(suggestion)}\`?`
  if (place === undefined || source === undefined) {
    if (meant !== undefined)
      lines.push(...wrapText(meant, style.width - 2).map((line) => `  ${style.suggestion(line)}`))
    return lines
  }
  const number = String(place.line)
  const gutter = (text: string) => style.dim(`  ${text.padStart(number.length)} |`)
  const room = style.width - number.length - 5
  const { source: shown, indent, length } = excerptOf(source, place.column, place.length, room)
  const underline = `${" ".repeat(indent)}${paint(`^${"~".repeat(length - 1)}`)}`
  lines.push(`${gutter(number)} ${shown}`.trimEnd())
  if (meant !== undefined && indent + length + 1 + cellWidth(meant) <= room) {
    return [...lines, `${gutter("")} ${underline} ${style.suggestion(meant)}`]
  }
  const below = meant === undefined ? [] : wrapText(meant, room).map(style.suggestion)
  return [...lines, ...[underline, ...below].map((line) => `${gutter("")} ${line}`)]
}

function inOrder(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const files = new Map<string | undefined, number>()
  for (const { place } of diagnostics) if (!files.has(place?.file)) files.set(place?.file, files.size)
  const fileOf = ({ place }: Diagnostic) => files.get(place?.file) ?? 0
  return [...diagnostics].sort(
    (a, b) =>
      fileOf(a) - fileOf(b) ||
      (a.place?.line ?? 0) - (b.place?.line ?? 0) ||
      (a.place?.column ?? 0) - (b.place?.column ?? 0),
  )
}

function lineReader(
  sources: (file: string) => string | undefined,
): (place: SourceRange) => string | undefined {
  const known = new Map<string, readonly string[]>()
  return ({ file, line }) => {
    const lines = known.get(file) ?? linesOf(sources(file) ?? "")
    known.set(file, lines)
    const text = lines[line - 1]
    return text === "" && lines.length === 1 ? undefined : text
  }
}

function summaryOf(diagnostics: readonly Diagnostic[], style: Style): string {
  const errors = diagnostics.filter(({ severity }) => severity === "error").length
  const warnings = diagnostics.length - errors
  const parts: string[] = []
  if (errors > 0) parts.push(style.severity.error(errors === 1 ? "1 error" : `${errors} errors`))
  if (warnings > 0) parts.push(style.severity.warning(warnings === 1 ? "1 warning" : `${warnings} warnings`))
  return parts.join(", ")
}

/** Red, magenta and green are readable on dark and on light backgrounds; yellow, cyan and blue are not. */
function styleOf({ color, width = 80 }: PrintOptions): Style {
  const paint =
    (...codes: number[]): Paint =>
    (text) =>
      color && text !== "" ? `\x1B[${codes.join(";")}m${text}\x1B[0m` : text
  return {
    width: Math.max(NARROWEST, width),
    bold: paint(1),
    dim: paint(2),
    suggestion: paint(32),
    severity: { error: paint(1, 31), warning: paint(1, 35) },
  }
}

// A line of source with an underline, truncated around the position if it is too long.

interface Excerpt {
  readonly source: string
  /** Spaces before the underline. */
  readonly indent: number
  /** Columns it covers. */
  readonly length: number
}

/** Longer lines are truncated before their characters are measured. */
const LONG = 2000

/** `column` from 1 and `length` in UTF-16 units, as in a source range; `width` is the remaining width of the terminal. */
function excerptOf(line: string, column: number, length: number, width: number): Excerpt {
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

/** The cell that contains a unit, or the number of cells if it is after all of them. */
function indexOf(cells: readonly LineCell[], unit: number): number {
  const found = cells.findIndex((cell) => unit < cell.end)
  return found === -1 ? cells.length : found
}

function columns(cells: readonly LineCell[]): number {
  return cells.reduce((sum, cell) => sum + cell.width, 0)
}

/** The cells to show: all, or the position with as much context as fits, and one column for each `…`. */
function windowAround(
  cells: readonly LineCell[],
  first: number,
  last: number,
  width: number,
  whole: boolean,
): { readonly from: number; readonly to: number } {
  // One more than the line if the underline is after its end.
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
  // The remaining space is used on both sides in turn, so that the position stays in the centre.
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
  /** Offset of its first UTF-16 unit in the line, and of the one after its last. */
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
