/** A schema of an OpenAPI document as plain JSON Schema without references, small enough for a model. */
import type { Json } from "../core/index.ts"
import { isObject, type JsonObject, type OpenApiDocument } from "./openapi-document.ts"
import { patternProblem } from "./schema-limits.ts"

/** Parts of one schema. What is beyond is taken as it comes. */
const MAX_PARTS = 2_000
const MAX_DEPTH = 12
const MAX_DESCRIPTION = 500

/** Keywords that are neither checked nor of use to a model. */
const DROPPED = new Set(
  "$ref $id $schema $anchor $defs definitions example examples xml externalDocs discriminator deprecated readOnly writeOnly nullable pattern patternProperties propertyNames $dynamicRef $dynamicAnchor contentSchema if then else dependentSchemas unevaluatedProperties unevaluatedItems".split(
    " ",
  ),
)
const SCHEMA = new Set(["items", "additionalProperties", "not", "contains"])
const SCHEMAS = new Set(["allOf", "anyOf", "oneOf", "prefixItems"])

export function plainSchema(document: OpenApiDocument, schema: Json | undefined): JsonObject {
  let parts = 0

  const convert = (value: Json | undefined, depth: number, within: readonly JsonObject[]): Json => {
    if (typeof value === "boolean") return value
    const found = document.follow(value)
    // A schema that contains itself, and one that is too large: whatever the model writes goes to the server.
    if (found === undefined || depth > MAX_DEPTH || within.includes(found) || ++parts > MAX_PARTS) return {}
    const entries = Object.entries(found).flatMap(([key, item]): [string, Json][] => {
      if (item === undefined || DROPPED.has(key) || key.startsWith("x-")) return []
      const inner = (one: Json | undefined) => convert(one, depth + 1, [...within, found])
      if (SCHEMA.has(key)) return [[key, inner(item)]]
      if (SCHEMAS.has(key)) return Array.isArray(item) ? [[key, item.map(inner)]] : []
      if (key === "properties") return isObject(item) ? [[key, writable(item, document, inner)]] : []
      return [[key, item]]
    })
    return fixed(Object.fromEntries(entries), found)
  }

  const converted = convert(schema, 0, [])
  return isObject(converted) ? converted : {}
}

/** What only the server sets is not offered. */
function writable(
  properties: JsonObject,
  document: OpenApiDocument,
  inner: (one: Json | undefined) => Json,
): Json {
  const kept = Object.entries(properties).filter(([, one]) => document.follow(one)?.readOnly !== true)
  return Object.fromEntries(kept.map(([name, one]) => [name, inner(one)]))
}

/** What OpenAPI 3.0 says otherwise than JSON Schema, and what was dropped but may help. */
function fixed(schema: JsonObject, source: JsonObject): JsonObject {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, type, description, required, ...rest } =
    schema
  const isKept = typeof source.pattern === "string" && patternProblem(source.pattern) === undefined
  const text = [
    typeof description === "string" ? description.slice(0, MAX_DESCRIPTION) : "",
    // A pattern that cannot be matched in linear time is left to the server.
    typeof source.pattern === "string" && !isKept ? `Pattern: ${source.pattern.slice(0, 200)}` : "",
  ].filter((part) => part !== "")
  const names = isObject(rest.properties) ? Object.keys(rest.properties) : undefined
  const needed = Array.isArray(required)
    ? required.filter((name) => names?.includes(String(name)) ?? true)
    : []
  return {
    ...rest,
    ...(isKept ? { pattern: source.pattern as string } : {}),
    ...(type === undefined ? {} : { type: source.nullable === true ? [type as string, "null"] : type }),
    ...(source.nullable === true && Array.isArray(rest.enum) ? { enum: [...rest.enum, null] } : {}),
    ...(needed.length === 0 ? {} : { required: needed }),
    ...limit("minimum", minimum, "exclusiveMinimum", exclusiveMinimum),
    ...limit("maximum", maximum, "exclusiveMaximum", exclusiveMaximum),
    ...(text.length === 0 ? {} : { description: text.join(" ") }),
  }
}

function limit(
  name: string,
  value: Json | undefined,
  strict: string,
  isStrict: Json | undefined,
): JsonObject {
  if (isStrict === true && value !== undefined) return { [strict]: value }
  return {
    ...(value === undefined ? {} : { [name]: value }),
    ...(typeof isStrict === "number" ? { [strict]: isStrict } : {}),
  }
}
