/** Neo4j's values as JSON: numbers where they are exact, dates and durations as ISO 8601 writes them. */
import type { Json } from "@superstep/engine"
import type { Node, Path, PathSegment, Point, Relationship } from "neo4j-driver"
import { exactNumber } from "../sql/exact-number.ts"
import type { GraphNode } from "./graph-database.ts"
import type { Neo4j } from "./neo4j-sessions.ts"

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

export function nodeOf(neo4j: Neo4j, { elementId, labels, properties }: Node<bigint>): GraphNode {
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
export function typeOf(neo4j: Neo4j, value: unknown): string {
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
