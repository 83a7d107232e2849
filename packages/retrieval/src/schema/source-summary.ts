/** What is in a source, in words: for a model's prompt, and to be embedded. */
import type { Found, Table } from "@superstep/engine/patterns"
import { clipped } from "@superstep/engine/text"
import { isTelling, splitWords, wordsOfName } from "../words.ts"

const MAX_TABLES = 12
const MAX_COLUMNS = 16
const MAX_VALUES = 4
const MAX_SUMMARY = 1_500
const MAX_DESCRIPTION = 160

/** The tables with their columns, comments and a few values. */
export function databaseSummary(tables: readonly Table[], incomplete: string | undefined): string {
  const lines = tables.slice(0, MAX_TABLES).map((table) => {
    const rows = table.rowCount === undefined ? "" : `, ${table.rowCount} rows`
    const columns = table.columns.slice(0, MAX_COLUMNS).map(({ name, values = [], range }) => {
      const shown = values.slice(0, MAX_VALUES).map((value) => JSON.stringify(value))
      if (range !== undefined) shown.push(`${range[0]} to ${range[1]}`)
      return shown.length === 0 ? name : `${name} (${shown.join(", ")})`
    })
    const about = table.description === undefined ? "" : `: ${oneLine(table.description, MAX_DESCRIPTION)}`
    return `${table.name}${rows}${about} [${columns.join("; ")}]`
  })
  if (tables.length > MAX_TABLES) lines.push(`and ${tables.length - MAX_TABLES} more tables`)
  if (incomplete !== undefined) lines.push(`This profile is incomplete: ${incomplete}.`)
  return clipped(lines.join("\n"), MAX_SUMMARY)
}

/** What a retriever says of itself, and the titles of what was found. */
export function foundSummary(about: string | undefined, found: readonly Found[]): string {
  const titles = [...new Set(found.map(({ title, source }) => title ?? source))]
  const lines = [
    ...(about === undefined ? [] : [about]),
    ...(titles.length > 0 ? [`Nearest: ${titles.join("; ")}`] : []),
  ]
  return clipped(lines.join("\n"), MAX_SUMMARY)
}

/** A table as a sentence that embeddings take: names as words, comments, and values, which say more than odd names. */
export function tableText({ name, description = "", columns }: Table): string {
  const parts = columns
    .slice(0, MAX_COLUMNS)
    .map(({ name: column, description: about = "", values = [] }) => {
      const shown = values.slice(0, MAX_VALUES).join(", ")
      return [wordsOfName(column).join(" "), about, shown].filter((part) => part !== "").join(" ")
    })
  return clipped(
    `${wordsOfName(name).join(" ")}. ${oneLine(description, MAX_DESCRIPTION)} ${parts.join("; ")}`,
    1_000,
  )
}

const MAX_TERMS = 80
/** A column with more distinct values has names of people and things, which mean nothing by themselves. */
const FEW_VALUES = 40
const SHORTEST_TERM = 4

/** Words of its names, comments and values. Short pieces are mostly abbreviations, which embeddings do not know. */
export function tableTerms({ name, description = "", columns }: Table): string[] {
  const words = [
    ...wordsOfName(name),
    ...columns.flatMap((column) => wordsOfName(column.name)),
    ...splitWords(oneLine(description, MAX_DESCRIPTION)),
    ...columns.flatMap((column) => splitWords(column.description ?? "")),
    ...columns.flatMap(({ values = [], distinct = 0 }) =>
      distinct > FEW_VALUES ? [] : values.slice(0, 2 * MAX_VALUES).flatMap(splitWords),
    ),
  ]
  const telling = words.filter(
    (word) => word.length >= SHORTEST_TERM && isTelling(word) && /^[^\d]*[aeiouy][^\d]*$/.test(word),
  )
  return [...new Set(telling)].slice(0, MAX_TERMS)
}

function oneLine(text: string, most: number): string {
  return clipped(text.replace(/\s+/g, " ").trim(), most)
}
