/** Creates the report from the texts of the agents. Loads a Markdown parser, which nothing else needs. */
import type { Incomplete } from "../../failures.ts"
import { oneLine } from "../search-key.ts"
import { type Citable, citedIn, mapCitations, ownWords } from "./citations.ts"
import { composeReport, type ResearchReport, type ResearchSource, SourceList } from "./report.ts"
import { nested, titleText, withTitle } from "./report-markdown.ts"

export { reportMarkdown } from "./report-markdown.ts"

/** The text of one writer, with the title as the first heading. */
export function finishReport(parts: {
  readonly question: string
  readonly text: string
  /** All evidence. */
  readonly evidence: readonly ResearchSource[]
  /** Whether the writer received the evidence at this position. */
  readonly isShown: (place: number) => boolean
  readonly incomplete: readonly Incomplete[]
}): ResearchReport {
  const { question, text, evidence, isShown, incomplete } = parts
  const citable = evidence.map((one, i) => (isShown(i) ? one : undefined))
  const { title, body } = withTitle(ownWords(text, citable), (level) => level === 1)
  return composeReport({
    question,
    ...(title !== undefined && { title: withoutCitations(title) }),
    sections: [{ text: nested(body, 2) }],
    evidence,
    incomplete,
  })
}

/** The draft of a section, or the reason for its absence. */
export interface DraftedSection {
  readonly title: string
  readonly draft?: SectionDraft | undefined
  readonly reason?: string | undefined
}

export interface SectionDraft {
  readonly text: string
  /** By number. Null for a source that the writer did not receive. */
  readonly sources: readonly (ResearchSource | null)[]
  /** Sources that the writer did not receive. */
  readonly others?: readonly ResearchSource[] | undefined
}

/** The sections in order, with one numbering of sources for all. */
export interface JoinedSections {
  readonly sections: readonly { readonly title: string; readonly text: string; readonly failed?: string }[]
  readonly evidence: readonly ResearchSource[]
  /** The texts for the synthesizer. */
  readonly texts: readonly string[]
}

export function joinSections(drafted: readonly DraftedSection[]): JoinedSections {
  const list = new SourceList()
  const sections = drafted.map(({ title, draft, reason = "it returned no text" }) => {
    if (draft === undefined) return failedSection(title, reason)
    return { title: titleText(title), text: sectionText(title, draft, list) }
  })
  const texts = sections.map(({ title, text }) => `## ${title}\n\n${text}`)
  // After those that are cited.
  for (const { draft } of drafted) {
    for (const source of [...(draft?.sources ?? []), ...(draft?.others ?? [])]) if (source) list.add(source)
  }
  return { sections, evidence: list.all, texts }
}

function sectionText(title: string, { text, sources }: SectionDraft, list: SourceList): string {
  // A deeper heading belongs to the text, unless it repeats the title.
  const isTitle = (level: number, words: string) => level === 1 || words.toLowerCase() === title.toLowerCase()
  const { body } = withTitle(ownWords(text, sources), isTitle)
  return mapCitations(nested(body, 3), (local) => {
    const source = sources[local - 1]
    return source ? list.add(source) : undefined
  })
}

function failedSection(title: string, reason: string) {
  const failed = oneLine(reason)
  const text = `[Research failed: ${titleText(failed)}]`
  return { title: titleText(title), text, failed }
}

/** The report of a deep research: the synthesizer's text, and the sections. */
export function finishDeepReport(parts: {
  readonly question: string
  readonly title: string
  readonly opening: string
  readonly joined: JoinedSections
  readonly incomplete: readonly Incomplete[]
}): ResearchReport {
  const { question, title, opening, joined, incomplete } = parts
  const { sections, evidence, texts } = joined
  // The synthesizer saw only the numbers of the sections.
  const seen = new Set(texts.flatMap(citedIn))
  const citable: Citable = evidence.map((one, i) => (seen.has(i + 1) ? one : undefined))
  const { body } = withTitle(ownWords(opening, citable), (level) => level === 1)
  return composeReport({
    question,
    title: titleText(title),
    summary: nested(body, 3),
    sections,
    evidence,
    incomplete,
  })
}

/** Removes citations inside the title only: elsewhere its words could be other markup. */
function withoutCitations(title: string): string {
  return mapCitations(`# ${title}`, () => undefined).replace(/^#\s*/, "")
}
