/**
 * The tools of a research: tool agents, which a task names. A tool that fails returns an error message, and the run
 * continues.
 */
import type { Clock } from "../../runtime/index.ts"
import { isInPair } from "../../text/index.ts"
import { scoresOf } from "../../text/internal.ts"
import type { PageReader, Retriever, WebResult, WebSearch } from "../ports.ts"
import type { ResearchTask } from "./research-state.ts"

export interface ResearchTool {
  /** The name in tasks. */
  readonly name: string
  /** What it is good for. The selector chooses by it. */
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
  /** Parts that the tool could not cover. The report mentions them. */
  readonly incomplete?: readonly { readonly source: string; readonly reason: string }[] | undefined
}

export interface ToolSource {
  /** A web address, or a file with a position. */
  readonly url: string
  readonly title?: string | undefined
  /** The text that is relevant to the task. Absent: only the tool's output. */
  readonly text?: string | undefined
  /** The author and the date (2026-03-14), if known. */
  readonly author?: string | undefined
  readonly date?: string | undefined
}

export const WEB_SEARCH = "web_search"
const RESULTS = 5
const PAGES_READ = 2
const PASSAGES = 8
/** Maximum characters of one page that become evidence. */
const EXCERPT = 3_000

export interface WebSearchToolOptions {
  readonly search: WebSearch
  /** Reads the best results, so that evidence is more than a snippet. */
  readonly reader?: PageReader | undefined
  /** Default 5. */
  readonly results?: number | undefined
  /** The number of results to read. Default 2. */
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
      // If a page is unreadable, the search engine's snippet remains.
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
      // A host with a port looks like a scheme, so only an explicit scheme counts.
      const full = /^[a-z][a-z0-9+.-]*:(?:\/\/|[^\d])/i.test(address) ? address : `https://${address}`
      const page = await reader.read(full, { signal })
      const { url, title, text } = page
      const source = { url, title, text: excerptOf(text, query, 2 * EXCERPT), ...facts(page) }
      return { output: asText(source), sources: [source] }
    },
  }
}

/** Searches the user's own documents. */
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

/** The author and the date, if known. */
function facts({ author, date }: { author?: string | undefined; date?: string | undefined }) {
  return { ...(author !== undefined && { author }), ...(date !== undefined && { date }) }
}

function asText({ title, url, text }: { title: string; url: string; text: string }): string {
  return `${title}${title === url ? "" : ` (${url})`}\n${text}`
}

/** The paragraphs that match the query best, in their original order. Short text stays whole. */
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

/** Splits a paragraph into pieces that are short enough to leave room for others. */
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
