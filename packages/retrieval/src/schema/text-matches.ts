/** Where the words of a question occur in what a search has found. */
import type { Found } from "@superstep/engine/patterns"
import { splitWords, stemOf } from "../words.ts"
import type { Strengths } from "./passages.ts"
import type { Question } from "./question.ts"

/** As strong as a column's name; in a title, or beside the word that it is beside in the question, nearly as a table's. */
const IN_TEXT = 0.5
const TOGETHER = 0.65
/** Texts are compared by their beginnings. */
const MAX_CHARACTERS = 8_000

export function textMatches(
  { words }: Question,
  { text, title = "" }: Pick<Found, "text" | "title">,
): Strengths {
  const stems = splitWords(text.slice(0, MAX_CHARACTERS)).map(stemOf)
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
