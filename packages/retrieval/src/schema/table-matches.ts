/**
 * Finds where the words of a question occur in a table: in its names, comments, values and ranges. Each word counts once,
 * by its strongest match. A phrase is stronger than a word, a word than an abbreviation, and an abbreviation than a part
 * of a word. A match in a table's name is stronger than one in a column's name.
 */
import type { Column, Table } from "@superstep/engine/patterns"
import { isSignificant, singular, splitWords, stemOf, wordsOfName } from "../words.ts"
import type { Question } from "./question.ts"

type NamedPart = "table" | "column"
type How = "phrase" | "word" | "short" | "part" | "comment" | "value" | "inValue" | "range"

export interface Match {
  /** The index of the word in `question.words`. */
  readonly word: number
  readonly strength: number
  readonly how: How
  readonly table: string
  /** Undefined: the match is in the table itself. */
  readonly column?: string | undefined
}

const STRENGTH: Readonly<Record<"phrase" | "word" | "short" | "part", Readonly<Record<NamedPart, number>>>> =
  {
    phrase: { table: 1, column: 0.85 },
    word: { table: 0.7, column: 0.5 },
    short: { table: 0.65, column: 0.45 },
    part: { table: 0.3, column: 0.15 },
  }
/** Added if the word is the table's whole name: `orders` ranks before `order_items`. */
const ALONE = 0.05
const COMMENT = 0.45
/** The strength of a whole value with several words, or with one. */
const VALUES = 1
const VALUE = 0.75
const IN_VALUE = 0.3
/** The strength of a year among the dates of a column, or of a number in its range. */
const YEAR = 0.35
const NUMBER = 0.1
const MIN_PART = 4

/** The matches of a table, by the index of the word. Words without a match are missing. */
export type TableMatches = ReadonlyMap<number, Match>

export function tableMatcher(question: Question): (table: Table) => TableMatches {
  const pieces = pieceMatcher(question)
  return (table) => {
    const best = new Map<number, Match>()
    const offer = (match: Omit<Match, "table">) => {
      const known = best.get(match.word)
      if (match.strength > (known?.strength ?? 0)) best.set(match.word, { ...match, table: table.name })
    }
    for (const match of nameMatches(question, pieces, table.name, "table")) offer(match)
    for (const match of commentMatches(question, table.description)) offer(match)
    for (const column of table.columns) {
      const own = [
        ...nameMatches(question, pieces, column.name, "column"),
        ...commentMatches(question, column.description),
        ...valueMatches(question, column),
        ...rangeMatches(question, column),
      ]
      for (const match of own) offer({ ...match, column: column.name })
    }
    return best
  }
}

type Found = Omit<Match, "table">

interface PieceMatch {
  readonly words: readonly number[]
  readonly how: "word" | "short" | "part"
  /** The factor for the strength. */
  readonly share: number
}

/** Names share their pieces, so each piece is compared once: questions can be long and tables many. */
function pieceMatcher({ words, all }: Question): (piece: string) => readonly PieceMatch[] {
  const known = new Map<string, readonly PieceMatch[]>()
  const wordAt = new Map(words.map(({ at }, index) => [at, index]))
  const compare = (piece: string): readonly PieceMatch[] => {
    const stem = stemOf(piece)
    const matches: PieceMatch[] = []
    for (const [index, word] of words.entries()) {
      if (word.text === piece) matches.push({ words: [index], how: "word", share: 1 })
      else if (word.stem === stem) matches.push({ words: [index], how: "word", share: 0.9 })
      else {
        const share = abbreviationScore(piece, word.text)
        if (share > 0) matches.push({ words: [index], how: "short", share })
        if (isPart(word.text, piece)) matches.push({ words: [index], how: "part", share: 1 })
      }
    }
    const initials = initialsOf(piece, all)?.flatMap((at) => wordAt.get(at) ?? [])
    if (initials !== undefined && initials.length > 1) {
      matches.push({ words: initials, how: "short", share: piece.length === 2 ? 0.7 : 1 })
    }
    return matches
  }
  return (piece) => {
    let found = known.get(piece)
    if (found === undefined) {
      found = compare(piece)
      known.set(piece, found)
    }
    return found
  }
}

function* nameMatches(
  { words }: Question,
  pieces: (piece: string) => readonly PieceMatch[],
  name: string,
  part: NamedPart,
): Generator<Found> {
  const names = namesOf(name)
  const spoken = words.map(({ text }) => text)
  for (const own of names) {
    // As in the question: "date of birth" matches date_of_birth.
    const phrase = own.filter(isSignificant)
    const start = phrase.length > 1 ? startOf(spoken, phrase) : -1
    if (start < 0) continue
    for (const i of phrase.keys()) yield { word: start + i, how: "phrase", strength: STRENGTH.phrase[part] }
  }
  for (const piece of names[0] as readonly string[]) {
    const isAlone = part === "table" && names.some((own) => own.length === 1 && own[0] === piece)
    for (const { words: found, how, share } of pieces(piece)) {
      const strength = STRENGTH[how][part] * share + (isAlone && how !== "part" ? ALONE : 0)
      for (const word of found) yield { word, how, strength }
    }
  }
}

function* commentMatches({ words }: Question, comment: string | undefined): Generator<Found> {
  if (comment === undefined) return
  const stems = new Set(splitWords(comment).map(stemOf))
  for (const [word, { stem }] of words.entries()) {
    if (stems.has(stem)) yield { word, how: "comment", strength: COMMENT }
  }
}

function* valueMatches({ all, words }: Question, { values = [] }: Column): Generator<Found> {
  for (const value of values) {
    const own = splitWords(value).map(singular)
    const significant = own.filter(isSignificant)
    if (significant.length === 0) continue
    const start = startOf(all, own)
    for (const [word, { text, at }] of words.entries()) {
      if (start >= 0 && at >= start && at < start + own.length) {
        yield { word, how: "value", strength: significant.length > 1 ? VALUES : VALUE }
      } else if (text.length >= MIN_PART && own.includes(text))
        yield { word, how: "inValue", strength: IN_VALUE }
    }
  }
}

function* rangeMatches({ words }: Question, { range }: Column): Generator<Found> {
  if (range === undefined) return
  const [smallest, largest] = range
  for (const [word, { text }] of words.entries()) {
    if (!/^\d{1,15}$/.test(text)) continue
    const isYear = /^(?:19|20)\d\d$/.test(text)
    if (isYear && typeof smallest === "string" && typeof largest === "string") {
      if (smallest.slice(0, 4) <= text && text <= largest.slice(0, 4))
        yield { word, how: "range", strength: YEAR }
    } else if (typeof smallest === "number" && typeof largest === "number") {
      if (smallest <= Number(text) && Number(text) <= largest) yield { word, how: "range", strength: NUMBER }
    }
  }
}

/** The words of a name, with and without its schema: `sales.orders` is also `orders`. */
function namesOf(name: string): string[][] {
  const last = name.match(/\.("(?:[^"]|"")*"|[^."]+)$/)?.[1]
  return last === undefined ? [wordsOfName(name)] : [wordsOfName(name), wordsOfName(last)]
}

function startOf(words: readonly string[], phrase: readonly string[]): number {
  return words.findIndex((_, start) => phrase.every((word, index) => words[start + index] === word))
}

function isPart(word: string, other: string): boolean {
  const [short, long] = word.length < other.length ? [word, other] : [other, word]
  return short.length >= MIN_PART && long.includes(short)
}

/** Where a word was found. Values are omitted, because the reason of a ranking may be logged. */
export function matchText({ word, how, table, column }: Match, { words }: Question): string {
  const place = column === undefined ? `the table ${table}` : `the column ${column} of ${table}`
  if (how === "value" || how === "inValue") return `it contains a value of ${place}`
  if (how === "range") return `it contains a number in the range of ${place}`
  const verb = {
    phrase: "is of",
    word: "is a word in",
    short: "may abbreviate",
    part: "resembles a part of",
    comment: "is in the comment on",
  }[how]
  return `"${words[word]?.text}" ${verb} ${place}`
}

// Estimates whether a piece of a name abbreviates a word: `pat` for patient, `qty` for quantity, `dob` for date of birth.
// The result is a likelihood from 0 to 1. An abbreviation begins like its word and drops letters from the rest, vowels
// first. The more of the word's consonants it keeps, the likelier it is.

const MIN_ABBREVIATION = 2
const VOWEL = /[aeiou]/

/** `word` is in lower case, and longer than `piece`. */
export function abbreviationScore(piece: string, word: string): number {
  if (piece.length < MIN_ABBREVIATION || piece.length >= word.length || piece[0] !== word[0]) return 0
  if (!/^[a-z]+$/.test(piece) || word.length < 4) return 0
  const begins = commonStart(piece, word)
  // A prefix of the word. Two letters are the prefix of too many words.
  if (begins === piece.length) return piece.length === 2 ? 0.3 : Math.min(0.9, 0.6 + 0.1 * (piece.length - 2))
  // After the common prefix, only consonants are kept, in order.
  if (!isConsonantsOf(piece.slice(begins), word.slice(begins))) return 0
  const kept = skeleton(piece).length / skeleton(word).length
  const isToTheEnd = piece.at(-1) === word.at(-1) || piece.at(-1) === skeleton(word).at(-1)
  const likelihood = 0.35 + 0.5 * kept + (isToTheEnd ? 0.1 : -0.1)
  return Math.max(0, Math.min(0.9, piece.length === 2 ? likelihood - 0.2 : likelihood))
}

/**
 * Whether `piece` consists of the initials of consecutive words: `eta` of estimated time of arrival. Returns their
 * indexes.
 */
export function initialsOf(piece: string, words: readonly string[]): readonly number[] | undefined {
  if (piece.length < 2 || piece.length > 5) return undefined
  for (let start = 0; start + piece.length <= words.length; start += 1) {
    const spoken = words.slice(start, start + piece.length)
    if (spoken.every((word, i) => word[0] === piece[i] && word.length > 1))
      return spoken.map((_, i) => start + i)
  }
  return undefined
}

function commonStart(one: string, other: string): number {
  let length = 0
  while (length < one.length && one[length] === other[length]) length += 1
  return length
}

function isConsonantsOf(piece: string, word: string): boolean {
  let at = 0
  for (const letter of piece) {
    if (VOWEL.test(letter)) return false
    at = word.indexOf(letter, at) + 1
    if (at === 0) return false
  }
  return true
}

/** The first letter and the consonants after it, with repeated letters collapsed. */
function skeleton(word: string): string {
  const rest = word.slice(1).replace(/[aeiou]/g, "")
  return `${word[0]}${rest}`.replace(/(.)\1+/g, "$1")
}
