/** What a research can search: tool agents, which a task names. One that fails gives an error message, and the run continues. */
import type { Clock } from "../../runtime/index.ts"
import { isInPair } from "../../text/index.ts"
import { scoresOf } from "../../text/internal.ts"
import type { PageReader, Retriever, WebResult, WebSearch } from "../ports.ts"
import type { ResearchTask } from "./research-state.ts"

export interface ResearchTool {
  /** What a task calls it by. */
  readonly name: string
  /** What it is good for: the selector chooses by it. */
  readonly description: string
  run(task: ResearchTask, call: ResearchCall): Promise<ToolFinding>
}

export interface ResearchCall {
  readonly signal: AbortSignal
  readonly clock: Clock
}

export interface ToolFinding {
  readonly output: string
  readonly sources: readonly ToolSource[]
  /** What the tool could not cover; the report mentions it. */
  readonly incomplete?: readonly { readonly source: string; readonly reason: string }[] | undefined
}

export interface ToolSource {
  /** An address on the web, or a file with its place. */
  readonly url: string
  readonly title?: string | undefined
  /** What it says to the task. Absent: the tool's output is all there is. */
  readonly text?: string | undefined
  /** Who wrote it, and when: 2026-03-14, where known. */
  readonly author?: string | undefined
  readonly date?: string | undefined
}

export const WEB_SEARCH = "web_search"
const RESULTS = 5
const PAGES_READ = 2
const PASSAGES = 8
/** Characters of one page that become evidence. */
const EXCERPT = 3_000

export interface WebSearchToolOptions {
  readonly search: WebSearch
  /** Reads the best results, so that evidence is more than a line. */
  readonly reader?: PageReader | undefined
  /** Default 5. */
  readonly results?: number | undefined
  /** How many of them are read. Default 2. */
  readonly pages?: number | undefined
}

export function webSearchTool(options: WebSearchToolOptions): ResearchTool {
  const { search, reader, results = RESULTS, pages = PAGES_READ } = options
  const asFound = ({ url, title, snippet, date }: WebResult) => ({
    url,
    title,
    text: snippet,
    ...facts({ date }),
  })
  const whole = async (result: WebResult, query: string, signal: AbortSignal) => {
    const found = asFound(result)
    try {
      const page = await reader?.read(result.url, { signal })
      if (page === undefined) return found
      const text = excerptOf(page.text, query, EXCERPT)
      return { ...found, ...facts(page), ...(text !== "" && { text }) }
    } catch (error) {
      if (signal.aborted) throw error
      // A page that cannot be read still has what the engine says of it.
      return found
    }
  }
  return {
    name: WEB_SEARCH,
    description: "Searches the web, with a few words.",
    async run({ query }, { signal }) {
      const found = await search.search(query, { limit: results, signal })
      if (found.length === 0) return { output: `Nothing was found on the web for "${query}".`, sources: [] }
      const sources = await Promise.all(
        found.map((result, i) => (i < pages ? whole(result, query, signal) : asFound(result))),
      )
      return { output: sources.map(asText).join("\n\n"), sources }
    },
  }
}

/** Reads the page that a task names: its `entity_website`, or an address in its query. */
export function pageTool(reader: PageReader): ResearchTool {
  return {
    name: "page_reader",
    description: "Reads one page of the web, named by entity_website, for what the query asks.",
    async run({ query, entity_website: website }, { signal }) {
      const address = website ?? /https?:\/\/[^\s<>"')\]]*[^\s<>"')\].,;:!?]/.exec(query)?.[0]
      if (address === undefined) {
        return { output: "No page was named: give its address as entity_website.", sources: [] }
      }
      // A host with its port looks like a scheme, so only one that is written out counts.
      const full = /^[a-z][a-z0-9+.-]*:(?:\/\/|[^\d])/i.test(address) ? address : `https://${address}`
      const page = await reader.read(full, { signal })
      const { url, title, text } = page
      const source = { url, title, text: excerptOf(text, query, 2 * EXCERPT), ...facts(page) }
      return { output: asText(source), sources: [source] }
    },
  }
}

/** Searches one's own documents. */
export function documentsTool(
  documents: Retriever,
  options: { name?: string; description?: string } = {},
): ResearchTool {
  const { name = "documents", description = "Searches the user's own documents, with a few words." } = options
  return {
    name,
    description,
    async run({ query }, { signal }) {
      const found = await documents.search(query, { limit: PASSAGES, signal })
      const incomplete = documents.skipped?.()
      if (found.length === 0)
        return { output: `Nothing was found in ${documents.name} for "${query}".`, sources: [], incomplete }
      const sources = found.map((one) => ({
        url: one.source,
        title: one.title ?? one.source,
        text: excerptOf(one.text, query, EXCERPT),
        ...facts(one),
      }))
      return { output: sources.map(asText).join("\n\n"), sources, incomplete }
    },
  }
}

/** Who wrote it and when, where that is known. */
function facts({ author, date }: { author?: string | undefined; date?: string | undefined }) {
  return { ...(author !== undefined && { author }), ...(date !== undefined && { date }) }
}

function asText({ title, url, text }: { title: string; url: string; text: string }): string {
  return `${title}${title === url ? "" : ` (${url})`}\n${text}`
}

/** Paragraphs that fit the query best, in their own order. Text that is short enough stays whole. */
export function excerptOf(text: string, query: string, most: number): string {
  const whole = text.trim()
  if (whole.length <= most) return whole
  const paragraphs = whole.split(/\n{2,}/).flatMap((one) => pieces(one.trim(), most))
  const scores = scoresOf(query, paragraphs)
  const best = paragraphs.map((_, i) => i).sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b)
  const chosen: number[] = []
  let length = 0
  for (const i of best) {
    const size = (paragraphs[i]?.length ?? 0) + 2
    if (length + size > most) continue
    chosen.push(i)
    length += size
  }
  return chosen
    .sort((a, b) => a - b)
    .map((i) => paragraphs[i])
    .join("\n\n")
}

/** A paragraph in pieces, each short enough to leave room for others. */
function pieces(paragraph: string, most: number): string[] {
  const size = Math.max(1, Math.floor(most / 3))
  const parts: string[] = []
  for (let at = 0; at < paragraph.length; ) {
    const end = at + size + (isInPair(paragraph, at + size) ? 1 : 0)
    parts.push(paragraph.slice(at, end))
    at = end
  }
  return parts
}
