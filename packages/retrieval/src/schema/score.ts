/**
 * How much of what a goal is about a database has. Each word of the goal counts once, by the best place it is found in,
 * so that a database gains nothing by having many tables.
 */
import type { Table } from "@superstep/engine/patterns"
import { isTelling, wordsOfName } from "./words.ts"

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
  const found = finder(goal)
  const best = new Map<string, Match>()
  const offer = (match: Match) => {
    for (const word of match.words) {
      if (match.weight > (best.get(word)?.weight ?? 0)) best.set(word, match)
    }
  }
  for (const { name, columns } of tables) {
    for (const match of matchesOf(goal, found, name, undefined)) offer(match)
    for (const column of columns) for (const match of matchesOf(goal, found, name, column.name)) offer(match)
  }
  const total = [...best.values()].reduce((sum, { weight }) => sum + weight, 0)
  const matches = [...new Set(best.values())].sort((one, other) => other.weight - one.weight)
  return { total, matches }
}

/** Which words of the goal a word of a name is, and which it has a part of. */
interface FoundWords {
  readonly same: boolean
  readonly alike: readonly string[]
}

/** Names share their words: each is looked for once, as goals can be long and tables many. */
function finder(goal: readonly string[]): (word: string) => FoundWords {
  const words = new Set(goal)
  const known = new Map<string, FoundWords>()
  return (word) => {
    let found = known.get(word)
    if (found === undefined) {
      const alike = [...words].filter((other) => other !== word && isPart(other, word))
      found = { same: words.has(word), alike }
      known.set(word, found)
    }
    return found
  }
}

function matchesOf(
  goal: readonly string[],
  found: (word: string) => FoundWords,
  table: string,
  column: string | undefined,
): Match[] {
  const kind = column === undefined ? "table" : "column"
  const names = namesOf(column ?? table)
  const match = (how: Match["how"], words: readonly string[], extra = 0): Match => ({
    words,
    how,
    table,
    ...(column === undefined ? {} : { column }),
    weight: WEIGHTS[how][kind] + extra,
  })
  const matches: Match[] = []
  for (const name of names) {
    // As in the goal: "date of birth" is a date_of_birth.
    const phrase = name.filter(isTelling)
    if (phrase.length > 1 && contains(goal, phrase)) matches.push(match("phrase", phrase))
  }
  for (const word of names[0] as readonly string[]) {
    const { same, alike } = found(word)
    const isAlone = kind === "table" && names.some((name) => name.length === 1 && name[0] === word)
    if (same) matches.push(match("word", [word], isAlone ? ALONE : 0))
    for (const other of alike) matches.push(match("part", [other]))
  }
  return matches
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
