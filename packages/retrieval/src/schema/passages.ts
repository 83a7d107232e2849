/**
 * How well a source covers a question. A source has passages: the tables of a database, the texts that a search of documents
 * or a graph finds. A question is covered by the words that occur in them, each by its strength there and its rarity: a word
 * in many passages of all sources says little about which source is meant. Half of the coverage is that of the best single
 * passage, as an answer is mostly in one place.
 */

/** For each place of a word of the question its strength, from 0 to 1; places without a match are missing. */
export type Strengths = ReadonlyMap<number, number>

/** From this strength on a word occurs in a passage. */
const OCCURS = 0.25

/** How much each word of a question counts, given the passages of all sources. */
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
