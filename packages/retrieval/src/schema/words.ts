/** Words of questions and of names, in a form in which they can be compared. */

const STOP_WORDS = new Set(
  `a about above after again all also am an and any are as at be because been before being below between both but by can
  could did do does doing down during each few find for from further get give had has have having he her here hers him
  his how i if in into is it its just let list many me more most much my need no nor not now of off on once only or other
  our out over own per please s same she should show so some such t tell than that the their them then there these they
  this those through to too under until up us very want was we were what when where which while who whom whose why will
  with would you your`.split(/\s+/),
)

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

/** A question's words in order, without those that say nothing. */
export function wordsOfGoal(goal: string): string[] {
  return splitWords(goal).filter(isTelling).map(singular)
}

/** It is no stop word. */
export function isTelling(word: string): boolean {
  return !STOP_WORDS.has(word)
}

/** `"customerOrders"`, `customer_orders` and `shop.Customer Orders` all have `customer` and `order`. */
export function wordsOfName(name: string): string[] {
  return splitWords(
    name.replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, "$1 $2").replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2"),
  ).map(singular)
}

function splitWords(text: string): string[] {
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
