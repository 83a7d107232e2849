/** Which entries of the palette match what was typed, the best first. */

export interface Entry {
  readonly id: string
  readonly title: string
  readonly about: string
  /** Also searched. */
  readonly also?: string
}

export function ranked<T extends Entry>(entries: readonly T[], text: string): T[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  return entries
    .map((entry) => ({ entry, score: scoreOf(entry, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .map(({ entry }) => entry)
}

/** Every word must be found: best at the start of the title, and at the start of a word rather than inside of one. */
function scoreOf({ title, about, also = "" }: Entry, words: readonly string[]): number {
  let score = 1
  const name = title.toLowerCase()
  const rest = `${about} ${also}`.toLowerCase()
  const beginsIn = (text: string, word: string) =>
    text.split(/[\s\-_/.]+/).some((part) => part.startsWith(word))
  for (const word of words) {
    if (name.startsWith(word)) score += 8
    else if (beginsIn(name, word)) score += 5
    else if (beginsIn(rest, word)) score += 3
    else if (name.includes(word)) score += 2
    else if (rest.includes(word)) score += 1
    else return 0
  }
  return score
}
