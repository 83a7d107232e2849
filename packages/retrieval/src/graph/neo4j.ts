/** A Neo4j database over Bolt that a model may query: read-only, within limits. */
import type { Json } from "@superstep/engine"
import type { Column } from "@superstep/engine/patterns"
import type { Node, Path, PathSegment, Point, Relationship } from "neo4j-driver"
import { limitsOf, type QueryLimits } from "../sql/queries.ts"
import { BoundedRows, exactNumber } from "../sql/rows.ts"
import { checkCypher } from "./cypher-guard.ts"
import {
  collectInTime,
  type GraphDatabase,
  type GraphLabel,
  type GraphRelationshipType,
  type GraphSchema,
  isNaming,
  type PropertyGraphNode,
  quotedName,
  textProperties,
} from "./graph-database.ts"
import { type Neo4j, Neo4jSessions } from "./neo4j-sessions.ts"

export interface Neo4jOptions {
  readonly id: string
  /** The name for people. Default: the id. */
  readonly name?: string | undefined
  /** `bolt://host:7687`, `neo4j://host` for a cluster, `neo4j+s://host` with TLS. */
  readonly url: string
  /** Absent: no authentication. */
  readonly user?: string | undefined
  readonly password?: string | undefined
  /** Default: the user's home database. */
  readonly database?: string | undefined
  readonly limits?: QueryLimits | undefined
  /** Maximum concurrent connections. Default 4. */
  readonly connections?: number | undefined
  /** Milliseconds to get a connection. Default 10,000. */
  readonly connectTimeout?: number | undefined
}

interface Known {
  readonly schema: GraphSchema
  readonly indexes: readonly FullTextIndex[]
  readonly at: number
}

/** Milliseconds for which searches reuse a schema. */
const FRESH = 60_000

export function neo4jGraph(options: Neo4jOptions): GraphDatabase {
  const { id, name = id, limits: own, connections = 4, connectTimeout = 10_000 } = options
  const sessions = new Neo4jSessions({ ...options, connections, connectTimeout })
  let known: Known | undefined

  /** Runs a built-in query. */
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
    // Not every user may see the indexes. Without them, all texts are scanned.
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
      return { columns, rows: bounded.rows, isTruncated: bounded.isTruncated }
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
        return collectInTime(
          looked.map((label) => [label.name, () => nodes(some(label.name), { limit })] as const),
          options,
        )
      }
      const indexed = indexes.filter((index) => index.labels.some(wanted))
      const scanned = looked.filter(
        (label) => textProperties(label).length > 0 && !indexed.some((index) => findsByName(index, label)),
      )
      const query = words.map((word) => `"${word}"`).join(" ")
      return collectInTime(
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

/** Whether the index finds nodes of this label by their name, so that no scan is needed. */
function findsByName(index: FullTextIndex, label: GraphLabel): boolean {
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

/** Derives the schema from a sample of each label and type, because Neo4j has no list of properties. */

/** Runs a built-in query. Each row is as Neo4j returns it. */
type Ask = (cypher: string) => Promise<readonly unknown[][]>

interface FullTextIndex {
  readonly name: string
  readonly labels: readonly string[]
  readonly properties: readonly string[]
}

const SAMPLE = 50
/** Beyond this number of labels and types, only names are listed. */
const MAX_SAMPLED = 200

async function neo4jSchema(neo4j: Neo4j, ask: Ask): Promise<GraphSchema> {
  const labels = await firstColumn(ask, "CALL db.labels() YIELD label RETURN label ORDER BY label")
  const types = await firstColumn(
    ask,
    "CALL db.relationshipTypes() YIELD relationshipType RETURN relationshipType ORDER BY relationshipType",
  )
  const schema = { labels: [] as GraphLabel[], relationships: [] as GraphRelationshipType[] }
  for (const [index, name] of labels.entries()) {
    const sample = `MATCH (n:${quotedName(name)}) RETURN properties(n) LIMIT ${SAMPLE}`
    const rows = index < MAX_SAMPLED ? await ask(sample) : []
    schema.labels.push({ name, properties: columns(neo4j, rows) })
  }
  for (const [index, type] of types.entries()) {
    const sample = `MATCH (a)-[r:${quotedName(type)}]->(b) RETURN properties(r), labels(a), labels(b) LIMIT ${SAMPLE}`
    const rows = index < MAX_SAMPLED ? await ask(sample) : []
    schema.relationships.push({ type, properties: columns(neo4j, rows), between: pairs(rows) })
  }
  return schema
}

/** Full-text indexes of nodes, which are faster and more precise than a scan. */
async function fullTextIndexes(ask: Ask): Promise<FullTextIndex[]> {
  const rows = await ask(
    "SHOW FULLTEXT INDEXES YIELD name, entityType, labelsOrTypes, properties, state WHERE entityType = 'NODE' AND state = 'ONLINE' RETURN name, labelsOrTypes, properties ORDER BY name",
  )
  return (rows as [string, string[], string[]][]).map(([name, labels, properties]) => ({
    name,
    labels,
    properties,
  }))
}

async function firstColumn(ask: Ask, cypher: string): Promise<string[]> {
  return (await ask(cypher)).map(([name]) => name as string)
}

/** The properties are the first value of each row. */
function columns(neo4j: Neo4j, rows: readonly unknown[][]): Column[] {
  const types = new Map<string, Set<string>>()
  for (const [properties] of rows) {
    for (const [name, value] of Object.entries(properties as Record<string, unknown>)) {
      const known = types.get(name) ?? new Set()
      types.set(name, known.add(typeOf(neo4j, value)))
    }
  }
  return [...types]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, all]) => ({ name, type: [...all].sort().join(" | ") }))
}

function pairs(rows: readonly unknown[][]): (readonly [string, string])[] {
  const found = new Map<string, readonly [string, string]>()
  for (const [, from, to] of rows) {
    for (const a of from as string[]) {
      for (const b of to as string[]) found.set(JSON.stringify([a, b]), [a, b])
    }
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, pair]) => pair)
}

function jsonOf(neo4j: Neo4j, value: unknown): Json {
  if (value === null || value === undefined) return null
  if (typeof value === "bigint") return exactNumber(String(value))
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value)
  if (typeof value === "string" || typeof value === "boolean") return value
  if (Array.isArray(value)) return value.map((item) => jsonOf(neo4j, item))
  if (ArrayBuffer.isView(value))
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64")
  if (neo4j.isNode(value as object)) return { ...nodeOf(neo4j, value as Node<bigint>) } as Json
  if (neo4j.isRelationship(value as object)) return relationshipOf(neo4j, value as Relationship<bigint>)
  if (neo4j.isPath(value as object)) return pathOf(neo4j, value as Path<bigint>)
  if (neo4j.isPoint(value as object)) return pointOf(neo4j, value as Point<bigint>)
  // Dates, times, durations, vectors.
  if (Object.getPrototypeOf(value) !== Object.prototype) return String(value)
  return propertiesOf(neo4j, value as Record<string, unknown>)
}

function nodeOf(neo4j: Neo4j, { elementId, labels, properties }: Node<bigint>): PropertyGraphNode {
  return { id: elementId, labels, properties: propertiesOf(neo4j, properties) }
}

function propertiesOf(neo4j: Neo4j, values: Readonly<Record<string, unknown>>): Record<string, Json> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, jsonOf(neo4j, value)]))
}

function relationshipOf(neo4j: Neo4j, value: Relationship<bigint>): Json {
  const { elementId: id, type, startNodeElementId: from, endNodeElementId: to } = value
  return { id, type, from, to, properties: propertiesOf(neo4j, value.properties) }
}

function pathOf(neo4j: Neo4j, { start, segments }: Path<bigint>): Json {
  const nodes = [start, ...segments.map(({ end }: PathSegment<bigint>) => end)]
  return {
    nodes: nodes.map((node) => jsonOf(neo4j, node)),
    relationships: segments.map(({ relationship }) => jsonOf(neo4j, relationship)),
  }
}

function pointOf(neo4j: Neo4j, { srid, x, y, z }: Point<bigint>): Json {
  return { srid: jsonOf(neo4j, srid), x, y, ...(z === undefined ? {} : { z }) }
}

/** Converts whole numbers to integers: Neo4j treats a plain number as a float, which LIMIT does not accept. */
function parameterOf(value: Json): unknown {
  if (typeof value === "number") return Number.isSafeInteger(value) ? BigInt(value) : value
  if (Array.isArray(value)) return value.map(parameterOf)
  if (value === null || typeof value !== "object") return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, parameterOf(item as Json)]))
}

/** The type of a property in Cypher's terms. */
function typeOf(neo4j: Neo4j, value: unknown): string {
  if (typeof value === "bigint") return "INTEGER"
  if (typeof value === "number") return "FLOAT"
  if (typeof value === "string") return "STRING"
  if (typeof value === "boolean") return "BOOLEAN"
  if (Array.isArray(value)) return value.length === 0 ? "LIST" : `LIST<${typeOf(neo4j, value[0])}>`
  if (neo4j.isPoint(value as object)) return "POINT"
  if (neo4j.isDate(value as object)) return "DATE"
  if (neo4j.isDuration(value as object)) return "DURATION"
  if (neo4j.isDateTime(value as object) || neo4j.isLocalDateTime(value as object)) return "DATETIME"
  if (neo4j.isTime(value as object) || neo4j.isLocalTime(value as object)) return "TIME"
  return "ANY"
}
