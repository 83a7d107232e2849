/** Formats times, tokens, money and sizes for people. Unknown amounts are shown as unknown, estimates with ~. */
import type { Usage } from "@superstep/engine"
import { clipped, padded, sanitizeLine, type Terminal, widthOf } from "../terminal/terminal.ts"

export function duration(milliseconds: number): string {
  const ms = Math.max(0, milliseconds)
  if (ms < 999.5) return `${Math.round(ms)} ms`
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`
  const minutes = Math.floor(Math.round(ms / 1_000) / 60)
  const seconds = Math.round(ms / 1_000) % 60
  if (minutes < 60) return `${minutes} m ${seconds} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} m`
}

export function tokens({ inputTokens = 0, outputTokens = 0, estimatedCalls = 0 }: Usage): string {
  const count = inputTokens + outputTokens
  return `${estimatedCalls > 0 ? "~" : ""}${counted(count, "token")}`
}

/** If the price of some calls is unknown, the known part is a lower bound. */
export function cost({ usd, unpricedCalls = 0, estimatedCalls = 0 }: Usage): string {
  if (unpricedCalls > 0)
    return usd === undefined || usd === 0 ? "cost unknown" : `at least ${dollars(usd, false)}`
  return dollars(usd ?? 0, estimatedCalls > 0)
}

function dollars(usd: number, isEstimated: boolean): string {
  if (usd === 0) return "$0"
  const digits = usd < 0.01 ? 4 : usd < 1 ? 3 : 2
  const text = usd < 0.0001 ? "<$0.0001" : `$${usd.toFixed(digits)}`
  return isEstimated ? `~${text}` : text
}

/** Empty if no model was called. */
export function spent(usage: Usage): string[] {
  return (usage.modelCalls ?? 0) === 0 ? [] : [tokens(usage), cost(usage)]
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`
}

/** `12,345`. Does not use Intl, which takes longer to load than most commands run. */
function grouped(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",")
}

/** `950`, `1.2k`, `12k`, `3.4M`: for tables, like the other short amounts. */
export function shortCount(count: number): string {
  if (count < 1_000) return String(Math.round(count))
  const [divisor, unit] = count < 999_500 ? [1_000, "k"] : [1_000_000, "M"]
  const scaled = count / divisor
  return `${scaled < 9.95 ? scaled.toFixed(1) : Math.round(scaled)}${unit}`
}

/** Input and output together; `~` if a provider did not report them, `-` if no model was called. */
export function shortTokens({ inputTokens, outputTokens, estimatedCalls }: Usage): string {
  if (inputTokens === undefined && outputTokens === undefined) return "-"
  const mark = (estimatedCalls ?? 0) > 0 ? "~" : ""
  return `${mark}${shortCount((inputTokens ?? 0) + (outputTokens ?? 0))}`
}

/** `$0.0012`; `>` if only a part is known, `~` if tokens are estimated, `-` if no model was called. */
export function shortCost({ usd, unpricedCalls, estimatedCalls, modelCalls }: Usage): string {
  if ((unpricedCalls ?? 0) > 0) return (usd ?? 0) > 0 ? `>${dollars(usd ?? 0, false)}` : "unknown"
  if (usd === undefined && (modelCalls ?? 0) === 0) return "-"
  return dollars(usd ?? 0, (estimatedCalls ?? 0) > 0)
}

/** `12s`, `3m`, `5h`, `2d`. */
export function age(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1_000))
  if (seconds < 60) return `${seconds}s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m`
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)}h`
  return `${Math.floor(seconds / 86_400)}d`
}

/** `812 B`, `1.2 KB`, `34 MB`. */
export function size(bytes: number): string {
  let amount = bytes
  let unit = "B"
  for (const next of ["KB", "MB", "GB", "TB"]) {
    if (amount < 1_000) break
    amount /= 1_024
    unit = next
  }
  return `${unit === "B" || amount >= 9.95 ? Math.round(amount) : amount.toFixed(1)} ${unit}`
}

/** Tables whose columns fit the terminal: numbers are right-aligned, and long columns shrink. */

export interface Column {
  readonly title: string
  readonly align?: "right" | undefined
  /** Truncated if the others leave too little room. If several can shrink, the last one shrinks first. */
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
