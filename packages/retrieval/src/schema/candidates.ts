/** Candidate sources for a question: their passages, each with the strength of the question's words in it. */
import type { AskOptions, Database, Found, RankedSource, Retriever, Table } from "@superstep/engine/patterns"
import { clipped } from "@superstep/engine/text"
import { isSignificant, splitWords, wordsOfName } from "../words.ts"
import { type Question, type Strengths, textMatches } from "./question.ts"
import { type Match, matchText, type TableMatches, tableMatcher } from "./table-matches.ts"

export interface Candidate extends Pick<RankedSource, "kind" | "id" | "name" | "summary"> {
  readonly database?: Database | undefined
  readonly passages: readonly Passage[]
  /** Where the words of the question were found, the strongest first. */
  readonly places: readonly string[]
}

interface Passage {
  readonly strengths: Strengths
  /** The passage as text to embed. Absent for tables beyond the best matches. */
  readonly text?: string | undefined
  /** Single words that describe its content. */
  readonly terms?: readonly string[] | undefined
}

/** Passages to request from a search. */
const FOUND = 5
/** Tables to compare by meaning. Those with words of the question are first. */
const MAX_EMBEDDED = 40

export async function databaseCandidate(
  database: Database,
  question: Question,
  ask: AskOptions,
): Promise<Candidate> {
  const { id, name } = database
  const { tables, incomplete } = (await database.profile?.(ask)) ?? { tables: await database.schema(ask) }
  const matcher = tableMatcher(question)
  const looked = tables
    .map((table) => ({ table, matches: matcher(table) }))
    .sort((one, other) => sumOf(other.matches) - sumOf(one.matches))
  return {
    kind: "database",
    id,
    name,
    database,
    passages: looked.map(passageOf),
    places: placesIn(
      looked.map(({ matches }) => matches),
      question,
    ),
    summary: databaseSummary(
      looked.map(({ table }) => table),
      incomplete,
    ),
  }
}

function passageOf({ table, matches }: { table: Table; matches: TableMatches }, place: number): Passage {
  const strengths = new Map([...matches].map(([word, { strength }]) => [word, strength]))
  return place < MAX_EMBEDDED
    ? { strengths, text: tableText(table), terms: tableTerms(table) }
    : { strengths }
}

function sumOf(matches: TableMatches): number {
  let sum = 0
  for (const { strength } of matches.values()) sum += strength
  return sum
}

function placesIn(matches: readonly TableMatches[], question: Question): string[] {
  const best = new Map<number, Match>()
  for (const [word, match] of matches.flatMap((one) => [...one])) {
    if (match.strength > (best.get(word)?.strength ?? 0)) best.set(word, match)
  }
  const strongest = [...best.values()].sort((one, other) => other.strength - one.strength)
  return [...new Set(strongest.map((match) => matchText(match, question)))]
}

export async function retrieverCandidate(
  kind: "documents" | "graph",
  retriever: Retriever,
  goal: string,
  question: Question,
  ask: AskOptions,
): Promise<Candidate> {
  const { name } = retriever
  const found = await retriever.search(goal, { ...ask, limit: FOUND })
  const about = await retriever.describe?.(ask)
  const passages = found.map((one) => ({
    strengths: textMatches(question, one),
    text: one.title === undefined ? one.text : `${one.title}\n${one.text}`,
  }))
  return {
    kind,
    id: name,
    name,
    passages,
    places: found.flatMap(({ source }, i) =>
      (passages[i]?.strengths.size ?? 0) > 0 ? [`its words occur in ${source}`] : [],
    ),
    summary: foundSummary(about, found),
  }
}

// Summarizes a source as text, for a prompt and for embeddings.

const MAX_TABLES = 12
const MAX_COLUMNS = 16
const MAX_VALUES = 4
const MAX_SUMMARY = 1_500
const MAX_DESCRIPTION = 160

/** The tables with their columns, comments and a few values. */
function databaseSummary(tables: readonly Table[], incomplete: string | undefined): string {
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

/** The description of a retriever, and the titles of its results. */
function foundSummary(about: string | undefined, found: readonly Found[]): string {
  const titles = [...new Set(found.map(({ title, source }) => title ?? source))]
  const lines = [
    ...(about === undefined ? [] : [about]),
    ...(titles.length > 0 ? [`Nearest: ${titles.join("; ")}`] : []),
  ]
  return clipped(lines.join("\n"), MAX_SUMMARY)
}

/**
 * A table as a sentence for embeddings: names as words, comments, and values, which are more meaningful than abbreviated
 * names.
 */
function tableText({ name, description = "", columns }: Table): string {
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
/** A column with more distinct values contains names of people and things, which have no meaning by themselves. */
const FEW_VALUES = 40
const MIN_TERM = 4

/** Words of its names, comments and values. Short pieces are mostly abbreviations, which embeddings do not know. */
function tableTerms({ name, description = "", columns }: Table): string[] {
  const words = [
    ...wordsOfName(name),
    ...columns.flatMap((column) => wordsOfName(column.name)),
    ...splitWords(oneLine(description, MAX_DESCRIPTION)),
    ...columns.flatMap((column) => splitWords(column.description ?? "")),
    ...columns.flatMap(({ values = [], distinct = 0 }) =>
      distinct > FEW_VALUES ? [] : values.slice(0, 2 * MAX_VALUES).flatMap(splitWords),
    ),
  ]
  const significant = words.filter(
    (word) => word.length >= MIN_TERM && isSignificant(word) && /^[^\d]*[aeiouy][^\d]*$/.test(word),
  )
  return [...new Set(significant)].slice(0, MAX_TERMS)
}

function oneLine(text: string, most: number): string {
  return clipped(text.replace(/\s+/g, " ").trim(), most)
}
