/** Prose for searching: words without case, accents and the most common endings, in any script; and sentences. */

const WORD = /[\p{L}\p{N}]+/gu
/** Scripts written without spaces: pairs of characters stand in for words. */
const UNSPACED = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]+$/u
const ASCII = /^\p{ASCII}*$/u

export function wordsOf(text: string): string[] {
  if (ASCII.test(text)) return (text.toLowerCase().match(/[a-z0-9]+/g) ?? []).map(stem)
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

/** English endings. Words of other languages lose little, because query and text are cut alike. */
function stem(word: string): string {
  if (word.length > 5 && word.endsWith("ing")) return undoubled(word.slice(0, -3))
  if (word.length > 4 && word.endsWith("ies")) return `${word.slice(0, -3)}y`
  if (word.length > 4 && (word.endsWith("es") || word.endsWith("ed"))) return undoubled(word.slice(0, -2))
  if (word.length > 3 && word.endsWith("s") && !word.endsWith("ss")) return word.slice(0, -1)
  if (word.length > 4 && word.endsWith("e")) return word.slice(0, -1)
  return word
}

/** `shipp` → `ship`, `cancell` → `cancel`. */
function undoubled(stem: string): string {
  const isDoubled = stem.length > 3 && /([bdgmnprt])\1$/.test(stem)
  return isDoubled || (stem.length > 5 && stem.endsWith("ll")) ? stem.slice(0, -1) : stem
}

/** How well each string matches the query; rare words count more. 0 if no word occurs. */
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

const STOP_WORDS =
  "a an the and or but if then else of in on at by to from for with without into onto as is are was were be been being " +
  "am do does did done has have had having will would shall should can could may might must not no nor so than that " +
  "this these those there here it its itself he she him her his hers they them their theirs we us our ours you your " +
  "yours i me my mine what which who whom whose when where why how all any both each few more most other some such " +
  "only own same too very just also about please tell give let make s t d ll m o re ve get got want need like know " +
  "hi hello one much many long often"

let stopWords: ReadonlySet<string> | undefined

/** The distinct words that carry meaning, in order. */
export function tellingWords(text: string): string[] {
  stopWords ??= new Set(wordsOf(STOP_WORDS))
  const known = stopWords
  return [...new Set(wordsOf(text))].filter((word) => !known.has(word))
}

/** `getUserName`, `get_user-name` → `get User Name`. */
export function spaced(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim()
}

/** Lines longer than this count as wrapped: their sentence continues on the next line. */
const WRAPPED = 50
const BLOCK_START = /^\s*(?:[-*+•#>|[]|\d{1,3}[.)]\s)/
/** A line that is complete: it ends like one, or it is data. */
const LINE_END = /[.!?:;}\])]\s*$|->|[{|]/
/** `- name: value, …`: a row of a table, or an item with a label. */
const ROW = /^- [^:]{1,60}: /
/** The end of a sentence, with the numbers of its sources. */
const SENTENCE_END = /[.!?]["'”’»)\]]{0,3}(?:[ \t]{0,2}\[\d{1,3}\]){0,9}(?=\s|$)|[。！？]/g
const ABBREVIATION =
  /(?:^|[\s(])(?:[A-Z]|e\.g|i\.e|etc|vs|cf|approx|no|nr|mr|mrs|ms|dr|prof|st|inc|ltd|jr|sr|fig|sec)\.$/i

/** Splits text into sentences, list items, table rows and headings. */
export function sentencesIn(text: string): string[] {
  return unwrapped(text).flatMap((line) => {
    if (ROW.test(line)) return [line.trim()]
    const found: string[] = []
    let from = 0
    for (const end of line.matchAll(SENTENCE_END)) {
      const to = end.index + end[0].length
      const isOpen = /^\s+\p{Ll}/u.test(line.slice(to, to + 4))
      if (isOpen || ABBREVIATION.test(line.slice(Math.max(0, to - 9), to))) continue
      found.push(line.slice(from, to))
      from = to
    }
    return [...found, line.slice(from)]
      .map((sentence) => sentence.trim())
      .filter((sentence) => sentence !== "")
  })
}

function unwrapped(text: string): string[] {
  const lines: string[] = []
  let open: string[] = []
  const close = () => {
    if (open.length > 0) lines.push(open.join(" "))
    open = []
  }
  for (const line of text.split("\n")) {
    const last = open.at(-1)
    const isWrapped =
      last !== undefined &&
      !BLOCK_START.test(line) &&
      !isHeading(last) &&
      (/^\s*\p{Ll}/u.test(line) ? !/[.!?]\s*$/.test(last) : last.length > WRAPPED && !LINE_END.test(last))
    if (!isWrapped) close()
    if (line.trim() === "") close()
    else open.push(line)
  }
  close()
  return lines
}

export function isHeading(sentence: string): boolean {
  return /^#{1,6}\s/.test(sentence) || (sentence.length < 60 && /^[^.!?]*:$/.test(sentence))
}
