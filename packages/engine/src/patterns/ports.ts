/** Ports of the sources that patterns search: databases, document collections, the web. Other packages implement them. */
import type { Json } from "../core/index.ts"

export type { PageReader, WebPage, WebResult, WebSearch } from "../tools/index.ts"

export interface Column {
  readonly name: string
  readonly type: string
  readonly description?: string | undefined
  /** From a profile: the values of a string column, the most frequent first. Complete if there are `distinct` of them. */
  readonly values?: readonly string[] | undefined
  /** From a profile: the number of distinct values in the sample. */
  readonly distinct?: number | undefined
  /** From a profile: the smallest and the largest number or date. */
  readonly range?: readonly [smallest: Json, largest: Json] | undefined
}

export interface Table {
  readonly name: string
  readonly columns: readonly Column[]
  readonly description?: string | undefined
  readonly primaryKey?: readonly string[] | undefined
  readonly foreignKeys?: readonly ForeignKey[] | undefined
  /** An estimate if counting would take long. */
  readonly rowCount?: number | undefined
  /** From a profile: sample rows, by column. Columns that are excluded from sampling are missing. */
  readonly sample?: readonly Readonly<Record<string, Json>>[] | undefined
}

/** `columns` of a table refer to the columns `references` of `table`, pairwise. */
export interface ForeignKey {
  readonly columns: readonly string[]
  readonly table: string
  readonly references: readonly string[]
}

/** A read-only set of tables. Queries that a model writes can only read, within limits. */
export interface Database {
  readonly id: string
  readonly name: string
  readonly kind: "postgresql" | "mysql" | "sqlite" | "csv" | "other"
  schema(options?: AskOptions): Promise<readonly Table[]>
  /** The schema, with a bounded sample of the data. Absent: only `schema` is known. */
  profile?(options?: AskOptions): Promise<DatabaseProfile>
  query(sql: string, options?: QueryOptions): Promise<QueryResult>
  close?(): Promise<void>
}

/** Its values may be shown to a model. They never appear in a log or an event. */
export interface DatabaseProfile {
  readonly tables: readonly Table[]
  /** Why values of some tables are missing: the profile exceeded its time or size. */
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
  /** Whether the result was truncated by the limits. */
  readonly isTruncated: boolean
}

/** A collection of texts that is searched by meaning, by words, or along a graph. */
export interface Retriever {
  readonly name: string
  search(query: string, options?: SearchOptions): Promise<readonly Found[]>
  /** One line about its contents, such as the number of documents and their titles, for a model that chooses. */
  describe?(options?: AskOptions): Promise<string>
  /** Parts that a search could not cover, such as unreadable files. Answers report them. */
  skipped?(): readonly { readonly source: string; readonly reason: string }[]
  /** For a graph that a model may query. Absent: it can only be searched. */
  readonly cypher?: CypherQueries | undefined
}

/** Queries that a model writes. They can only read, within limits. */
export interface CypherQueries {
  /** Labels, relationships and their properties, for a model's prompt. Empty if there is nothing to query. */
  schema(options?: AskOptions): Promise<string>
  query(cypher: string, options?: QueryOptions): Promise<QueryResult>
}

export interface SearchOptions extends AskOptions {
  /** Default 10. */
  readonly limit?: number | undefined
}

export interface Found {
  readonly text: string
  /** Greater is better. Comparable only within one search. */
  readonly score: number
  /**
   * The likelihood that the result is about the query at all, from 0 to 1, as the retriever has calibrated it. Results
   * below 0.5 are more likely unrelated, and are not evidence. Absent: the retriever does not know, and every result
   * counts.
   */
  readonly relevance?: number | undefined
  /** The location for a citation: a file with a position, a URL, a node of a graph. */
  readonly source: string
  readonly title?: string | undefined
  /** The author and the date (2026-03-14), if known. */
  readonly author?: string | undefined
  readonly date?: string | undefined
}

/** Chooses the database that a question is about. */
export interface SchemaRetriever {
  listDatabases(options?: AskOptions): Promise<readonly Database[]>
  findBestDatabase(goal: string, options?: AskOptions): Promise<BestDatabase | undefined>
}

export interface BestDatabase {
  readonly database: Database
  readonly score: number
  /** The words of the goal, and where they were found. */
  readonly reason: string
  /** Databases that failed, any of which might match better. Answers report them. */
  readonly failed?: readonly { readonly source: string; readonly reason: string }[] | undefined
}

/** The sources that a question can be answered from. */
export interface Sources {
  readonly databases: readonly Database[]
  readonly documents?: Retriever | undefined
  readonly graph?: Retriever | undefined
}

/** Ranks sources of all kinds by how well they match a question: by words, values and, with embeddings, meaning. */
export interface SourceRanker {
  rank(goal: string, options?: AskOptions): Promise<SourceRanking>
}

export interface SourceRanking {
  /** The best first. Sources without a match are last, with a score of 0. */
  readonly sources: readonly RankedSource[]
  /** Sources that failed, any of which might match better. Answers report them. */
  readonly failed: readonly { readonly source: string; readonly reason: string }[]
}

export interface RankedSource {
  readonly kind: "database" | "documents" | "graph"
  /** The id of a database; for documents and graphs the retriever's name. */
  readonly id: string
  readonly name: string
  /** From 0 to 1, comparable between sources of all kinds. */
  readonly score: number
  /** Where the words of the question were found. Contains no values of the data, so it can be logged. */
  readonly reason: string
  /** A few lines about its contents, for a model's prompt. May contain values of the data. */
  readonly summary: string
}
