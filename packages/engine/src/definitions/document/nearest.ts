/** "Did you mean": the known word that a misspelt one is closest to. */

/** Longer words are no slips of the pen, and comparing them costs. */
const LONGEST = 64
/** Of more words than this, no suggestion: a file of thousands may have as many mistakes. */
const MOST = 1_000

/**
 * The closest word, blind to case, or undefined when none is close: one slip (a sign too many, too few, wrong,
 * or two swapped) in a short word, one for every three signs in a longer one. Of equals, the one that begins
 * alike, then the first.
 */
export function nearest(word: string, among: Iterable<string>): string | undefined {
  if (word.length === 0 || word.length > LONGEST) return undefined
  const written = word.toLowerCase()
  let best: string | undefined
  let bestCost = Number.POSITIVE_INFINITY
  let count = 0
  for (const candidate of among) {
    if (++count > MOST) return undefined
    if (candidate === word || candidate.length === 0 || candidate.length > LONGEST) continue
    const known = candidate.toLowerCase()
    const allowed = Math.max(1, Math.floor(Math.max(written.length, known.length) / 3))
    const slips = distance(written, known, Math.min(allowed, bestCost))
    // In a word of two signs, one slip leaves nothing to recognise it by, unless a sign was added or left out.
    if (slips > allowed || (slips > 0 && Math.min(written.length, known.length) < 2)) continue
    const cost = slips + (written[0] === known[0] ? 0 : 0.5)
    if (cost < bestCost) {
      best = candidate
      bestCost = cost
    }
  }
  return best
}

/** Insertions, deletions, replacements, and swaps of neighbours; infinite when it is more than `most`. */
function distance(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return Number.POSITIVE_INFINITY
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
    if (least > most + 1) return Number.POSITIVE_INFINITY
    beforeLast = last
    last = row
  }
  return at(last, b.length)
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? 0
}
