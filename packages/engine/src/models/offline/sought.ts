/** What a question wants of a table: the values it names, the words that may be values, what is to be worked out. */
import { rootOf, rootsOf } from "./words.ts"

export interface Sought {
  /** Patterns of ILIKE that a row must have: names, codes, numbers, what is in quotes, dates. */
  readonly values: readonly string[]
  /** Roots of all other words that say something, in order. */
  readonly roots: readonly string[]
  /** Roots of the whole question. */
  readonly spoken: readonly string[]
  readonly measure: Measure | undefined
}

type Measure = "number" | "sum" | "average" | "greatest" | "least"

const MEASURES: readonly (readonly [Measure, RegExp])[] = [
  ["average", /\b(?:average|mean)\b/i],
  ["least", /\b(?:least|fewest|lowest|smallest|cheapest|earliest|oldest|shortest|lightest|first)\b/i],
  ["greatest", /\b(?:most|highest|largest|biggest|greatest|latest|newest|longest|heaviest|last|maximum)\b/i],
  ["sum", /\b(?:total|sum|altogether|overall|how much)\b/i],
  ["number", /\b(?:how many|number of|count)\b/i],
]
const MONTHS = "january february march april may june july august september october november december".split(
  " ",
)
const DATE = new RegExp(String.raw`\b(${MONTHS.join("|")})\b(?:,? (\d{4}))?|\b(?:19|20)\d\d\b`, "gi")
const QUOTED = /"([^"]{1,80})"|“([^”]{1,80})”|(?<!\w)'([^']{1,80})'(?!\w)/g
/** Words that begin with a capital, codes, and numbers right after them: `Skarv 3`, `FB-2041`. */
const CAPITAL = String.raw`\p{Lu}[\p{L}\p{N}'’&.-]*[\p{L}\p{N}]|\p{Lu}`
const NAME = new RegExp(String.raw`(?<![\p{L}\p{N}])(?:${CAPITAL})(?: (?:${CAPITAL}|\p{N}+))*`, "gu")
const CODE = /(?<![\p{L}\p{N}])(?=[\p{L}-]{0,40}\p{N})[\p{L}\p{N}]+(?:[-_][\p{L}\p{N}]+)*/gu
/** They say what to do, or how much, and are in no row. */
const ASKING =
  /\b(?:show|list|find|name|count|number|total|sum|average|mean|altogether|overall|come|there|currently|now|year|month|date|day|time)\b/gi

export function soughtIn(question: string): Sought {
  const values: string[] = []
  const take = (text: string, found: RegExp, patternOf: (match: RegExpExecArray) => string | undefined) => {
    let [rest, from] = ["", 0]
    for (const match of text.matchAll(found)) {
      const pattern = patternOf(match)
      if (pattern === undefined) continue
      values.push(pattern)
      rest += `${text.slice(from, match.index)} `
      from = match.index + match[0].length
    }
    return rest + text.slice(from)
  }
  let rest = take(question, QUOTED, ([, ...parts]) => likeWords(parts.find(Boolean) ?? ""))
  rest = take(rest, DATE, ([whole, month, year]) => datePattern(whole, month, year))
  rest = take(withSmallStart(rest), NAME, ([name]) =>
    rootOf(name) === undefined ? undefined : likeWords(name),
  )
  rest = take(rest, CODE, ([code]) => likeWords(code))
  const measure = MEASURES.find(([, words]) => words.test(question))?.[0]
  const plain = MEASURES.reduce((text, [, words]) => text.replaceAll(new RegExp(words, "gi"), " "), rest)
  return {
    values: [...new Set(values)],
    roots: rootsOf(plain.replace(ASKING, " ")).filter((root) => root.length > 2),
    spoken: rootsOf(question),
    measure,
  }
}

/** A sentence begins with a capital, whatever its first word is. */
function withSmallStart(text: string): string {
  return text.trimStart().replace(/^(\p{Lu}\p{Ll}*)(?= (\p{Lu})?)/u, (word, _, capital) => {
    const isName = capital !== undefined && rootOf(word) !== undefined && word.replace(ASKING, "") !== ""
    return isName ? word : word.toLowerCase()
  })
}

function datePattern(whole: string, month: string | undefined, year: string | undefined): string | undefined {
  if (month === undefined) return `%${whole}%`
  // "may" is a month where a year comes after it, or where it is written like one.
  if (year === undefined && !/^\p{Lu}/u.test(whole)) return undefined
  const number = String(MONTHS.indexOf(month.toLowerCase()) + 1).padStart(2, "0")
  return `%${year ?? ""}-${number}%`
}

function likeWords(text: string): string {
  // What would be more than itself in a pattern stands for any one character.
  return `%${text.trim().replace(/[\\%]/g, "_").replace(/\s+/g, "%")}%`
}
