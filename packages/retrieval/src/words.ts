/** Words of questions, names and documents: which say something, and in which form they are compared. */

/** English, as SQLite's stemmer is. They are in nearly every chunk: looking them up takes long and finds nothing. */
const COMMON = new Set(
  `a about after all also an and any are as at be because been before but by can could did do does for from had has have
  he her him his how i if in into is it its just me more most my no not of on or our out over she should so some such than
  that the their them then there these they this those to under up us was we were what when where which while who whom why
  will with would you your`.split(/\s+/),
)
/** Rarer ones, and those of requests. They are in no name of a table or a node. */
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

/** A question's words in order, without stop words. */
export function wordsOfGoal(goal: string): string[] {
  return splitWords(goal).filter(isTelling).map(singular)
}

export function isTelling(word: string): boolean {
  return !STOP_WORDS.has(word)
}

/** `"customerOrders"`, `customer_orders` and `shop.Customer Orders` all have `customer` and `order`. */
export function wordsOfName(name: string): string[] {
  return splitWords(
    name.replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, "$1 $2").replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2"),
  ).map(singular)
}

/** In lower case and without marks. */
export function splitWords(text: string): string[] {
  // Letters without their marks: "café" is found by "cafe". And an owner is the word itself: "customer's".
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
const SHORTEST_STEM = 4

/** What forms of a word have in common: `shipped`, `shipping` and `shipment` are one. Short words are left as they are. */
export function stemOf(word: string): string {
  const plain = singular(word)
  const cut = plain.replace(ENDINGS, "")
  if (cut.length < SHORTEST_STEM)
    return plain.length > SHORTEST_STEM && /[ey]$/.test(plain) ? plain.slice(0, -1) : plain
  return /([bdgmnprt])\1$/.test(cut) ? cut.slice(0, -1) : cut
}

const MAX_WORDS = 64
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
const EVERY_UNSPACED = new RegExp(UNSPACED, "gu")

/** The words to look for in FTS5; each is quoted, so that none is taken for an operator. */
export function queryWords(query: string): string[] {
  const all = [
    ...new Set(
      query
        .normalize("NFC")
        .toLowerCase()
        .match(/[\p{L}\p{N}\p{M}\p{Co}]+/gu) ?? [],
    ),
  ]
  const telling = all.filter((word) => !COMMON.has(word))
  const words = (telling.length > 0 ? telling : all).slice(0, MAX_WORDS)
  return words.map((word) => `"${spaced(word).trim()}"`)
}

/** Scripts without spaces get one around each character: a word in them is then a phrase of words. */
export function spaced(text: string): string {
  return text.replace(EVERY_UNSPACED, " $& ")
}

/** Whether it has characters of a script without spaces. */
export function isUnspaced(text: string): boolean {
  return UNSPACED.test(text)
}
