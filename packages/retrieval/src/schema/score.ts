/**
 * How much of what a goal is about a database has. Each word of the goal counts once, by the best place it is found in,
 * so that a database gains nothing by having many tables.
 */
import type { Table } from "@superstep/engine/patterns"
import { wordsOfName } from "./words.ts"

/** What a word of the goal counts: a phrase is a whole name of several words, a part is a piece of a word. */
const WEIGHTS = {
  phrase: { table: 10, column: 7 },
  word: { table: 5, column: 3 },
  part: { table: 2, column: 1 },
} as const
/** For a table that has the word alone as its name: `orders` before `order_items`. */
const ALONE = 1
const SHORTEST_PART = 4

export interface Match {
  /** Of the goal. */
  readonly words: readonly string[]
  readonly how: keyof typeof WEIGHTS
  readonly table: string
  /** Undefined: it is the table's own name. */
  readonly column?: string | undefined
  /** For each of the words. */
  readonly weight: number
}

export interface Score {
  readonly total: number
  /** The best match of each word, the weightiest first. */
  readonly matches: readonly Match[]
}

export function scoreTables(goal: readonly string[], tables: readonly Table[]): Score {
  const best = new Map<string, Match>()
  const offer = (match: Match) => {
    for (const word of match.words) {
      if (match.weight > (best.get(word)?.weight ?? 0)) best.set(word, match)
    }
  }
  for (const { name, columns } of tables) {
    for (const match of matchesOf(goal, name, undefined)) offer(match)
    for (const column of columns) for (const match of matchesOf(goal, name, column.name)) offer(match)
  }
  const total = [...best.values()].reduce((sum, { weight }) => sum + weight, 0)
  const matches = [...new Set(best.values())].sort((one, other) => other.weight - one.weight)
  return { total, matches }
}

function matchesOf(goal: readonly string[], table: string, column: string | undefined): Match[] {
  const kind = column === undefined ? "table" : "column"
  const names = namesOf(column ?? table)
  const match = (how: Match["how"], words: readonly string[], extra = 0): Match => ({
    words,
    how,
    table,
    ...(column === undefined ? {} : { column }),
    weight: WEIGHTS[how][kind] + extra,
  })
  const phrases = names
    .filter((name) => name.length > 1 && contains(goal, name))
    .map((name) => match("phrase", name))
  const parts = names[0] as readonly string[]
  const words = goal.flatMap((word) => {
    if (parts.includes(word)) {
      const isAlone = kind === "table" && names.some((name) => name.length === 1 && name[0] === word)
      return [match("word", [word], isAlone ? ALONE : 0)]
    }
    return parts.some((part) => isPart(word, part)) ? [match("part", [word])] : []
  })
  return [...phrases, ...words]
}

/** A name's words, with its schema's and without: `sales.orders` is also `orders`. */
function namesOf(name: string): string[][] {
  const last = name.match(/\.("(?:[^"]|"")*"|[^."]+)$/)?.[1]
  return last === undefined ? [wordsOfName(name)] : [wordsOfName(name), wordsOfName(last)]
}

function contains(goal: readonly string[], phrase: readonly string[]): boolean {
  return goal.some((_, start) => phrase.every((word, index) => goal[start + index] === word))
}

function isPart(word: string, other: string): boolean {
  const [short, long] = word.length < other.length ? [word, other] : [other, word]
  return short.length >= SHORTEST_PART && long.includes(short)
}
