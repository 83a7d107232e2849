/** Tools of definitions that search documents, and that ask agents of other processes. */
import { workflowTool } from "../../agents/index.ts"
import type { Json } from "../../core/index.ts"
import { a2aAgent } from "../../patterns/remote/index.ts"
import { clipped } from "../../text/index.ts"
import { fillTemplate, type Tool, type Toolset, tool } from "../../tools/index.ts"
import { objectInput } from "../../tools/internal.ts"

export interface DocumentSearchOptions {
  /** The name of the tool. */
  readonly name: string
  /** What the documents are about; the model decides by it. */
  readonly description?: string | undefined
  /** How to use the tool, for the system prompt. */
  readonly instructions?: string | undefined
  /** How many passages a search returns. Default 15. */
  readonly limit?: number | undefined
}

/** What is searched, such as `documentsIn` of `@superstep/retrieval`. */
export interface SearchedDocuments {
  search(
    query: string,
    options: { readonly limit: number; readonly signal: AbortSignal },
  ): Promise<
    readonly { readonly text: string; readonly source: string; readonly relevance?: number | undefined }[]
  >
  /** Files that could not be read. */
  skipped?(): readonly { readonly source: string; readonly reason: string }[]
  close?(): Promise<void>
}

const MAX_PASSAGE = 4_000

/** A toolset with one tool, which searches documents. */
export function documentSearch(
  documents: SearchedDocuments,
  { name, description = "documents", instructions, limit = 15 }: DocumentSearchOptions,
): Toolset {
  const search = tool({
    name,
    description: `Searches for passages of these texts: ${description}. Name the source of what you use.`,
    input: objectInput({ query: { type: "string", minLength: 1, description: "What to look for." } }, [
      "query",
    ]),
    approval: "never",
    idempotent: true,
    async run({ query }: { query: string }, { signal }): Promise<Json> {
      const found = await documents.search(query, { limit, signal })
      const passages = found
        .filter(({ relevance = 1 }) => relevance >= 0.5)
        .map(({ text, source }) => ({ source, text: clipped(text, MAX_PASSAGE) }))
      const unread = (documents.skipped?.() ?? []).map(({ source }) => source)
      return { passages, ...(unread.length > 0 && { unread }) }
    },
  })
  return { name, instructions, tools: () => [search], close: () => documents.close?.() }
}

export interface A2aToolOptions {
  /** The address of the agent, or of its card. */
  readonly url: string
  /** The name of the tool. */
  readonly name: string
  readonly description?: string | undefined
  /** Sent with every request. `${env.NAME}` is replaced when the request is sent. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Milliseconds for the whole call. Default 600,000. */
  readonly timeout?: number | undefined
}

/** A tool that asks an agent over A2A. The task of the remote agent is recorded: another process continues with it. */
export function a2aTool({ url, name, description, headers, timeout }: A2aToolOptions): Tool {
  const remote = a2aAgent({
    url,
    name,
    timeout,
    // Read when a request is sent: a definition can be checked without the keys.
    get headers() {
      const filled = Object.entries(headers ?? {}).map(([key, value]) => [
        key,
        fillTemplate(value, process.env),
      ])
      return Object.fromEntries(filled) as Record<string, string>
    },
  })
  return workflowTool(remote, {
    name,
    description: description ?? `Asks the agent "${name}" at ${new URL(url).host} and returns its answer.`,
    approval: "always",
  })
}
