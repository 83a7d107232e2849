/** A Neo4j database over Bolt that a model may ask: for reading only, within limits. */
import type { AskOptions, QueryResult } from "@superstep/engine/patterns"
import type { Node, Relationship } from "neo4j-driver"
import { BoundedRows } from "../sql/bounded-rows.ts"
import { limitsOf, type QueryLimits } from "../sql/query-limits.ts"
import { checkCypher } from "./cypher-guard.ts"
import { foundInTime } from "./found-in-time.ts"
import { isNaming, quoted, textProperties } from "./graph-cypher.ts"
import type {
  GraphDatabase,
  GraphFindOptions,
  GraphLabel,
  GraphNode,
  GraphQueryOptions,
  GraphQuestion,
  GraphRelationship,
  GraphSchema,
} from "./graph-database.ts"
import { type Ask, type FullTextIndex, fullTextIndexes, neo4jSchema } from "./neo4j-schema.ts"
import { type Neo4j, Neo4jSessions } from "./neo4j-sessions.ts"
import { jsonOf, nodeOf, parameterOf, propertiesOf } from "./neo4j-values.ts"

export interface Neo4jOptions {
  readonly id: string
  /** What people call it. Default: the id. */
  readonly name?: string | undefined
  /** `bolt://host:7687`, `neo4j://host` for a cluster, `neo4j+s://host` with TLS. */
  readonly url: string
  /** Without one nobody logs in. */
  readonly user?: string | undefined
  readonly password?: string | undefined
  /** Default: the user's home database. */
  readonly database?: string | undefined
  readonly limits?: QueryLimits | undefined
  /** Connections at the same time. Default 4. */
  readonly connections?: number | undefined
  /** Milliseconds to get a connection in. Default 10,000. */
  readonly connectTimeout?: number | undefined
}

export function neo4jGraph(options: Neo4jOptions): GraphDatabase {
  const { id, name = id } = options
  const asked = new Neo4jGraph(options)
  return {
    id,
    name,
    schema: (ask) => asked.schema(ask),
    query: (cypher, query) => asked.query(cypher, query),
    find: (question, find) => asked.find(question, find),
    relationships: (nodes, find) => asked.relationships(nodes, find),
    close: () => asked.close(),
  }
}

interface Known {
  readonly schema: GraphSchema
  readonly indexes: readonly FullTextIndex[]
  readonly at: number
}

/** Milliseconds for which searches go by what was in the database. */
const FRESH = 60_000

class Neo4jGraph {
  readonly #sessions: Neo4jSessions
  readonly #limits: QueryLimits | undefined
  #known: Known | undefined

  constructor({ id, url, user, password, database, limits, ...options }: Neo4jOptions) {
    const { connections = 4, connectTimeout = 10_000 } = options
    this.#limits = limits
    this.#sessions = new Neo4jSessions({ id, url, user, password, database, connections, connectTimeout })
  }

  async schema({ signal }: AskOptions = {}): Promise<GraphSchema> {
    return (await this.#look(signal)).schema
  }

  async query(cypher: string, query: GraphQueryOptions = {}): Promise<QueryResult> {
    const limits = limitsOf(query, this.#limits)
    const checked = checkCypher(cypher)
    const bounded = new BoundedRows(limits)
    let columns: readonly string[] = []
    await this.#sessions.run({
      cypher: checked,
      params: parameterOf(query.params ?? {}) as Record<string, unknown>,
      timeout: limits.timeout,
      signal: query.signal,
      begin: (names) => {
        columns = names
      },
      row: (values, neo4j) => bounded.add(values.map((value) => jsonOf(neo4j, value))),
    })
    return { columns, rows: bounded.rows, isCut: bounded.isCut }
  }

  async find(question: GraphQuestion, options: GraphFindOptions): Promise<GraphNode[]> {
    const { text, words, labels } = question
    const { limit, signal } = options
    const { schema, indexes } = await this.#lately(signal)
    const wanted = (name: string) => labels === undefined || labels.includes(name)
    const nodes = async (cypher: string, params: Parameters<Ask>[1]) => {
      const found: GraphNode[] = []
      await this.#ask(cypher, params, signal, ([node], neo4j) =>
        found.push(nodeOf(neo4j, node as Node<bigint>)),
      )
      return found.filter((node) => node.labels.some(wanted))
    }
    const looked = schema.labels.filter(({ name }) => wanted(name))
    if (words.length === 0) {
      return foundInTime(
        looked.map(({ name }) => [name, () => nodes(some(name), { limit })] as const),
        options,
      )
    }
    const indexed = indexes.filter((index) => index.labels.some(wanted))
    const scanned = looked.filter(
      (label) => textProperties(label).length > 0 && !indexed.some((index) => names(index, label)),
    )
    const query = words.map((word) => `"${word}"`).join(" ")
    return foundInTime(
      [
        ...indexed.map(({ name }) => [name, () => nodes(BY_INDEX, { index: name, query, limit })] as const),
        ...scanned.map(
          (label) => [label.name, () => nodes(scan(label), { text, words: [...words], limit })] as const,
        ),
      ],
      options,
    )
  }

  async relationships(
    nodes: readonly GraphNode[],
    { limit, signal }: GraphFindOptions,
  ): Promise<GraphRelationship[]> {
    const found: GraphRelationship[] = []
    await this.#ask(AROUND, { ids: nodes.map(({ id }) => id), limit }, signal, (values, neo4j) => {
      const [relationship, from, to] = values as [Relationship<bigint>, Node<bigint>, Node<bigint>]
      const { elementId: id, type, properties } = relationship
      const ends = { from: nodeOf(neo4j, from), to: nodeOf(neo4j, to) }
      found.push({ id, type, ...ends, properties: propertiesOf(neo4j, properties) })
    })
    return found
  }

  close(): Promise<void> {
    return this.#sessions.close()
  }

  async #lately(signal: AbortSignal | undefined): Promise<Known> {
    const known = this.#known
    return known !== undefined && performance.now() - known.at < FRESH ? known : this.#look(signal)
  }

  async #look(signal: AbortSignal | undefined): Promise<Known> {
    const ask: Ask = async (cypher, params) => {
      const rows: unknown[][] = []
      await this.#ask(cypher, params, signal, (values) => rows.push(values))
      return rows
    }
    // Not everybody may see them, and without them texts are looked through.
    const indexes = await fullTextIndexes(ask).catch((error) => {
      if (["QUERY_FAILED", "QUERY_REFUSED"].includes((error as { code?: string } | null)?.code ?? ""))
        return []
      throw error
    })
    const schema = await neo4jSchema(await this.#sessions.neo4j(), ask)
    this.#known = { schema, indexes, at: performance.now() }
    return this.#known
  }

  /** One of our own queries. */
  async #ask(
    cypher: string,
    params: Parameters<Ask>[1],
    signal: AbortSignal | undefined,
    take: (values: unknown[], neo4j: Neo4j) => unknown,
  ): Promise<void> {
    await this.#sessions.run({
      cypher,
      params: parameterOf(params ?? {}) as Record<string, unknown>,
      timeout: limitsOf(undefined, this.#limits).timeout,
      signal,
      row: (values, neo4j) => {
        take(values, neo4j)
        return true
      },
    })
  }
}

const BY_INDEX = "CALL db.index.fulltext.queryNodes($index, $query, {limit: $limit}) YIELD node RETURN node"

/** By the index a node of this label is found by what it is called, and need not be looked for otherwise. */
function names(index: FullTextIndex, label: GraphLabel): boolean {
  const [best = ""] = textProperties(label)
  return index.labels.includes(label.name) && (!isNaming(best) || index.properties.includes(best))
}

const AROUND = `MATCH (n)-[r]-() WHERE elementId(n) IN $ids
RETURN DISTINCT r, startNode(r), endNode(r) LIMIT $limit`

function some(label: string): string {
  return `MATCH (n:${quoted(label)}) RETURN n LIMIT $limit`
}

function scan(label: GraphLabel): string {
  const texts = textProperties(label).map((name) => `toLower(toStringOrNull(n.${quoted(name)}))`)
  return `MATCH (n:${quoted(label.name)})
WITH n, [t IN [${texts.join(", ")}] WHERE t IS NOT NULL] AS texts
WITH n, size([w IN $words WHERE any(t IN texts WHERE t CONTAINS w)])
  + CASE WHEN any(t IN texts WHERE size(t) > 1 AND $text CONTAINS t) THEN 100 ELSE 0 END AS hits
WHERE hits > 0 RETURN n ORDER BY hits DESC, elementId(n) LIMIT $limit`
}
