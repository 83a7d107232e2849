/**
 * A report with its sources.
 *
 * R1 every number in the text is that of a source in the list; numbers that no evidence has are taken out.
 * R2 every source is listed once, in the order in which the text cites them, under that number.
 */
import { citedIn, mapCitations, outsideCode } from "./citations.ts"

export interface Source {
  readonly url: string
  readonly title: string
}

/** What a model wrote, with its sources. */
export function finishReport(text: string, evidence: readonly Source[]): string {
  return withSources(withoutSourceList(text), evidence, 2)
}

/** `text` cites the evidence by its place in the list, from 1. */
export function withSources(text: string, evidence: readonly Source[], level: number): string {
  const body = text.trim()
  const cited = citedIn(body).filter((number) => evidence[number - 1] !== undefined)
  // A text that cites nothing still says what it was written from.
  const order = cited.length > 0 ? cited : evidence.map((_, i) => i + 1)
  const places = new Map(order.map((number, i) => [number, i + 1]))
  const numbered = mapCitations(body, (number) => places.get(number))
  if (order.length === 0) return `${numbered}\n`
  const list = order.map((number, i) => `${i + 1}. ${sourceText(evidence[number - 1] as Source)}`)
  return `${numbered}\n\n${"#".repeat(level)} Sources\n\n${list.join("\n")}\n`
}

const SOURCES = "(?:sources?|references?|bibliography|citations?|works cited|quellen|literatur)"
const HEADED = new RegExp(String.raw`^(?:#{1,6}\s+|\*\*)(?:\d+[.)]\s*)?${SOURCES}:?(?:\*\*:?)?\s*$`, "i")
const BARE = new RegExp(String.raw`^${SOURCES}:\s*$`, "i")
const ITEM = /^\s*(?:$|\[\^?\d+\]|\d+[.)]\s|[-*]\s|https?:)/
const DEFINITION = /^\s*\[\^?\d+\]:\s/

/** A model that lists sources itself, whatever it is told: under a heading, after `Sources:`, as definitions of links. */
export function withoutSourceList(text: string): string {
  return outsideCode(text, (plain) => {
    const kept: string[] = []
    let inList: "headed" | "bare" | undefined
    for (const line of plain.split("\n")) {
      if (HEADED.test(line)) inList = "headed"
      else if (BARE.test(line)) inList = "bare"
      else if (inList === "headed" && /^#{1,6}\s/.test(line)) inList = undefined
      else if (inList === "bare" && !ITEM.test(line)) inList = undefined
      if (inList === undefined && !DEFINITION.test(line)) kept.push(line)
    }
    return kept.join("\n")
  })
}

function sourceText({ url, title }: Source): string {
  const name = escaped(title === "" ? url : title)
  const isLink = /^https?:/i.test(url) && URL.canParse(url)
  if (isLink) return `[${name}](<${new URL(url).href.replace(/[<>]/g, encodeURIComponent)}>)`
  return title === "" || title === url ? escaped(url) : `${name} (${escaped(url)})`
}

/** Titles are strangers' words: they make no links, headings or pictures of their own. */
function escaped(text: string): string {
  return text
    .replace(/\s+/g, " ")
    .trim()
    .replace(/[\\`*_[\]<>#|!]/g, String.raw`\$&`)
}
