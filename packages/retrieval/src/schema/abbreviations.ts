/**
 * Whether a piece of a name stands for a word: `pat` for patient, `qty` for quantity, `dob` for date of birth. The answer is a
 * likelihood from 0 to 1, by one rule: an abbreviation begins as its word does, and drops letters from what follows, vowels
 * first. The more of the word's consonants it keeps, the likelier it is.
 */

const SHORTEST = 2
const VOWEL = /[aeiou]/

/** `word` is in lower case, and longer than `piece`. */
export function standsFor(piece: string, word: string): number {
  if (piece.length < SHORTEST || piece.length >= word.length || piece[0] !== word[0]) return 0
  if (!/^[a-z]+$/.test(piece) || word.length < 4) return 0
  const begins = commonStart(piece, word)
  // The start of a word: two letters are the start of too many.
  if (begins === piece.length) return piece.length === 2 ? 0.3 : Math.min(0.9, 0.6 + 0.1 * (piece.length - 2))
  // After the common start only consonants are kept, in their order.
  if (!isConsonantsOf(piece.slice(begins), word.slice(begins))) return 0
  const kept = skeleton(piece).length / skeleton(word).length
  const isToTheEnd = piece.at(-1) === word.at(-1) || piece.at(-1) === skeleton(word).at(-1)
  const likelihood = 0.35 + 0.5 * kept + (isToTheEnd ? 0.1 : -0.1)
  return Math.max(0, Math.min(0.9, piece.length === 2 ? likelihood - 0.2 : likelihood))
}

/** Whether `piece` is the first letters of consecutive words: `eta` of estimated time of arrival. Gives their places. */
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

/** The first letter and the consonants after it, each run of one letter once. */
function skeleton(word: string): string {
  const rest = word.slice(1).replace(/[aeiou]/g, "")
  return `${word[0]}${rest}`.replace(/(.)\1+/g, "$1")
}
