/** The words of a text, for finding: without case, accents and the commonest endings, in any script. */

const WORD = /[\p{L}\p{N}]+/gu
/** Scripts that are written without spaces: there, pairs of characters do for words. */
const UNSPACED = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]+$/u

export function wordsOf(text: string): string[] {
  const plain = text
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase()
  return (plain.match(WORD) ?? []).flatMap((word) => (UNSPACED.test(word) ? pairsOf(word) : [stem(word)]))
}

function pairsOf(word: string): string[] {
  const characters = [...word]
  if (characters.length === 1) return characters
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`)
}

/** English endings; words of other languages lose little by it, since both sides are cut alike. */
function stem(word: string): string {
  if (word.length > 5 && word.endsWith("ing")) return word.slice(0, -3)
  if (word.length > 4 && word.endsWith("ies")) return `${word.slice(0, -3)}y`
  if (word.length > 4 && (word.endsWith("es") || word.endsWith("ed"))) return word.slice(0, -2)
  if (word.length > 3 && word.endsWith("s") && !word.endsWith("ss")) return word.slice(0, -1)
  if (word.length > 4 && word.endsWith("e")) return word.slice(0, -1)
  return word
}

/** How well each text fits the words that are looked for, rare words counting more; 0 where none occurs. */
export function scoresOf(query: string, texts: readonly string[]): number[] {
  const wanted = [...new Set(wordsOf(query))]
  const found = texts.map((text) => new Set(wordsOf(text)))
  const weights = wanted.map((word) => {
    const often = found.filter((words) => words.has(word)).length
    return often === 0 ? 0 : Math.log(1 + texts.length / often)
  })
  return found.map((words) =>
    wanted.reduce((sum, word, index) => sum + (words.has(word) ? (weights[index] ?? 0) : 0), 0),
  )
}
