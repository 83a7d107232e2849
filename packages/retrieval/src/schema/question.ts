/**
 * Parses a question for the ranking of sources: its words in the forms that are compared, its numbers, and its form; and
 * measures how well passages cover it.
 */

import type { Found } from "@superstep/engine/patterns"
import { isSignificant, singular, splitWords, stemOf } from "../words.ts"

interface QuestionWord {
  /** Singular, in lower case, without diacritics. */
  readonly text: string
  readonly stem: string
  /** Its index among all words. */
  readonly at: number
}

export interface Question {
  /** All words in the singular. Values and initialisms may contain stop words. */
  readonly all: readonly string[]
  /** The significant words. */
  readonly words: readonly QuestionWord[]
  /** Whether it asks for figures and records, for an explanation, or neither clearly. */
  readonly form: "figures" | "explanation" | "open"
}

/** Longer goals are truncated. */
const MAX_WORDS = 200
const MAX_CHARACTERS = 2_000

export function readQuestion(goal: string): Question {
  const all = splitWords(goal).slice(0, MAX_WORDS)
  const words = all.flatMap((word, at) => {
    if (!isSignificant(word)) return []
    const text = singular(word)
    return [{ text, stem: stemOf(word), at }]
  })
  return { all: all.map(singular), words, form: formOf(goal) }
}

/** Matches questions for a count, a sum, an extreme, or records. */
const FIGURES =
  /\b(?:how (?:many|much|often|old|large|big|heavy|far|deep)|number of|count|total|sum|average|mean|median|minimum|maximum|(?!(?:request|interest|forest|harvest|protest|suggest|invest|contest|honest|modest|digest|arrest|guest|quest|chest|almost)\b)[a-z]{3,}est|most|least|fewest|top|percentage|percent|ratio|list|which|when (?:did|was|were)|who (?:is|was|has|had|did)|last|since \d|between \d|in (?:19|20)\d\d|(?:more|less|fewer) than|(?:over|under|above|below) \d)\b/i
/** Matches questions for a rule, a reason, or a procedure. */
const EXPLANATION =
  /^\s*(?:may|can|could|should|must|shall|do|does|is it|am i|are (?:we|you|they|there))\b|\b(?:how (?:do|does|should|can|must|to|is|are|soon|early)|why|what (?:should|happens|must|do|if|to do|counts|becomes)|who (?:may|can|must|should|decides|approves|pays|confirms)|allowed|permitted|forbidden|have to|has to|need to|supposed to|procedure|policy|policies|rules?|guidelines?|instructions?|explain|describe|responsible|required|in case of|until when|under (?:which|what))\b/i

function formOf(text: string): Question["form"] {
  const goal = text.slice(0, MAX_CHARACTERS)
  const [figures, explanation] = [FIGURES.test(goal), EXPLANATION.test(goal)]
  if (figures === explanation) return "open"
  return figures ? "figures" : "explanation"
}

// Measures how well a source covers a question. A source has passages: the tables of a database, or the texts that a
// search of documents or a graph finds. Each word of the question counts by its strength in the passages and its rarity,
// because a word in many passages of all sources does not distinguish them. Half of the coverage is that of the best
// single passage, because an answer is mostly in one place.

/** The strength of each word of the question, by its index, from 0 to 1. Words without a match are missing. */
export type Strengths = ReadonlyMap<number, number>

/** The minimum strength at which a word counts as present in a passage. */
const OCCURS = 0.25

/** The weight of each word of a question, from the passages of all sources. */
export function wordWeights(words: number, passages: Iterable<Strengths>): number[] {
  const counts = new Array<number>(words).fill(0)
  for (const passage of passages) {
    for (const [word, strength] of passage) if (strength >= OCCURS) counts[word] = (counts[word] ?? 0) + 1
  }
  return counts.map((count) => 1 / (1 + Math.log(Math.max(1, count))))
}

/** From 0 to 1. */
export function coverage(weights: readonly number[], passages: readonly Strengths[]): number {
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  if (total === 0 || passages.length === 0) return 0
  const together = new Map<number, number>()
  let best = 0
  for (const passage of passages) {
    let sum = 0
    for (const [word, strength] of passage) {
      sum += strength * (weights[word] ?? 0)
      together.set(word, Math.max(strength, together.get(word) ?? 0))
    }
    best = Math.max(best, sum)
  }
  let whole = 0
  for (const [word, strength] of together) whole += strength * (weights[word] ?? 0)
  return (0.5 * whole + 0.5 * best) / total
}

/**
 * The strength of a column's name. In a title, or next to the same neighbour as in the question, a match is nearly as
 * strong as a table's name.
 */
const IN_TEXT = 0.5
const TOGETHER = 0.65
/** Maximum characters of text that are compared. */
const MAX_COMPARED = 8_000

export function textMatches(
  { words }: Question,
  { text, title = "" }: Pick<Found, "text" | "title">,
): Strengths {
  const stems = splitWords(text.slice(0, MAX_COMPARED)).map(stemOf)
  const known = new Set(stems)
  const pairs = new Set(stems.slice(1).map((stem, i) => `${stems[i]} ${stem}`))
  const titled = new Set(splitWords(title).map(stemOf))
  const strengths = new Map<number, number>()
  for (const [place, { stem }] of words.entries()) {
    const [before, after] = [words[place - 1]?.stem, words[place + 1]?.stem]
    const isTogether = pairs.has(`${before} ${stem}`) || pairs.has(`${stem} ${after}`)
    if (titled.has(stem) || isTogether) strengths.set(place, TOGETHER)
    else if (known.has(stem)) strengths.set(place, IN_TEXT)
  }
  return strengths
}
