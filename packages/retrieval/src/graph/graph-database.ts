/** A graph of nodes and relationships that a model may ask in Cypher, and that is searched along its relationships. */
import type { Json } from "@superstep/engine"
import type { AskOptions, Column, QueryOptions, QueryResult } from "@superstep/engine/patterns"

/** What a model writes can read, within limits, and do no harm. */
export interface GraphDatabase {
  readonly id: string
  /** What people call it. */
  readonly name: string
  schema(options?: AskOptions): Promise<GraphSchema>
  query(cypher: string, options?: GraphQueryOptions): Promise<QueryResult>
  /** Nodes with texts in which words of the question are, or that are in the question; the likeliest first. */
  find(question: GraphQuestion, options: GraphFindOptions): Promise<readonly GraphNode[]>
  /** The relationships of nodes, in both directions. */
  relationships(nodes: readonly GraphNode[], options: GraphFindOptions): Promise<readonly GraphRelationship[]>
  close(): Promise<void>
}

export interface GraphQueryOptions extends QueryOptions {
  /** Values for `$name` in the query. */
  readonly params?: Readonly<Record<string, Json>> | undefined
}

export interface GraphQuestion {
  /** In lower case. */
  readonly text: string
  /** Its words that say something, in lower case. None: any nodes. */
  readonly words: readonly string[]
  /** Only nodes with one of these labels. Default: all. */
  readonly labels?: readonly string[] | undefined
}

export interface GraphFindOptions extends AskOptions {
  readonly limit: number
  /** Told of a part of the graph, by its name, that could not be looked through in time and is left out. */
  readonly onLate?: ((part: string) => void) | undefined
}

export interface GraphSchema {
  readonly labels: readonly GraphLabel[]
  readonly relationships: readonly GraphRelationshipType[]
}

export interface GraphLabel {
  readonly name: string
  readonly properties: readonly Column[]
}

export interface GraphRelationshipType {
  readonly type: string
  readonly properties: readonly Column[]
  /** Labels that it goes from and to. */
  readonly between: readonly (readonly [from: string, to: string])[]
}

export interface GraphNode {
  readonly id: string
  readonly labels: readonly string[]
  readonly properties: Readonly<Record<string, Json>>
}

export interface GraphRelationship {
  readonly id: string
  readonly type: string
  readonly from: GraphNode
  readonly to: GraphNode
  readonly properties: Readonly<Record<string, Json>>
}
