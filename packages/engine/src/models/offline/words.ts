/**
 * Words as the offline model compares them: lower case, without endings, without those that say nothing. Light on
 * purpose: two forms of one word must meet, a wrong meeting costs little.
 */

const STOP_WORDS = new Set(
  (
    "a an the and or but if then else of in on at by to from for with without into onto as is are was were be been being " +
    "am do does did done has have had having will would shall should can could may might must not no nor so than that " +
    "this these those there here it its itself he she him her his hers they them their theirs we us our ours you your " +
    "yours i me my mine what which who whom whose when where why how all any both each few more most other some such " +
    "only own same too very just also about please tell give let make s t d ll m o re ve get got want need like know " +
    "us hi hello one much many long often"
  ).split(" "),
)

/** Calls back with each word's place. Letters of scripts that write no spaces are words by themselves. */
function eachWord(text: string, from: number, to: number, see: (start: number, end: number) => void): void {
  let start = -1
  for (let i = from; i < to; i++) {
    const kind = kindOf(text.charCodeAt(i))
    if (kind === LETTER) {
      if (start < 0) start = i
      continue
    }
    if (start >= 0) see(start, i)
    start = -1
    if (kind === ALONE) see(i, i + 1)
  }
  if (start >= 0) see(start, to)
}

export const GAP = 0
export const LETTER = 1
const ALONE = 2

const ASCII = Uint8Array.from({ length: 0x80 }, (_, code) =>
  /[a-z0-9]/i.test(String.fromCharCode(code)) ? LETTER : GAP,
)

/** What a character is to words: part of one, one by itself, or between two. */
export function kindOf(code: number): number {
  if (code < 0x80) return ASCII[code] as number
  if (code < 0xc0) return GAP
  if (code >= 0x2000 && code < 0x2c00) return GAP
  if (code >= 0x3000 && code < 0x3040) return GAP
  if (code >= 0x3040 && code < 0xa000) return ALONE
  if (code >= 0xff00 && code < 0xff10) return GAP
  return LETTER
}

/** The word as it is compared, or undefined when it says nothing. */
export function rootOf(word: string): string | undefined {
  const lower = word.toLowerCase()
  return STOP_WORDS.has(lower) ? undefined : stem(lower)
}

/** The distinct roots of a text, in order. */
export function rootsOf(text: string): string[] {
  const roots = new Set<string>()
  eachWord(text, 0, text.length, (start, end) => {
    const root = rootOf(text.slice(start, end))
    if (root !== undefined) roots.add(root)
  })
  return [...roots]
}

/** `getUserName`, `get_user-name` → `get User Name`. */
export function spaced(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim()
}

const ENDINGS: readonly (readonly [ending: string, least: number])[] = [
  ["ational", 4],
  ["ations", 4],
  ["ation", 4],
  ["ators", 4],
  ["ating", 4],
  ["ator", 4],
  ["ated", 4],
  ["ates", 4],
  ["ate", 4],
  ["ments", 3],
  ["ment", 3],
  ["ings", 3],
  ["ing", 3],
  ["ions", 4],
  ["ion", 4],
  ["ied", 3],
  ["ies", 3],
  ["ily", 3],
  ["ed", 3],
  ["ers", 4],
  ["er", 4],
  ["or", 5],
  ["ly", 4],
  ["es", 3],
  ["s", 3],
  ["e", 3],
  ["y", 4],
]

/** Cut until nothing is left to cut: `delivery` comes to `deliver`, and must meet what that comes to. */
export function stem(word: string): string {
  for (let root = word; ; ) {
    const shorter = cut(root)
    if (shorter === root) return root
    root = shorter
  }
}

function cut(word: string): string {
  if (word.length < 4 || !/^[a-z]+$/.test(word)) return word
  for (const [ending, least] of ENDINGS) {
    if (!word.endsWith(ending) || word.length - ending.length < least) continue
    if (ending === "s" && word.endsWith("ss")) continue
    return tidy(word.slice(0, -ending.length))
  }
  return tidy(word)
}

/** `shipp` → `ship`, `deliveri` → `deliver`: what an ending leaves behind. */
function tidy(root: string): string {
  const last = root.at(-1)
  const isDoubled = root.length > 3 && last === root.at(-2) && !/[aeiou]/.test(last ?? "")
  if (isDoubled) return root.slice(0, -1)
  return root.length > 3 && (last === "e" || last === "i" || last === "y") ? root.slice(0, -1) : root
}
