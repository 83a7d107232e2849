/** What is in a Neo4j database, by a sample of each label and type: Neo4j has no list of properties. */
import type { Json } from "@superstep/engine"
import type { Column } from "@superstep/engine/patterns"
import type { Node, Path, PathSegment, Point, Relationship } from "neo4j-driver"
import { exactNumber } from "../sql/rows.ts"
import {
  type GraphLabel,
  type GraphRelationshipType,
  type GraphSchema,
  type PropertyGraphNode,
  quotedName,
} from "./graph-database.ts"
import type { Neo4j } from "./neo4j-sessions.ts"

/** One of our own queries: each row as Neo4j gives it. */
export type Ask = (cypher: string) => Promise<readonly unknown[][]>

export interface FullTextIndex {
  readonly name: string
  readonly labels: readonly string[]
  readonly properties: readonly string[]
}

const SAMPLE = 50
/** Of labels and types past these only the names are listed. */
const MAX_SAMPLED = 200

export async function neo4jSchema(neo4j: Neo4j, ask: Ask): Promise<GraphSchema> {
  const labels = await names(ask, "CALL db.labels() YIELD label RETURN label ORDER BY label")
  const types = await names(
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

/** Indexes of texts of nodes, by which they are found faster and better. */
export async function fullTextIndexes(ask: Ask): Promise<FullTextIndex[]> {
  const rows = await ask(
    "SHOW FULLTEXT INDEXES YIELD name, entityType, labelsOrTypes, properties, state WHERE entityType = 'NODE' AND state = 'ONLINE' RETURN name, labelsOrTypes, properties ORDER BY name",
  )
  return (rows as [string, string[], string[]][]).map(([name, labels, properties]) => ({
    name,
    labels,
    properties,
  }))
}

async function names(ask: Ask, cypher: string): Promise<string[]> {
  return (await ask(cypher)).map(([name]) => name as string)
}

/** Properties are the first value of each row. */
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

export function jsonOf(neo4j: Neo4j, value: unknown): Json {
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

export function nodeOf(neo4j: Neo4j, { elementId, labels, properties }: Node<bigint>): PropertyGraphNode {
  return { id: elementId, labels, properties: propertiesOf(neo4j, properties) }
}

export function propertiesOf(neo4j: Neo4j, values: Readonly<Record<string, unknown>>): Record<string, Json> {
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

/** Whole numbers as such: a plain number is a float to Neo4j, and no LIMIT. */
export function parameterOf(value: Json): unknown {
  if (typeof value === "number") return Number.isSafeInteger(value) ? BigInt(value) : value
  if (Array.isArray(value)) return value.map(parameterOf)
  if (value === null || typeof value !== "object") return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, parameterOf(item as Json)]))
}

/** The name of the type of a property, as Cypher calls it. */
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
