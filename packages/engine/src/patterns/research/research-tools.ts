/** What a research can search: tool agents, which a task names. One that fails gives an error text, and the run goes on. */
import type { Clock } from "../../runtime/index.ts"
import type { PageReader, Retriever, WebResult, WebSearch } from "../ports.ts"
import { excerptOf } from "./excerpt.ts"
import type { ResearchTask } from "./research-answers.ts"

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
}

export interface ToolSource {
  /** An address on the web, or a file with its place. */
  readonly url: string
  readonly title?: string | undefined
  /** What it says to the task. Absent: the tool's output is all there is. */
  readonly text?: string | undefined
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
  const whole = async ({ url, title, snippet }: WebResult, query: string, signal: AbortSignal) => {
    try {
      const page = await reader?.read(url, { signal })
      const text = page === undefined ? "" : excerptOf(page.text, query, EXCERPT)
      return { url, title, text: text === "" ? snippet : text }
    } catch (error) {
      if (signal.aborted) throw error
      // A page that cannot be read still has what the engine says of it.
      return { url, title, text: snippet }
    }
  }
  return {
    name: WEB_SEARCH,
    description: "Searches the web, with a few words.",
    async run({ query }, { signal }) {
      const found = await search.search(query, { limit: results, signal })
      if (found.length === 0) return { output: `Nothing was found on the web for "${query}".`, sources: [] }
      const sources = await Promise.all(
        found.map((result, i) =>
          i < pages
            ? whole(result, query, signal)
            : Promise.resolve({ url: result.url, title: result.title, text: result.snippet }),
        ),
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
      const { url, title, text } = await reader.read(full, { signal })
      const source = { url, title, text: excerptOf(text, query, 2 * EXCERPT) }
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
      if (found.length === 0)
        return { output: `Nothing was found in ${documents.name} for "${query}".`, sources: [] }
      const sources = found.map(({ source, title, text }) => ({
        url: source,
        title: title ?? source,
        text: excerptOf(text, query, EXCERPT),
      }))
      return { output: sources.map(asText).join("\n\n"), sources }
    },
  }
}

function asText({ title, url, text }: { title: string; url: string; text: string }): string {
  return `${title}${title === url ? "" : ` (${url})`}\n${text}`
}
