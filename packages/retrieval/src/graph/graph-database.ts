/** A graph of nodes and relationships that a model may query in Cypher, and that is searched along its relationships. */
import { isSuperstepError, type Json } from "@superstep/engine"
import type { AskOptions, Column, QueryOptions, QueryResult } from "@superstep/engine/patterns"

/** Queries that a model writes can only read, within limits. */
export interface GraphDatabase {
  readonly id: string
  /** The name for people. */
  readonly name: string
  schema(options?: AskOptions): Promise<GraphSchema>
  query(cypher: string, options?: GraphQueryOptions): Promise<QueryResult>
  /** Nodes whose texts contain words of the question, or occur in the question. The most likely ones are first. */
  find(question: GraphQuestion, options: GraphFindOptions): Promise<readonly PropertyGraphNode[]>
  /** The relationships of nodes, in both directions. */
  relationships(
    nodes: readonly PropertyGraphNode[],
    options: GraphFindOptions,
  ): Promise<readonly GraphRelationship[]>
  close(): Promise<void>
}

export interface GraphQueryOptions extends QueryOptions {
  /** Values for `$name` in the query. */
  readonly params?: Readonly<Record<string, Json>> | undefined
}

export interface GraphQuestion {
  /** In lower case. */
  readonly text: string
  /** The significant words, in lower case. Empty: any nodes. */
  readonly words: readonly string[]
  /** Only nodes with one of these labels. Default: all. */
  readonly labels?: readonly string[] | undefined
}

export interface GraphFindOptions extends AskOptions {
  readonly limit: number
  /** Called with the name of a part of the graph that was skipped because its scan took too long. */
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
  /** The labels at its ends. */
  readonly between: readonly (readonly [from: string, to: string])[]
}

export interface PropertyGraphNode {
  readonly id: string
  readonly labels: readonly string[]
  readonly properties: Readonly<Record<string, Json>>
}

export interface GraphRelationship {
  readonly id: string
  readonly type: string
  readonly from: PropertyGraphNode
  readonly to: PropertyGraphNode
  readonly properties: Readonly<Record<string, Json>>
}

/** Quotes a name for a built-in query. */
export function quotedName(name: string): string {
  return `\`${name.replaceAll("`", "``")}\``
}

/** Maximum text properties to search per label. */
const MAX_TEXTS = 12

/** Text properties, those that are likely names first. */
export function textProperties({ properties }: GraphLabel): string[] {
  return properties
    .filter(({ type }) => type.toUpperCase().split(" | ").includes("STRING"))
    .map(({ name }) => name)
    .sort((a, b) => rankOfName(a) - rankOfName(b))
    .slice(0, MAX_TEXTS)
}

const NAMES = ["name", "title", "fullname", "label", "code", "id", "key"]

/** The lower the rank, the more likely the property is a name. */
export function rankOfName(property: string): number {
  const plain = property.toLowerCase().replace(/[^a-z]/g, "")
  const rank = NAMES.indexOf(plain)
  if (rank >= 0) return rank
  return plain.endsWith("name") || plain.endsWith("title") ? NAMES.length : NAMES.length + 1
}

export function isNaming(property: string): boolean {
  return rankOfName(property) <= NAMES.length
}

/**
 * Collects results from the parts of a graph, by name. A part that is too slow is skipped and reported, if another part
 * has results; otherwise an empty result would be a wrong answer.
 */
export async function collectInTime(
  parts: readonly (readonly [part: string, find: () => Promise<readonly PropertyGraphNode[]>])[],
  { onLate }: Pick<GraphFindOptions, "onLate">,
): Promise<PropertyGraphNode[]> {
  const searches = parts.map(async ([part, find]) => {
    try {
      return { part, found: await find() }
    } catch (error) {
      return { part, error }
    }
  })
  const found = new Map<string, PropertyGraphNode>()
  const late: { part: string; error: unknown }[] = []
  for (const search of await Promise.all(searches)) {
    if ("found" in search) for (const node of search.found) found.set(node.id, node)
    else if (isLate(search.error)) late.push(search)
    else throw search.error
  }
  if (found.size === 0 && late[0] !== undefined) throw late[0].error
  for (const { part } of late) onLate?.(part)
  return [...found.values()]
}

function isLate(error: unknown): boolean {
  return isSuperstepError(error) && error.code === "QUERY_TIMEOUT"
}
