/** Sources as a question finds them: their passages, each with the strength of the question's words in it. */
import type { AskOptions, Database, RankedSource, Retriever, Table } from "@superstep/engine/patterns"
import type { Strengths } from "./passages.ts"
import type { Question } from "./question.ts"
import { databaseSummary, foundSummary, tableTerms, tableText } from "./source-summary.ts"
import { type Match, matchText, type TableMatches, tableMatcher } from "./table-matches.ts"
import { textMatches } from "./text-matches.ts"

export interface Candidate extends Pick<RankedSource, "kind" | "id" | "name" | "summary"> {
  readonly database?: Database | undefined
  readonly passages: readonly Passage[]
  /** Where the words of the question were found, the strongest first. */
  readonly places: readonly string[]
}

interface Passage {
  readonly strengths: Strengths
  /** The passage in words, to be embedded; absent for tables past those that fit best. */
  readonly text?: string | undefined
  /** Single words that say what is in it. */
  readonly terms?: readonly string[] | undefined
}

/** Passages that a search is asked for. */
const FOUND = 5
/** Tables that are compared by meaning: those with words of the question first. */
const MAX_EMBEDDED = 40

export async function lookAtDatabase(
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

export async function lookInto(
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
      (passages[i]?.strengths.size ?? 0) > 0 ? [`words of it are in ${source}`] : [],
    ),
    summary: foundSummary(about, found),
  }
}
