/** A Neo4j database over Bolt that a model may query: read-only, within limits. */
import type { Json } from "@superstep/engine"
import type { Node, Relationship } from "neo4j-driver"
import { limitsOf, type QueryLimits } from "../sql/queries.ts"
import { BoundedRows } from "../sql/rows.ts"
import { checkCypher } from "./cypher-guard.ts"
import {
  foundInTime,
  type GraphDatabase,
  type GraphLabel,
  type GraphSchema,
  isNaming,
  quotedName,
  textProperties,
} from "./graph-database.ts"
import {
  type Ask,
  type FullTextIndex,
  fullTextIndexes,
  jsonOf,
  neo4jSchema,
  nodeOf,
  parameterOf,
  propertiesOf,
} from "./neo4j-schema.ts"
import { type Neo4j, Neo4jSessions } from "./neo4j-sessions.ts"

export interface Neo4jOptions {
  readonly id: string
  /** What people call it. Default: the id. */
  readonly name?: string | undefined
  /** `bolt://host:7687`, `neo4j://host` for a cluster, `neo4j+s://host` with TLS. */
  readonly url: string
  /** Absent: no login. */
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

interface Known {
  readonly schema: GraphSchema
  readonly indexes: readonly FullTextIndex[]
  readonly at: number
}

/** Milliseconds for which searches use a schema that was read before. */
const FRESH = 60_000

export function neo4jGraph(options: Neo4jOptions): GraphDatabase {
  const { id, name = id, limits: own, connections = 4, connectTimeout = 10_000 } = options
  const sessions = new Neo4jSessions({ ...options, connections, connectTimeout })
  let known: Known | undefined

  /** One of our own queries. */
  async function ask<T>(
    cypher: string,
    params: Readonly<Record<string, Json>>,
    signal: AbortSignal | undefined,
    read: (values: unknown[], neo4j: Neo4j) => T,
  ): Promise<T[]> {
    const rows: T[] = []
    await sessions.run({
      cypher,
      params: parameterOf(params) as Record<string, unknown>,
      timeout: limitsOf(undefined, own).timeout,
      signal,
      row: (values, neo4j) => rows.push(read(values, neo4j)) > 0,
    })
    return rows
  }

  async function look(signal: AbortSignal | undefined): Promise<Known> {
    const rows: Ask = (cypher) => ask(cypher, {}, signal, (values) => values)
    // Not every user may see the indexes; without them, all texts are scanned.
    const indexes = await fullTextIndexes(rows).catch((error) => {
      if (["QUERY_FAILED", "QUERY_REFUSED"].includes((error as { code?: string } | null)?.code ?? ""))
        return []
      throw error
    })
    const schema = await neo4jSchema(await sessions.neo4j(), rows)
    known = { schema, indexes, at: performance.now() }
    return known
  }

  return {
    id,
    name,
    schema: async (options) => (await look(options?.signal)).schema,

    async query(cypher, query = {}) {
      const limits = limitsOf(query, own)
      const checked = checkCypher(cypher)
      const bounded = new BoundedRows(limits)
      let columns: readonly string[] = []
      await sessions.run({
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
    },

    async find({ text, words, labels }, options) {
      const { limit, signal } = options
      const isFresh = known !== undefined && performance.now() - known.at < FRESH
      const { schema, indexes } = known !== undefined && isFresh ? known : await look(signal)
      const wanted = (label: string) => labels === undefined || labels.includes(label)
      const nodes = async (cypher: string, params: Readonly<Record<string, Json>>) => {
        const found = await ask(cypher, params, signal, ([node], neo4j) =>
          nodeOf(neo4j, node as Node<bigint>),
        )
        return found.filter((node) => node.labels.some(wanted))
      }
      const looked = schema.labels.filter((label) => wanted(label.name))
      if (words.length === 0) {
        return foundInTime(
          looked.map((label) => [label.name, () => nodes(some(label.name), { limit })] as const),
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
          ...indexed.map(
            (index) => [index.name, () => nodes(BY_INDEX, { index: index.name, query, limit })] as const,
          ),
          ...scanned.map(
            (label) => [label.name, () => nodes(scan(label), { text, words: [...words], limit })] as const,
          ),
        ],
        options,
      )
    },

    relationships: (nodes, { limit, signal }) =>
      ask(AROUND, { ids: nodes.map((node) => node.id), limit }, signal, (values, neo4j) => {
        const [relationship, from, to] = values as [Relationship<bigint>, Node<bigint>, Node<bigint>]
        const { elementId, type, properties } = relationship
        const ends = { from: nodeOf(neo4j, from), to: nodeOf(neo4j, to) }
        return { id: elementId, type, ...ends, properties: propertiesOf(neo4j, properties) }
      }),

    close: () => sessions.close(),
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
  return `MATCH (n:${quotedName(label)}) RETURN n LIMIT $limit`
}

function scan(label: GraphLabel): string {
  const texts = textProperties(label).map((name) => `toLower(toStringOrNull(n.${quotedName(name)}))`)
  return `MATCH (n:${quotedName(label.name)})
WITH n, [t IN [${texts.join(", ")}] WHERE t IS NOT NULL] AS texts
WITH n, size([w IN $words WHERE any(t IN texts WHERE t CONTAINS w)])
  + CASE WHEN any(t IN texts WHERE size(t) > 1 AND $text CONTAINS t) THEN 100 ELSE 0 END AS hits
WHERE hits > 0 RETURN n ORDER BY hits DESC, elementId(n) LIMIT $limit`
}
