/**
 * What an answer is based on: numbered pieces that the assistant and the reviewer are shown.
 *
 * E1 a piece is shown between tags, and nothing inside can end them or begin others.
 * E2 only the pipeline writes a number in brackets into what is shown: a passage cannot pass for another one.
 */
import type { Json } from "../../../core/index.ts"
import { clipped } from "../../../text/index.ts"
import { tagged } from "../../research/internal.ts"
import { formatRows } from "../search/database-text.ts"

/** A passage, or the rows of a query. Its number is its place in the list, from 1. */
export interface Evidence {
  readonly kind: "database" | "documents" | "graph"
  /** The database, index, graph or agent that it is from. */
  readonly source: string
  /** What it can be cited by: a file with its place, a URL, a node of a graph, a database. */
  readonly location: string
  readonly title?: string | undefined
  /** As the search ranks it: greater is better, comparable within one search only. */
  readonly score?: number | undefined
  /** From 0 to 1, where the search knows it. */
  readonly relevance?: number | undefined
  readonly text?: string | undefined
  /** The SQL or Cypher that gave the rows. */
  readonly query?: string | undefined
  /** Who wrote the query: an agent's model, or the pipeline itself by the words of the question. */
  readonly writtenBy?: "model" | "pipeline" | undefined
  readonly columns?: readonly string[] | undefined
  readonly rows?: readonly (readonly Json[])[] | undefined
  /** There are more rows. */
  readonly isCut?: boolean | undefined
}

/** Rows that are read of a query, and characters of a value. */
export const MAX_ROWS = 20
const MAX_VALUE = 500
const MAX_HEAD = 300
const MAX_QUERY = 2_000

/** The evidence for a prompt; empty where there is none. */
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

function bodyOf({ kind, text = "", query, writtenBy, columns, rows, isCut = false }: Evidence): string {
  if (columns === undefined || rows === undefined) return neutral(text.trim())
  const table = formatRows({ columns, rows, isCut }, { rows: MAX_ROWS, characters: MAX_VALUE })
  // What the pipeline wrote itself says nothing about what the rows mean.
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

/** Characters that cannot be seen and that hide instructions; those that join letters and emoji stay. */
const HIDDEN = /[\u{E0000}-\u{E007F}\u200B\u200E\u200F\u202A-\u202E\u2060-\u2064\u2066-\u2069\uFEFF]/gu
const NUMBER = /\[(\^?\d{1,3}(?:\s*[,;–-]\s*\^?\d{1,3})*)\]/g

/** Untrusted text without tags (E1) and without numbers in brackets (E2). */
export function neutral(text: string): string {
  return withoutTags(text).replace(NUMBER, "($1)")
}

const TAG =
  /[<＜﹤](?=[\p{Cf}\s]*\/?[\p{Cf}\s]*(?:documents?|context|result|evidence|instructions?|system)\b)/giu

/** Untrusted text that may cite, and that may not begin or end a tag. */
export function withoutTags(text: string): string {
  return text.replace(HIDDEN, "").replace(TAG, "‹")
}

/** Values as they are kept: long ones are cut. */
export function keptRows(rows: readonly (readonly Json[])[]): Json[][] {
  return rows.slice(0, MAX_ROWS).map((row) => row.map(keptValue))
}

function keptValue(value: Json): Json {
  if (typeof value === "string") return clipped(value, MAX_VALUE)
  if (typeof value !== "object" || value === null) return value
  const text = JSON.stringify(value)
  return text.length <= MAX_VALUE ? value : clipped(text, MAX_VALUE)
}
