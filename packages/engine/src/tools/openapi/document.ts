/**
 * An OpenAPI 3 document: parsed from JSON or YAML, its references followed, its schemas made plain for a model. Documents
 * are untrusted: a reference to another file or host is refused, and a schema that expands endlessly is cut.
 */
import { parse } from "yaml"
import type { Json, SuperstepError } from "../../core/index.ts"
import { isRecord, terminalError } from "../../core/internal.ts"
import { patternProblem } from "../schema-limits.ts"

export type JsonObject = { readonly [key: string]: Json | undefined }

export interface OpenApiDocument {
  readonly root: JsonObject
  /** Follows `$ref`, also several in a row. */
  follow(value: Json | undefined): JsonObject | undefined
}

const MAX_CHARS = 10_000_000
const MAX_REFS = 20

export function openApiDocument(source: string | JsonObject): OpenApiDocument {
  const root = typeof source === "string" ? parseText(source) : source
  const version = root.openapi
  if (typeof version !== "string" || !version.startsWith("3.")) {
    const found = typeof root.swagger === "string" ? `Swagger ${root.swagger}` : "something else"
    throw invalid(`it is ${found}; expected a document with "openapi: 3.x"`)
  }
  if (!isRecord(root.paths)) throw invalid("it has no paths")
  return {
    root,
    follow(value) {
      let found: Json | undefined = value
      for (let count = 0; isRecord(found) && typeof found.$ref === "string"; count++) {
        if (count >= MAX_REFS) throw invalid(`the reference ${found.$ref} is circular`)
        found = lookUp(root, found.$ref)
      }
      return isRecord(found) ? found : undefined
    },
  }
}

function parseText(text: string): JsonObject {
  if (text.length > MAX_CHARS) throw invalid(`it has more than ${MAX_CHARS} characters`)
  let value: Json
  try {
    // The limit of the YAML parser on aliases keeps a small document small. JSON is YAML, but parsed faster as JSON.
    value = text.trimStart().startsWith("{") ? JSON.parse(text) : parse(text)
  } catch (cause) {
    const [line = ""] = cause instanceof Error ? cause.message.split("\n") : []
    throw invalid(`it is unreadable: ${line}`, cause)
  }
  if (!isRecord(value)) throw invalid("it is not an object")
  return value
}

function lookUp(root: JsonObject, ref: string): Json | undefined {
  if (!ref.startsWith("#/")) throw invalid(`the reference ${ref} points outside the document`)
  return ref
    .slice(2)
    .split("/")
    .map((part) => decode(part).replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce<Json | undefined>((value, key) => {
      if (Array.isArray(value)) return value[Number(key)]
      return isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined
    }, root)
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export function invalid(reason: string, cause?: unknown): SuperstepError {
  return terminalError("OPENAPI_INVALID", `The OpenAPI document cannot be used: ${reason}.`, cause)
}

/** Parts of one schema. Beyond them, any value is accepted. */
const MAX_PARTS = 2_000
const MAX_DEPTH = 12
export const MAX_DESCRIPTION = 500

/** Keywords that are neither checked nor useful to a model. */
const DROPPED = new Set(
  "$ref $id $schema $anchor $defs definitions example examples xml externalDocs discriminator deprecated readOnly writeOnly nullable pattern patternProperties propertyNames $dynamicRef $dynamicAnchor contentSchema if then else dependentSchemas unevaluatedProperties unevaluatedItems".split(
    " ",
  ),
)
const SCHEMA = new Set(["items", "additionalProperties", "not", "contains"])
const SCHEMAS = new Set(["allOf", "anyOf", "oneOf", "prefixItems"])

/** A schema of the document as JSON Schema without references, small enough for a model. */
export function plainSchema(document: OpenApiDocument, schema: Json | undefined): JsonObject {
  let parts = 0

  const convert = (value: Json | undefined, depth: number, within: readonly JsonObject[]): Json => {
    if (typeof value === "boolean") return value
    const found = document.follow(value)
    // A schema that contains itself, or is too large, accepts anything: the server checks it.
    if (found === undefined || depth > MAX_DEPTH || within.includes(found) || ++parts > MAX_PARTS) return {}
    const inner = (one: Json | undefined) => convert(one, depth + 1, [...within, found])
    // What only the server sets is left out.
    const isWritable = ([, one]: [string, Json | undefined]) => document.follow(one)?.readOnly !== true
    const entries = Object.entries(found).flatMap(([key, item]): [string, Json][] => {
      if (item === undefined || DROPPED.has(key) || key.startsWith("x-")) return []
      if (SCHEMA.has(key)) return [[key, inner(item)]]
      if (SCHEMAS.has(key)) return Array.isArray(item) ? [[key, item.map(inner)]] : []
      if (key !== "properties") return [[key, item]]
      if (!isRecord(item)) return []
      const writable = Object.entries(item).filter(isWritable)
      return [[key, Object.fromEntries(writable.map(([name, one]) => [name, inner(one)]))]]
    })
    return asJsonSchema(Object.fromEntries(entries), found)
  }

  const converted = convert(schema, 0, [])
  return isRecord(converted) ? converted : {}
}

/** Converts what OpenAPI 3.0 writes differently from JSON Schema, and describes what was dropped but may help. */
function asJsonSchema(schema: JsonObject, source: JsonObject): JsonObject {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, type, description, required, ...rest } =
    schema
  const { pattern, nullable } = source
  const isKept = typeof pattern === "string" && patternProblem(pattern) === undefined
  const text = [
    typeof description === "string" ? description.slice(0, MAX_DESCRIPTION) : "",
    // A pattern that cannot be matched in linear time is left to the server.
    typeof pattern === "string" && !isKept ? `Pattern: ${pattern.slice(0, 200)}` : "",
  ].filter((part) => part !== "")
  const names = isRecord(rest.properties) ? Object.keys(rest.properties) : undefined
  const needed = Array.isArray(required)
    ? required.filter((name) => names?.includes(String(name)) ?? true)
    : []
  return {
    ...rest,
    ...(isKept && { pattern }),
    ...(type !== undefined && { type: nullable === true ? [type as string, "null"] : type }),
    ...(nullable === true && Array.isArray(rest.enum) && { enum: [...rest.enum, null] }),
    ...(needed.length > 0 && { required: needed }),
    ...limit("minimum", minimum, "exclusiveMinimum", exclusiveMinimum),
    ...limit("maximum", maximum, "exclusiveMaximum", exclusiveMaximum),
    ...(text.length > 0 && { description: text.join(" ") }),
  }
}

/** In OpenAPI 3.0 `exclusiveMinimum: true` makes `minimum` exclusive. */
function limit(
  name: string,
  value: Json | undefined,
  strict: string,
  isStrict: Json | undefined,
): JsonObject {
  if (isStrict === true && value !== undefined) return { [strict]: value }
  return {
    ...(value !== undefined && { [name]: value }),
    ...(typeof isStrict === "number" && { [strict]: isStrict }),
  }
}
