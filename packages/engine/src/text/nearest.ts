/** "Did you mean": the known word that a misspelt one is closest to. */

/** Longer words are not compared: comparing them is costly. */
const MAX_LENGTH = 64
/** With more candidates there is no suggestion: a file of thousands may have as many mistakes. */
const MAX_CANDIDATES = 1_000

/**
 * The closest word, ignoring case, or undefined if none is close. A typo is a character too many, too few or wrong, or two
 * swapped; one is allowed for every three characters, and at least one. Among equals, a word with the same first character
 * wins, then the first.
 */
export function nearest(word: string, among: Iterable<string>): string | undefined {
  if (word.length === 0 || word.length > MAX_LENGTH) return undefined
  const written = word.toLowerCase()
  let best: string | undefined
  let bestCost = Number.POSITIVE_INFINITY
  let count = 0
  for (const candidate of among) {
    if (++count > MAX_CANDIDATES) return undefined
    if (candidate === word || candidate.length === 0 || candidate.length > MAX_LENGTH) continue
    const known = candidate.toLowerCase()
    const allowed = Math.max(1, Math.floor(Math.max(written.length, known.length) / 3))
    const typos = distance(written, known, Math.min(allowed, Math.ceil(bestCost)))
    // A word of one character has nothing left to recognize it by after a typo.
    if (typos > allowed || (typos > 0 && Math.min(written.length, known.length) < 2)) continue
    // Of equals, the one that was written with a letter too many or too few at its end.
    const isPrefix = written.startsWith(known) || known.startsWith(written)
    const cost = typos + (written[0] === known[0] ? 0 : 0.5) - (isPrefix ? 0.25 : 0)
    if (cost < bestCost) {
      best = candidate
      bestCost = cost
    }
  }
  return best
}

/** Insertions, deletions, replacements, and swaps of neighbors; infinite if there are more than `max`. */
function distance(a: string, b: string, max: number): number {
  if (Math.abs(a.length - b.length) > max) return Number.POSITIVE_INFINITY
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    let least = i
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let cost = Math.min(at(last, j) + 1, at(row, j - 1) + 1, at(last, j - 1) + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, at(beforeLast, j - 2) + 1)
      }
      row.push(cost)
      least = Math.min(least, cost)
    }
    // A swap reaches back two rows, and costs one.
    if (least > max + 1) return Number.POSITIVE_INFINITY
    beforeLast = last
    last = row
  }
  return at(last, b.length)
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? 0
}

/** The constant of reciprocal rank fusion, at its usual value. */
const RANK_CONSTANT = 60

/**
 * Several orders as one, by the sum of 1 / (60 + rank): scores of different searches cannot be compared. Items with the
 * same key are one item. Equals keep the order in which they first appear.
 */
export function mergeByRank<Item>(
  orders: readonly (readonly Item[])[],
  keyOf: (item: Item) => string | number,
): { readonly item: Item; readonly score: number }[] {
  const merged = new Map<string | number, { item: Item; score: number }>()
  for (const order of orders) {
    for (const [rank, item] of order.entries()) {
      const key = keyOf(item)
      const { score = 0, item: first = item } = merged.get(key) ?? {}
      merged.set(key, { item: first, score: score + 1 / (RANK_CONSTANT + rank + 1) })
    }
  }
  return [...merged.values()].sort((a, b) => b.score - a.score)
}
