/**
 * A report as data: its text, its sources, and its problems. Markdown, HTML and JSON are rendered from it.
 *
 * R1 Every number in the text is that of a source in the list; numbers without evidence are removed.
 * R2 Every source is listed once, in the order in which the text cites it, under that number.
 * R3 The only external links are those of sources: a link or image that a model writes may not be a source.
 * R4 Only evidence that the writer received can be cited. Uncited evidence is listed as read.
 * R5 A statement without a source is marked, and counted.
 */
import type { Incomplete } from "../../failures.ts"
import { withoutMarkup } from "../markdown/markdown-parts.ts"
import { safeMarkdown } from "../markdown/safe-markdown.ts"
import { sourceKey } from "../search-key.ts"
import { citationCounts, mapCitations, markedClaims, type ReportClaim } from "./citations.ts"

/** A source that can be cited. */
export interface ResearchSource {
  /** A web address, or a file with a position. */
  readonly url: string
  readonly title: string
  /** If known. */
  readonly author?: string | undefined
  readonly date?: string | undefined
}

export interface ReportSource extends ResearchSource {
  readonly number: number
  /** The number of citations in the text. */
  readonly cited: number
}

/** Safe Markdown without a heading of its own. Its headings are below the section's. */
export interface ReportText {
  readonly text: string
  readonly claims: readonly ReportClaim[]
}

export interface ReportSection extends ReportText {
  /** Markdown. Absent for a report without sections. */
  readonly title?: string | undefined
  /** Why the section is missing. */
  readonly failed?: string | undefined
}

export interface ResearchReport {
  readonly version: 1
  readonly question: string
  /** Markdown. Absent if the writer provided none. */
  readonly title?: string | undefined
  /** For a deep research. */
  readonly summary?: ReportText | undefined
  readonly sections: readonly ReportSection[]
  readonly sources: readonly ReportSource[]
  /** Evidence that is not cited. */
  readonly alsoRead: readonly ResearchSource[]
  readonly statements: { readonly total: number; readonly withoutSource: number }
  readonly incomplete: readonly Incomplete[]
}

export interface ReportParts {
  readonly question: string
  readonly title?: string | undefined
  /** Safe texts that cite the evidence by its position, from 1. */
  readonly summary?: string | undefined
  readonly sections: readonly { readonly title?: string; readonly text: string; readonly failed?: string }[]
  /** All evidence, cited or not. */
  readonly evidence: readonly ResearchSource[]
  readonly incomplete: readonly Incomplete[]
}

export function composeReport(parts: ReportParts): ResearchReport {
  const { question, title, summary = "", evidence } = parts
  const counts = citationCounts([summary, ...parts.sections.map(({ text }) => text)].join("\n\n"))
  const order = [...counts.keys()].filter((number) => evidence[number - 1] !== undefined)
  const places = new Map(order.map((number, i) => [number, i + 1]))
  const finished = (text: string) => {
    const marked = markedClaims(mapCitations(text, (number) => places.get(number)))
    // Safe parts were combined, so the result is checked again (R3).
    const isSafe = safeMarkdown(marked.text) === marked.text
    return isSafe ? marked : { ...marked, text: withoutMarkup(marked.text) }
  }
  const sections = parts.sections.map(
    (section): ReportSection =>
      section.failed === undefined ? { ...section, ...finished(section.text) } : { ...section, claims: [] },
  )
  const opening = summary === "" ? undefined : finished(summary)
  const claims = [opening, ...sections].flatMap((one) => one?.claims ?? [])
  return {
    version: 1,
    question,
    ...(title !== undefined && { title }),
    ...(opening !== undefined && { summary: opening }),
    sections,
    sources: order.map((number, i) => ({
      number: i + 1,
      ...sourceOf(evidence[number - 1] as ResearchSource),
      cited: counts.get(number) ?? 0,
    })),
    alsoRead: evidence.filter((_, i) => !places.has(i + 1)).map(sourceOf),
    statements: {
      total: claims.length,
      withoutSource: claims.filter(({ sources }) => sources.length === 0).length,
    },
    incomplete: distinctProblems(parts.incomplete),
  }
}

function distinctProblems(problems: readonly Incomplete[]): readonly Incomplete[] {
  return [...new Map(problems.map((one) => [JSON.stringify([one.source, one.reason]), one])).values()]
}

/** The source without its content. */
function sourceOf({ url, title, author, date }: ResearchSource): ResearchSource {
  return { url, title, ...(author !== undefined && { author }), ...(date !== undefined && { date }) }
}

/** One list of sources for several texts, each of which has its own list. */
export class SourceList {
  readonly all: ResearchSource[] = []
  readonly #numbers = new Map<string, number>()

  /** The number of the source, from 1. */
  add(source: ResearchSource): number {
    const key = sourceKey(source.url)
    const number = this.#numbers.get(key) ?? this.all.push(sourceOf(source))
    this.#numbers.set(key, number)
    return number
  }
}
