/** A result as text for a prompt: one line a row, and a word about what is left out. */
import type { Json } from "../core/index.ts"
import { clipped } from "../text/index.ts"
import type { QueryResult } from "./ports.ts"

export interface FormatOptions {
  /** Rows at the most. Default 20. */
  readonly rows?: number | undefined
  /** Characters of a value at the most. Default 200. */
  readonly characters?: number | undefined
}

export function formatRows(result: QueryResult, options: FormatOptions = {}): string {
  const { rows: most = 20, characters = 200 } = options
  const { columns, rows, isCut } = result
  if (rows.length === 0) return isCut ? "The result is too large to be shown." : "No rows."
  const line = (values: readonly Json[]) => values.map((value) => cell(value, characters)).join(" | ")
  const shown = rows.slice(0, most)
  const note = isCut
    ? [`(the first ${shown.length === 1 ? "row" : `${shown.length} rows`}; there are more)`]
    : shown.length < rows.length
      ? [`(${shown.length} of ${rows.length} rows)`]
      : []
  return [line(columns), ...shown.map(line), ...note].join("\n")
}

function cell(value: Json, most: number): string {
  const text = value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value)
  // A value stays on its line and in its column.
  return clipped(text.replace(/\s+/g, " "), most).replaceAll("|", "\\|")
}
