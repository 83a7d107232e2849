/** Words of questions, names and documents: which ones are significant, and the forms in which they are compared. */

/** English, like SQLite's stemmer. They are in nearly every chunk: searching for them is slow and finds nothing. */
const COMMON = new Set(
  `a about after all also an and any are as at be because been before but by can could did do does for from had has have
  he her him his how i if in into is it its just me more most my no not of on or our out over she should so some such than
  that the their them then there these they this those to under up us was we were what when where which while who whom why
  will with would you your`.split(/\s+/),
)
/** Less frequent ones, and words of requests. They do not appear in names of tables or nodes. */
const STOP_WORDS = new Set([
  ...COMMON,
  ...`above again am being below between both doing down during each few find further get give having here hers let list
  many much need nor now off once only other own per please s same show t tell through too until very want whose`.split(
    /\s+/,
  ),
])

const IRREGULAR: Readonly<Record<string, string>> = {
  analyses: "analysis",
  buses: "bus",
  caches: "cache",
  children: "child",
  criteria: "criterion",
  feet: "foot",
  indices: "index",
  lives: "life",
  men: "man",
  mice: "mouse",
  people: "person",
  series: "series",
  shelves: "shelf",
  women: "woman",
}

const WITH_IE = /^(?:[a-z]ies|movies|cookies|calories|rookies|selfies|hoodies|zombies|smoothies)$/

/** The significant words of a question, in order. */
export function wordsOfGoal(goal: string): string[] {
  return splitWords(goal).filter(isSignificant).map(singular)
}

export function isSignificant(word: string): boolean {
  return !STOP_WORDS.has(word)
}

/** `"customerOrders"`, `customer_orders` and `shop.Customer Orders` all have `customer` and `order`. */
export function wordsOfName(name: string): string[] {
  return splitWords(
    name.replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, "$1 $2").replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2"),
  ).map(singular)
}

/** Words in lower case, without diacritics. */
export function splitWords(text: string): string[] {
  // Removes diacritics, so that "cafe" finds "café", and the possessive: "customer's" becomes "customer".
  const plain = text
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase()
    .replace(/['’]s\b/gu, "")
  return plain.match(/[\p{L}\p{N}]+/gu) ?? []
}

export function singular(word: string): string {
  const known = IRREGULAR[word]
  if (known !== undefined) return known
  if (word.length < 4 || /(?:ss|us|is)$/.test(word)) return word
  if (/[^aeiou]ies$/.test(word) && !WITH_IE.test(word)) return `${word.slice(0, -3)}y`
  if (/(?:ss|sh|ch|x|zz|(?:stat|bon|vir|camp|cens)us)es$/.test(word)) return word.slice(0, -2)
  return word.endsWith("s") ? word.slice(0, -1) : word
}

const ENDINGS = /(?:ations?|ments?|ings?|ions?|ers?|ors?|ed|al|ly|es|s|e|y)$/
const MIN_STEM = 4

/** The common stem of a word's forms: `shipped`, `shipping` and `shipment`. Short words are unchanged. */
export function stemOf(word: string): string {
  const plain = singular(word)
  const cut = plain.replace(ENDINGS, "")
  if (cut.length < MIN_STEM)
    return plain.length > MIN_STEM && /[ey]$/.test(plain) ? plain.slice(0, -1) : plain
  return /([bdgmnprt])\1$/.test(cut) ? cut.slice(0, -1) : cut
}

const MAX_WORDS = 64
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
const EVERY_UNSPACED = new RegExp(UNSPACED, "gu")

/** The words to search for in FTS5. Each is quoted, so that none is parsed as an operator. */
export function queryWords(query: string): string[] {
  const all = [
    ...new Set(
      query
        .normalize("NFC")
        .toLowerCase()
        .match(/[\p{L}\p{N}\p{M}\p{Co}]+/gu) ?? [],
    ),
  ]
  const significant = all.filter((word) => !COMMON.has(word))
  const words = (significant.length > 0 ? significant : all).slice(0, MAX_WORDS)
  return words.map((word) => `"${spaced(word).trim()}"`)
}

/** Adds spaces around each character of scripts without spaces, so that a word in them is a phrase. */
export function spaced(text: string): string {
  return text.replace(EVERY_UNSPACED, " $& ")
}

/** Whether it has characters of a script without spaces. */
export function isUnspaced(text: string): boolean {
  return UNSPACED.test(text)
}
