/** Data as passages: a row of a list each, its text where it has one, else a line of its values. */
import { type Passage, passage } from "./passage.ts"

const MAX_ROWS = 200
const TEXT_KEYS = [
  "text",
  "content",
  "snippet",
  "body",
  "output",
  "summary",
  "description",
  "excerpt",
  "answer",
  "result",
]
const SOURCE_KEYS = ["url", "source", "path", "file", "filename", "link", "uri", "title"]

/** One line per value: `name: Paris, temperature: 21`. */
function asLine(value: unknown, depth = 0): string {
  if (value === null || value === undefined) return "none"
  if (typeof value !== "object") return String(value).trim()
  if (depth > 4) return "…"
  if (Array.isArray(value))
    return value
      .slice(0, 20)
      .map((item) => asLine(item, depth + 1))
      .join(", ")
  return Object.entries(value)
    .map(([key, item]) => `${key.replaceAll("_", " ")}: ${asLine(item, depth + 1)}`)
    .join(", ")
}

export function jsonPassages(value: unknown, place: string | undefined, weight: number): Passage[] {
  const rows = Array.isArray(value) ? value : rowsOf(value)
  if (rows === undefined) return [jsonPassage(value, place, weight)]
  return rows.slice(0, MAX_ROWS).map((row) => jsonPassage(row, place, weight))
}

/** The list of an object that holds little else: `{ results: [ … ] }`. */
function rowsOf(value: unknown): unknown[] | undefined {
  if (typeof value !== "object" || value === null) return undefined
  const lists = Object.values(value).filter((item) => Array.isArray(item) && item.length > 0)
  const only = lists.length === 1 ? (lists[0] as unknown[]) : undefined
  return only?.every((item) => typeof item === "object" && item !== null) ? only : undefined
}

function jsonPassage(value: unknown, place: string | undefined, weight: number): Passage {
  const text = named(value, TEXT_KEYS)
  const source = named(value, SOURCE_KEYS) ?? place
  if (text !== undefined && (text.length > 40 || source !== undefined))
    return passage(text, source, undefined, weight)
  return passage(asLine(value), source, undefined, weight)
}

/** The first of the fields that is a text. */
export function named(value: unknown, keys: readonly string[]): string | undefined {
  if (typeof value !== "object" || value === null) return undefined
  for (const key of keys) {
    const found = (value as Record<string, unknown>)[key]
    if (typeof found === "string" && found.trim() !== "") return found.trim()
  }
  return undefined
}
