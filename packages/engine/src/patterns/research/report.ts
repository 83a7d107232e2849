/**
 * A report with its sources.
 *
 * R1 every number in the text is that of a source in the list; numbers that no evidence has are taken out.
 * R2 every source is listed once, in the order in which the text cites them, under that number.
 * R3 the links of the list are all that lead out of the report: what a model links to, or shows, may be nobody's source.
 */
import { citedIn, mapCitations } from "./citations.ts"
import { isCheapMarkdown, withoutMarkup } from "./markdown/markdown-cost.ts"
import { type NumberOf, safeMarkdown } from "./markdown/safe-markdown.ts"
import { sourceKey } from "./research-state.ts"
import { withoutSourceList } from "./source-list.ts"

export interface Source {
  readonly url: string
  readonly title: string
}

/** What a model wrote, with its sources. */
export function finishReport(text: string, evidence: readonly Source[]): string {
  return withSources(ownWords(text, evidence), evidence, 2)
}

/** What a model wrote, without what it is not to write: a list of sources, links, numbers that are nobody's. */
export function ownWords(text: string, evidence: readonly Source[]): string {
  const numbers = new Map(evidence.map(({ url }, i) => [sourceKey(url), i + 1]))
  const readable = isCheapMarkdown(text) ? text : withoutMarkup(text)
  return settled(withoutSourceList(readable), evidence, (url) => numbers.get(sourceKey(url)))
}

const MAX_ROUNDS = 4

/** Safe, with numbers of sources alone. Taking a number out can make a link of what stands around it, and the other way round. */
function settled(given: string, evidence: readonly Source[], numberOf?: NumberOf): string {
  let text = given
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const safe = safeMarkdown(text, numberOf)
    const known = mapCitations(safe, (number) => (evidence[number - 1] === undefined ? undefined : number))
    if (known === text) return text
    text = known
  }
  return withoutMarkup(text)
}

/** `text` cites the evidence by its place in the list, from 1. */
export function withSources(text: string, evidence: readonly Source[], level: number): string {
  const body = settled(text.trim(), evidence).trim()
  const cited = citedIn(body).filter((number) => evidence[number - 1] !== undefined)
  // A text that cites nothing still says what it was written from.
  const order = cited.length > 0 ? cited : evidence.map((_, i) => i + 1)
  const places = new Map(order.map((number, i) => [number, i + 1]))
  const renumbered = mapCitations(body, (number) => places.get(number))
  const numbered = safeMarkdown(renumbered) === renumbered ? renumbered : withoutMarkup(renumbered)
  if (order.length === 0) return `${numbered}\n`
  const list = order.map((number, i) => `${i + 1}. ${sourceText(evidence[number - 1] as Source)}`)
  return `${numbered}\n\n${"#".repeat(level)} Sources\n\n${list.join("\n")}\n`.trimStart()
}

function sourceText({ url, title }: Source): string {
  const name = escaped(title === "" ? url : title)
  const isLink = /^https?:/i.test(url) && URL.canParse(url)
  if (isLink) return `[${name}](<${new URL(url).href.replace(/[<>]/g, encodeURIComponent)}>)`
  return safeMarkdown(title === "" || title === url ? escaped(url) : `${name} (${escaped(url)})`)
}

/** Titles are strangers' words: they make no links, headings or pictures of their own. */
function escaped(text: string): string {
  return text
    .replace(/\s+/g, " ")
    .trim()
    .replace(/[\\`*_[\]<>#|!]/g, String.raw`\$&`)
}
