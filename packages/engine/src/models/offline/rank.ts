/**
 * Ranks the sentences of the passages by how well they answer a request: shared roots weighted by how rare they are in
 * this prompt, the kind of thing that is asked for, the heading above. Only what is picked is copied.
 */
import type { Passage } from "./passage.ts"
import { hasAnswer, type Wish } from "./question.ts"
import { type Sentence, sentencesIn } from "./sentence-index.ts"
import { isHeading } from "./sentences.ts"
import { rootsOf } from "./words.ts"

export interface Found {
  readonly text: string
  readonly passage: Passage
  /** Its place among all sentences. */
  readonly order: number
  readonly score: number
  /** Share of the request's weight that it and its heading have: 0 to 1. */
  readonly coverage: number
}

const HEADING_SHARE = 0.5
const KIND_BONUS = 0.3
/** Only this many of the best are looked at for the kind of answer. */
const LOOKED_AT = 40

/** A sentence by its number, as it is rated. */
interface Rated {
  readonly number: number
  readonly text: string
  score: number
}

export function rank(request: string, wish: Wish, passages: readonly Passage[], most = 8): Found[] {
  const asked = rootsOf(request)
  if (asked.length === 0) return []
  const { sentences, averageWords, withRoot, underRoot } = sentencesIn(passages)
  // The weight of the asked roots that each sentence has, and of those that only its heading has.
  const own = new Float64Array(sentences.length)
  const above = new Float64Array(sentences.length)
  const last = new Int32Array(sentences.length).fill(-1)
  const hits: number[] = []
  let total = 0
  asked.forEach((root, turn) => {
    const having = withRoot(root)
    const weight = Math.log(1 + (sentences.length - having.length + 0.5) / (having.length + 0.5))
    total += weight
    const add = (to: Float64Array, number: number) => {
      if (last[number] === turn) return
      if (last[number] === -1) hits.push(number)
      last[number] = turn
      to[number] = (to[number] ?? 0) + weight
    }
    for (const number of having) add(own, number)
    for (const number of underRoot(root)) add(above, number)
  })
  const scores = new Float64Array(sentences.length)
  for (const number of hits) {
    const { passage, words } = sentences[number] as Sentence
    const length = 0.7 + 0.3 * Math.max(0.4, words / averageWords)
    const weight = (own[number] ?? 0) + HEADING_SHARE * (above[number] ?? 0)
    scores[number] = words > 1 ? (weight * passage.weight) / length : 0
  }
  const looked = bestFew(hits, scores).map((number) =>
    rated(sentences[number] as Sentence, number, scores[number] ?? 0, wish),
  )
  looked.sort((a, b) => b.score - a.score || a.number - b.number)
  return looked.slice(0, most).map(({ number, text, score }) => ({
    text,
    passage: (sentences[number] as Sentence).passage,
    order: number,
    score,
    coverage: ((own[number] ?? 0) + (above[number] ?? 0)) / total,
  }))
}

/** The numbers with the highest scores; the earlier one of two that are alike. */
function bestFew(hits: readonly number[], scores: Float64Array): number[] {
  const score = (number: number) => scores[number] ?? 0
  return hits
    .filter((number) => score(number) > 0)
    .sort((a, b) => score(b) - score(a) || a - b)
    .slice(0, LOOKED_AT)
}

function rated({ passage, start, end }: Sentence, number: number, score: number, wish: Wish): Rated {
  const text = passage.text.slice(start, end)
  const kind = hasAnswer(wish, text) ? 1 + KIND_BONUS : 1
  // A question is seldom the answer, and a heading never is.
  return { number, text, score: score * kind * (text.endsWith("?") || isHeading(text) ? 0.4 : 1) }
}
