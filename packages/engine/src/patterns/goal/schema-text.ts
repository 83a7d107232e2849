/** Tables as a model is told about them: those with words of the goal first, and no more than it can read. */
import type { Table } from "../ports.ts"

const MOST_TABLES = 60
const MOST_COLUMNS = 80
const LONGEST = 200

export function schemaText(tables: readonly Table[], goal: string): string {
  const words = new Set(wordsOf(goal))
  const fit = (table: Table) => {
    const names = [table.name, table.description ?? "", ...table.columns.map(({ name }) => name)]
    return names.flatMap(wordsOf).filter((word) => words.has(word)).length
  }
  const order = tables.length <= MOST_TABLES ? [...tables] : [...tables].sort((a, b) => fit(b) - fit(a))
  const lines = order.slice(0, MOST_TABLES).map(tableLine)
  if (tables.length > MOST_TABLES) lines.push(`… and ${tables.length - MOST_TABLES} more tables`)
  return lines.join("\n")
}

function tableLine({ name, columns, description }: Table): string {
  const shown = columns.slice(0, MOST_COLUMNS).map((column) => `${column.name} ${column.type}`)
  if (columns.length > MOST_COLUMNS) shown.push("…")
  const about = description === undefined || description === "" ? "" : ` -- ${clipped(description)}`
  return `${name} (${shown.join(", ")})${about}`
}

function clipped(text: string): string {
  const line = text.replace(/\s+/g, " ").trim()
  return line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line
}

/** Without the plural's s, so that `orders` is found by `order`. */
function wordsOf(text: string): string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  return words.filter((word) => word.length > 2).map((word) => word.replace(/s$/, ""))
}
