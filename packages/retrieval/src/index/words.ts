/** What is searched for by words, in the language of FTS5. */

// English, as the stemmer is. They are in nearly every chunk: looking them up takes long and tells nothing.
const COMMON = new Set(
  `a about after all also an and any are as at be because been before but by can could did do does for from had has have
  he her him his how i if in into is it its just me more most my no not of on or our out over she should so some such than
  that the their them then there these they this those to under up us was we were what when where which while who whom why
  will with would you your`.split(/\s+/),
)
const MOST_WORDS = 64
const WORD = /[\p{L}\p{N}\p{M}\p{Co}]+/gu
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/gu

/** The words that are looked for; each is quoted, so that none is taken for an operator. */
export function queryWords(query: string): string[] {
  const all = [...new Set(query.normalize("NFC").toLowerCase().match(WORD) ?? [])]
  const telling = all.filter((word) => !COMMON.has(word))
  const words = (telling.length > 0 ? telling : all).slice(0, MOST_WORDS)
  return words.map((word) => `"${spaced(word).trim()}"`)
}

/** Scripts without spaces get one around each sign: a word in them is then a row of words, as a quoted text is. */
export function spaced(text: string): string {
  return text.replace(UNSPACED, " $& ")
}
