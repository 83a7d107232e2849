/** Tables as a model is told about them: those with words of the goal first, and no more than it can read. */
import { clipped } from "../../text/index.ts"
import type { Table } from "../ports.ts"

const MOST_TABLES = 60
const MOST_COLUMNS = 80
const LONGEST = 200

export function schemaText(tables: readonly Table[], goal: string): string {
  const shown = tables.length <= MOST_TABLES ? tables : bestFirst(tables, goal).slice(0, MOST_TABLES)
  const lines = shown.map(tableLine)
  if (tables.length > MOST_TABLES) lines.push(`… and ${tables.length - MOST_TABLES} more tables`)
  return lines.join("\n")
}

function bestFirst(tables: readonly Table[], goal: string): readonly Table[] {
  const words = new Set(wordsOf(goal))
  const fits = tables.map((table) => {
    const names = [table.name, table.description ?? "", ...table.columns.map(({ name }) => name)]
    return { table, fit: names.flatMap(wordsOf).filter((word) => words.has(word)).length }
  })
  return fits.sort((one, other) => other.fit - one.fit).map(({ table }) => table)
}

function tableLine({ name, columns, description }: Table): string {
  const shown = columns.slice(0, MOST_COLUMNS).map((column) => `${column.name} ${column.type}`)
  if (columns.length > MOST_COLUMNS) shown.push("…")
  const about =
    description === undefined || description === ""
      ? ""
      : ` -- ${clipped(description.replace(/\s+/g, " ").trim(), LONGEST)}`
  return `${name} (${shown.join(", ")})${about}`
}

/** Without the plural's s, so that `orders` is found by `order`. */
function wordsOf(text: string): string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  return words.filter((word) => word.length > 2).map((word) => word.replace(/s$/, ""))
}
