/** Ladybug's values as JSON, in the same form as Neo4j's. */
import type { Json } from "@superstep/engine"
import { exactNumber } from "../sql/exact-number.ts"

interface InternalId {
  readonly table: number
  readonly offset: number
}

export function jsonOf(value: unknown): Json {
  if (value === null || value === undefined) return null
  if (typeof value === "bigint") return exactNumber(String(value))
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value)
  if (typeof value === "string" || typeof value === "boolean") return value
  if (value instanceof Date) return dateOf(value)
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64")
  if (Array.isArray(value)) return value.map(jsonOf)
  if (typeof value !== "object") return String(value)
  return objectOf(value instanceof Map ? Object.fromEntries(value) : (value as Record<string, unknown>))
}

function objectOf(value: Record<string, unknown>): Json {
  if (Array.isArray(value._nodes) && Array.isArray(value._rels)) {
    return { nodes: value._nodes.map(jsonOf), relationships: value._rels.map(jsonOf) }
  }
  if (isInternalId(value)) return idOf(value)
  const { _id, _label, _src, _dst, ...properties } = value
  if (!isInternalId(_id) || typeof _label !== "string") return propertiesOf(value)
  const known = propertiesOf(properties, true)
  if (!isInternalId(_src) || !isInternalId(_dst))
    return { id: idOf(_id), labels: [_label], properties: known }
  return { id: idOf(_id), type: _label, from: idOf(_src), to: idOf(_dst), properties: known }
}

/** Of several tables a node has the properties of all: those of the others are null. */
function propertiesOf(
  values: Readonly<Record<string, unknown>>,
  leaveOutNulls = false,
): Record<string, Json> {
  const entries = Object.entries(values).filter(([, value]) => !leaveOutNulls || value !== null)
  return Object.fromEntries(entries.map(([name, value]) => [name, jsonOf(value)]))
}

function isInternalId(value: unknown): value is InternalId {
  if (typeof value !== "object" || value === null) return false
  const { table, offset, ...others } = value as Record<string, unknown>
  return typeof table === "number" && typeof offset === "number" && Object.keys(others).length === 0
}

function idOf({ table, offset }: InternalId): string {
  return `${table}:${offset}`
}

/** A day has no time. */
function dateOf(value: Date): string {
  if (Number.isNaN(value.getTime())) return "invalid date"
  const text = value.toISOString()
  return text.endsWith("T00:00:00.000Z") ? text.slice(0, -14) : text
}
