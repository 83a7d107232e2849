/**
 * The evidence for an answer: numbered pieces for the assistant and the reviewer.
 *
 * E1 A piece is shown between tags, and nothing inside can close them or open others.
 * E2 Only the pipeline writes a number in brackets, so that a passage cannot impersonate another one.
 */
import type { Json } from "../../../core/index.ts"
import { clipped } from "../../../text/index.ts"
import { tagged } from "../../research/internal.ts"
import { formatRows } from "../search/database-text.ts"

/** A passage, or the rows of a query. Its number is its position in the list, from 1. */
export interface Evidence {
  readonly kind: "database" | "documents" | "graph"
  /** The database, index, graph or agent that it comes from. */
  readonly source: string
  /** The location for a citation: a file with a position, a URL, a node of a graph, a database. */
  readonly location: string
  readonly title?: string | undefined
  /** The rank in its search: greater is better. Comparable only within one search. */
  readonly score?: number | undefined
  /** From 0 to 1, if the search knows it. */
  readonly relevance?: number | undefined
  readonly text?: string | undefined
  /** The SQL or Cypher that returned the rows. */
  readonly query?: string | undefined
  /** The author of the query: an agent's model, or the pipeline itself, from the words of the question. */
  readonly writtenBy?: "model" | "pipeline" | undefined
  readonly columns?: readonly string[] | undefined
  readonly rows?: readonly (readonly Json[])[] | undefined
  /** Whether more rows exist. */
  readonly isTruncated?: boolean | undefined
}

/** Maximum rows of a query, and maximum characters of a value. */
export const MAX_ROWS = 20
const MAX_VALUE = 500
const MAX_HEAD = 300
const MAX_QUERY = 2_000

/** The evidence for a prompt. Empty if there is none. */
export function evidenceText(evidence: readonly Evidence[]): string {
  const shown = evidence.map((one, i) => {
    const { title = "" } = one
    const lines = [`[${i + 1}] ${headOf(one)}`, ...(title === "" ? [] : [inline(title)]), bodyOf(one)]
    return tagged("document", lines.join("\n"), { index: String(i + 1) })
  })
  return shown.join("\n\n")
}

function headOf({ location, score }: Evidence): string {
  return score === undefined ? inline(location) : `${inline(location)} (score ${scoreText(score)})`
}

function bodyOf({ kind, text = "", query, writtenBy, columns, rows, isTruncated = false }: Evidence): string {
  if (columns === undefined || rows === undefined) return neutral(text.trim())
  const table = formatRows({ columns, rows, isTruncated }, { rows: MAX_ROWS, characters: MAX_VALUE })
  // A query of the pipeline itself does not explain what the rows mean.
  if (query === undefined || writtenBy !== "model") return neutral(table)
  const language = kind === "graph" ? "Cypher" : "SQL"
  return `${language}: ${inline(query, MAX_QUERY)}\n\n${neutral(table)}`
}

function scoreText(score: number): string {
  return String(Number(score.toPrecision(3)))
}

function inline(text: string, most = MAX_HEAD): string {
  return clipped(neutral(text).replace(/\s+/g, " ").trim(), most)
}

/** Invisible characters that can hide instructions. Characters that join letters and emoji are not included. */
const HIDDEN = /[\u{E0000}-\u{E007F}\u200B\u200E\u200F\u202A-\u202E\u2060-\u2064\u2066-\u2069\uFEFF]/gu
const NUMBER = /\[(\^?\d{1,3}(?:\s*[,;–-]\s*\^?\d{1,3})*)\]/g

/** Removes tags (E1) and numbers in brackets (E2) from untrusted text. */
export function neutral(text: string): string {
  return withoutTags(text).replace(NUMBER, "($1)")
}

const TAG =
  /[<＜﹤](?=[\p{Cf}\s]*\/?[\p{Cf}\s]*(?:documents?|context|result|evidence|instructions?|system)\b)/giu

/** Removes tags from untrusted text that may contain citations. */
export function withoutTags(text: string): string {
  return text.replace(HIDDEN, "").replace(TAG, "‹")
}

/** Values as they are stored: long ones are truncated. */
export function keptRows(rows: readonly (readonly Json[])[]): Json[][] {
  return rows.slice(0, MAX_ROWS).map((row) => row.map(keptValue))
}

function keptValue(value: Json): Json {
  if (typeof value === "string") return clipped(value, MAX_VALUE)
  if (typeof value !== "object" || value === null) return value
  const text = JSON.stringify(value)
  return text.length <= MAX_VALUE ? value : clipped(text, MAX_VALUE)
}
