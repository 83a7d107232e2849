/** "Did you mean": the known word that a misspelt one is closest to. */

/** Longer words are no slips of the pen, and comparing them costs. */
const LONGEST = 64

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
  for (const candidate of among) {
    if (candidate === word || candidate.length === 0 || candidate.length > LONGEST) continue
    const known = candidate.toLowerCase()
    const allowed = Math.max(1, Math.floor(Math.max(written.length, known.length) / 3))
    if (Math.abs(written.length - known.length) > allowed) continue
    const slips = distance(written, known)
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

/** Insertions, deletions, replacements, and swaps of neighbours. */
function distance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let cost = Math.min(at(last, j) + 1, at(row, j - 1) + 1, at(last, j - 1) + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, at(beforeLast, j - 2) + 1)
      }
      row.push(cost)
    }
    beforeLast = last
    last = row
  }
  return at(last, b.length)
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? 0
}
