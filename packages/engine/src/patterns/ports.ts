/** What patterns look things up in: databases, collections of documents, the web. Back ends are other packages' business. */
import type { Json } from "../core/index.ts"

export type { PageReader, WebPage, WebResult, WebSearch } from "../tools/index.ts"

export interface Column {
  readonly name: string
  readonly type: string
}

export interface Table {
  readonly name: string
  readonly columns: readonly Column[]
  readonly description?: string | undefined
}

/** Tables that can be asked, and nothing else: what a model writes can read, within limits, and do no harm. */
export interface Database {
  readonly id: string
  readonly name: string
  readonly kind: "postgresql" | "csv" | "other"
  schema(options?: AskOptions): Promise<readonly Table[]>
  query(sql: string, options?: QueryOptions): Promise<QueryResult>
  close?(): Promise<void>
}

export interface AskOptions {
  readonly signal?: AbortSignal | undefined
}

export interface QueryOptions extends AskOptions {
  /** Rows at the most. Default 1,000. */
  readonly rows?: number | undefined
  /** Bytes of the result at the most. Default 1 MB. */
  readonly bytes?: number | undefined
  /** Milliseconds at the most. Default 10,000. */
  readonly timeout?: number | undefined
}

export interface QueryResult {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly Json[])[]
  /** There was more than the limits let through. */
  readonly isCut: boolean
}

/** A collection of texts that is searched by meaning, by words, or along a graph. */
export interface Retriever {
  readonly name: string
  search(query: string, options?: SearchOptions): Promise<readonly Found[]>
}

export interface SearchOptions extends AskOptions {
  /** Default 10. */
  readonly limit?: number | undefined
}

export interface Found {
  readonly text: string
  /** Greater is better; comparable within one search only. */
  readonly score: number
  /** What it can be cited by: a file with its place, a URL, a node of a graph. */
  readonly source: string
  readonly title?: string | undefined
}

/** Which of several databases has what a question is about. */
export interface SchemaRetriever {
  listDatabases(options?: AskOptions): Promise<readonly Database[]>
  findBestDatabase(goal: string, options?: AskOptions): Promise<BestDatabase | undefined>
}

export interface BestDatabase {
  readonly database: Database
  readonly score: number
  /** Why this one: the words of the goal and where they were found. */
  readonly reason: string
}
