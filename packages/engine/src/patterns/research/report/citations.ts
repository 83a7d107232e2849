/**
 * Citations in Markdown: `[1]`, `[1][3]`, and other spellings of models: `[1, 3]`, `[2-4]`, `[^1]`. Also reduces text to
 * what a model may write, and extracts the claims of a report with the sources they cite.
 */
import {
  codeMasked,
  isCheapMarkdown,
  markdownParts,
  outsideCode,
  withoutMarkup,
} from "../markdown/markdown-parts.ts"
import { type IsKnownAddress, type NumberOf, safeMarkdown } from "../markdown/safe-markdown.ts"
import { oneLine, sourceKey } from "../search-key.ts"

const MARK = String.raw`\[\^?(?:\d{1,3}(?:\s*[,;–-]\s*\^?\d{1,3})*)\]`
const MARKS = new RegExp(`( ?)(${MARK}(?: ?${MARK})*)`, "g")
const IN_BRACKETS = /\[\^?([\d,;–^\s-]+)\]/g
const MAX_IN_RANGE = 50

/** Replaces every citation number with the result of `change`, and removes it if that is undefined. */
export function mapCitations(
  text: string,
  change: (number: number) => number | undefined,
  written: (number: number) => string = (number) => `[${number}]`,
): string {
  return outsideCode(text, (plain) =>
    plain.replace(MARKS, (_, space: string, marks: string) => {
      const lists = [...marks.matchAll(IN_BRACKETS)].map(([, list = ""]) => list)
      const numbers = lists.flatMap(numbersIn).flatMap((number) => change(number) ?? [])
      const together = [...new Set(numbers)].map(written).join("")
      return together === "" ? "" : `${space}${together}`
    }),
  )
}

/** The numbers in the order of their first occurrence. */
export function citedIn(text: string): number[] {
  return [...citationCounts(text).keys()]
}

/** The number of citations of each number, in the order of their first occurrence. */
export function citationCounts(text: string): Map<number, number> {
  const counts = new Map<number, number>()
  mapCitations(text, (number) => {
    counts.set(number, (counts.get(number) ?? 0) + 1)
    return number
  })
  return counts
}

function numbersIn(list: string): number[] {
  return list.split(/[,;]/).flatMap((part) => {
    const [from, to] = part.split(/[–-]/).map((text) => Number(text.replace("^", "").trim()))
    if (from === undefined) return []
    if (to === undefined) return [from]
    if (to < from || to - from > MAX_IN_RANGE) return [from, to]
    return Array.from({ length: to - from + 1 }, (_, i) => from + i)
  })
}

// Removes what a model must not write: links, images, its own lists of sources, and citation numbers without evidence.

/** By number, from 1. Absent for evidence that cannot be cited, because the writer did not receive it. */
export type Citable = readonly ({ readonly url: string } | undefined | null)[]

export function ownWords(text: string, evidence: Citable, isKnown?: IsKnownAddress): string {
  const numbers = new Map(evidence.flatMap((one, i) => (one ? [[sourceKey(one.url), i + 1] as const] : [])))
  const readable = isCheapMarkdown(text) ? text : withoutMarkup(text)
  return settled(withoutSourceList(readable), evidence, (url) => numbers.get(sourceKey(url)), isKnown)
}

const MAX_ROUNDS = 4

/**
 * Safe Markdown that cites only known sources. Repeats, because removing a citation can create a link, and vice versa.
 */
function settled(source: string, evidence: Citable, numberOf: NumberOf, isKnown?: IsKnownAddress): string {
  let text = source.trim()
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const safe = safeMarkdown(text, numberOf, isKnown)
    const known = mapCitations(safe, (number) => (evidence[number - 1] ? number : undefined)).trim()
    if (known === text) return text
    text = known
  }
  return withoutMarkup(text)
}

const WORD =
  "sources?|references?|bibliography|citations?|footnotes?|literature|works cited|further reading|quellen(?:angaben|verzeichnis)?|literatur(?:verzeichnis)?|références|bibliographie|fuentes|referencias|bibliografía|fonti|riferimenti|fontes|referências|bronnen|källor|источники|литература|参考文献|参考资料|資料來源|来源|出典|참고문헌"
const SOURCES = `(?:list of )?(?:${WORD})(?: cited| used)?(?: (?:and|&|und|et|y) (?:${WORD}|notes))?`
const HEADING = /^ {0,3}(#{1,6})\s/
const HEADED = new RegExp(
  String.raw`^ {0,3}#{1,6}\s+(?:\d+[.)]\s*)?[*_]{0,2}${SOURCES}:?[*_]{0,2}:?[\s#]*$`,
  "iu",
)
const BARE = new RegExp(
  String.raw`^(?:${SOURCES}:|(\*\*|__|\*|_)${SOURCES}:?\1:?|${SOURCES}(?=\n(?:-{3,}|={3,})\s*$))\s*`,
  "iu",
)
const ITEM = /^(?:\s*$|\s*\[\^?\d+\]|\s*\d+[.)]\s|\s*[-*+•]\s|\s*https?:|\s{2,}\S|-{3,}\s*$|={3,}\s*$)/
const NUMBERED = /^\s*\[\^?\d+\]:\s/

function withoutSourceList(text: string): string {
  const kept: string[] = []
  const lines = codeMasked(text).split("\n")
  /** The level of the heading above it; 7 without one. */
  let list: number | undefined
  let at = 0
  for (const [i, line] of lines.entries()) {
    const level = HEADING.exec(line)?.[1]?.length
    if (HEADED.test(line)) list = Math.min(list ?? 7, level ?? 7)
    else if (isBareTitle(line, lines[i + 1])) list ??= 7
    else if (level !== undefined && level <= (list ?? 0)) list = undefined
    else if (list === 7 && !ITEM.test(line)) list = undefined
    if (list === undefined && !NUMBERED.test(line)) kept.push(text.slice(at, at + line.length))
    at += line.length + 1
  }
  return kept.join("\n")
}

/** `Sources:`, `**Sources**`, or the word with a line under it. */
function isBareTitle(line: string, next = ""): boolean {
  const title = BARE.exec(`${line}\n${next}`)?.[0]
  return title !== undefined && title.trim() === line.trim()
}

// Extracts the claims of a report and their sources: a paragraph, a list item or a table is one statement, and its
// citations are its sources. Statements without citations are marked, so that a reader sees which ones have no source.
//
// C1 An item is covered by the citations of the item above it in the hierarchy, and of the line that introduces its list
// (`…:`).
// C2 A line that introduces something, a bold line that serves as a heading, and a line without a word claim nothing.

/** A statement, and the numbers of the sources that it cites. */
export interface ReportClaim {
  readonly text: string
  readonly sources: readonly number[]
}

export const NO_SOURCE = "*(no source)*"

/** The claims of Markdown, and the text with a mark after each claim without a source. */
export function markedClaims(text: string): {
  readonly text: string
  readonly claims: readonly ReportClaim[]
} {
  // Text that is too costly to parse has lost its markup, and with it its citations.
  if (!isCheapMarkdown(text)) return { text, claims: unread(text) }
  const claims: ReportClaim[] = []
  /** The citations of the last block at each list depth, for the items below it. */
  const covers: (readonly number[])[] = []
  let [marked, at] = ["", 0]
  for (const { start, end, depth, markAt } of markdownParts(text, "github").blocks) {
    const source = text.slice(start, end)
    const own = citedIn(source)
    const words = wordsOf(source)
    const isLead = /[:：]$/.test(words)
    covers.length = Math.min(covers.length, depth)
    const sources = [...new Set([...covers.flat(), ...own])]
    while (covers.length < depth) covers.push([])
    covers.push(depth > 0 || isLead ? own : [])
    if (isLead || isNoClaim(words)) continue
    claims.push({ text: words, sources })
    if (sources.length > 0) continue
    marked += `${text.slice(at, markAt)} ${NO_SOURCE}`
    at = markAt
  }
  return { text: marked + text.slice(at), claims }
}

function wordsOf(source: string): string {
  return oneLine(mapCitations(source, () => undefined).replace(/\n[ \t]*>/g, "\n"))
}

function isNoClaim(words: string): boolean {
  return !/[\p{L}\p{N}]/u.test(words) || /^(\*\*|__)[^*_]*[^*_.!?。]\1$/u.test(words)
}

function unread(text: string): ReportClaim[] {
  return text
    .split(/\n{2,}/)
    .map(oneLine)
    .filter((words) => words !== "" && !words.startsWith("#"))
    .map((words) => ({ text: words, sources: [] }))
}
