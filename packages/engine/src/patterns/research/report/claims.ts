/**
 * What a report claims, and by what: a paragraph, a list item or a table is one statement, and its citations are its sources.
 * Statements that cite nothing are marked, so that a reader sees which words nobody vouches for.
 *
 * C1 an item is covered by the citations of the item that it is below, and of the line that introduces its list (`…:`).
 * C2 a line that introduces something, a bold line that stands for a heading, and a line without a word claim nothing.
 */
import { isCheapMarkdown } from "../markdown/markdown-cost.ts"
import { markdownParts } from "../markdown/markdown-parts.ts"
import { oneLine } from "../search-key.ts"
import { citedIn, mapCitations } from "./citations.ts"

/** A statement, and the numbers of the sources that it cites. */
export interface ReportClaim {
  readonly text: string
  readonly sources: readonly number[]
}

export const NO_SOURCE = "*(no source)*"

/** The claims of Markdown, and the same with a mark behind each that has no source. */
export function markedClaims(text: string): {
  readonly text: string
  readonly claims: readonly ReportClaim[]
} {
  // Text that is too costly to parse has lost its markup, and with it its citations.
  if (!isCheapMarkdown(text)) return { text, claims: unread(text) }
  const claims: ReportClaim[] = []
  /** The citations of the last block at each depth of lists, for what is below it. */
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
