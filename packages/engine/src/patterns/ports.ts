/** What patterns look things up in: databases, collections of documents, the web. Back ends are other packages' business. */
import type { Json } from "../core/index.ts"

export type { PageReader, WebPage, WebResult, WebSearch } from "../tools/index.ts"

export interface Column {
  readonly name: string
  readonly type: string
  readonly description?: string | undefined
  /** Of a profile: the values of a column of strings, the most frequent first. All of them if there are `distinct` many. */
  readonly values?: readonly string[] | undefined
  /** Of a profile: how many distinct values there are in what was looked at. */
  readonly distinct?: number | undefined
  /** Of a profile: the smallest and the largest number or date. */
  readonly range?: readonly [smallest: Json, largest: Json] | undefined
}

export interface Table {
  readonly name: string
  readonly columns: readonly Column[]
  readonly description?: string | undefined
  readonly primaryKey?: readonly string[] | undefined
  readonly foreignKeys?: readonly ForeignKey[] | undefined
  /** An estimate where counting would take long. */
  readonly rowCount?: number | undefined
  /** Of a profile: a few rows, by column; columns that are excluded from sampling are missing. */
  readonly sample?: readonly Readonly<Record<string, Json>>[] | undefined
}

/** `columns` of a table refer to the columns `references` of `table`, pairwise. */
export interface ForeignKey {
  readonly columns: readonly string[]
  readonly table: string
  readonly references: readonly string[]
}

/** Tables that can be asked, and nothing else: what a model writes can read, within limits, and do no harm. */
export interface Database {
  readonly id: string
  readonly name: string
  readonly kind: "postgresql" | "mysql" | "sqlite" | "csv" | "other"
  schema(options?: AskOptions): Promise<readonly Table[]>
  /** The schema with what a bounded look at the data shows. Absent: `schema` is all that is known. */
  profile?(options?: AskOptions): Promise<DatabaseProfile>
  query(sql: string, options?: QueryOptions): Promise<QueryResult>
  close?(): Promise<void>
}

/** Its values may be shown to a model. They never go into a log or an event. */
export interface DatabaseProfile {
  readonly tables: readonly Table[]
  /** Why values of some tables are missing: the time or the size that a profile may take was used up. */
  readonly incomplete?: string | undefined
}

export interface AskOptions {
  readonly signal?: AbortSignal | undefined
}

export interface QueryOptions extends AskOptions {
  /** Maximum rows. Default 1,000. */
  readonly rows?: number | undefined
  /** Maximum bytes of the result. Default 1 MB. */
  readonly bytes?: number | undefined
  /** Maximum milliseconds. Default 10,000. */
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
  /** One line on what it holds, such as the number of documents and their titles: for a model that chooses. */
  describe?(options?: AskOptions): Promise<string>
  /** What a search could not cover, such as unreadable files; answers report it. */
  skipped?(): readonly { readonly source: string; readonly reason: string }[]
  /** Of a graph that a model may query. Absent: it is searched, and not queried. */
  readonly cypher?: CypherQueries | undefined
}

/** Queries that a model writes. They can read, within limits, and do no harm. */
export interface CypherQueries {
  /** Labels, relationships and their properties, for a model's prompt; empty where there is nothing to query. */
  schema(options?: AskOptions): Promise<string>
  query(cypher: string, options?: QueryOptions): Promise<QueryResult>
}

export interface SearchOptions extends AskOptions {
  /** Default 10. */
  readonly limit?: number | undefined
}

export interface Found {
  readonly text: string
  /** Greater is better; comparable within one search only. */
  readonly score: number
  /**
   * How likely it is about the query at all, from 0 to 1, as the retriever has calibrated it: less than 0.5 is more likely
   * unrelated, and is no evidence. Absent: the retriever does not know, and everything it finds counts.
   */
  readonly relevance?: number | undefined
  /** What it can be cited by: a file with its place, a URL, a node of a graph. */
  readonly source: string
  readonly title?: string | undefined
  /** Who wrote it, and when (2026-03-14), where known. */
  readonly author?: string | undefined
  readonly date?: string | undefined
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
  /** Databases that could not be asked, any of which might fit better: answers report them. */
  readonly failed?: readonly { readonly source: string; readonly reason: string }[] | undefined
}

/** What a question can be looked up in. */
export interface Sources {
  readonly databases: readonly Database[]
  readonly documents?: Retriever | undefined
  readonly graph?: Retriever | undefined
}

/** Ranks sources of all kinds by how well they fit a question: by words, values and, where there are embeddings, meaning. */
export interface SourceRanker {
  rank(goal: string, options?: AskOptions): Promise<SourceRanking>
}

export interface SourceRanking {
  /** The best first; those that fit in nothing come last, with a score of 0. */
  readonly sources: readonly RankedSource[]
  /** Sources that could not be asked, any of which might fit better: answers report them. */
  readonly failed: readonly { readonly source: string; readonly reason: string }[]
}

export interface RankedSource {
  readonly kind: "database" | "documents" | "graph"
  /** Of a database; for documents and graphs the retriever's name. */
  readonly id: string
  readonly name: string
  /** From 0 to 1, comparable between sources of all kinds. */
  readonly score: number
  /** Where the words of the question were found. It contains no values of the data, so it can be logged. */
  readonly reason: string
  /** What is in it, in a few lines for a model's prompt. It may have values of the data. */
  readonly summary: string
}
