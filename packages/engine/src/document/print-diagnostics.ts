/**
 * Diagnostics for a terminal, as a good compiler has them: place, severity and code on a line that tools can
 * find; the sentence; the source, underlined; what was probably meant; and a count at the end.
 */
import { cellWidth, printable, wrapText } from "../text/index.ts"
import type { Diagnostic } from "./diagnostic.ts"
import { excerptOf } from "./source-excerpt.ts"
import { linesOf, type SourceRange } from "./source-range.ts"

export interface PrintOptions {
  readonly color: boolean
  /** Columns of the terminal, 80 by default. Names of files are never cut, so that they can be clicked. */
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

/** In the order of the text, file by file. Ends with a line break, or is empty when there are no diagnostics. */
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

/** Red, magenta and green are readable on dark and on light; yellow, cyan and blue are not on one of them. */
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
