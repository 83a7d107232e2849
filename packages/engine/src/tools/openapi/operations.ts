/**
 * The operations of an OpenAPI document, each with what a tool needs: its name, the schema of its arguments, and where
 * they are sent.
 */

import { parse } from "yaml"
import type { Json, SuperstepError } from "../../core/index.ts"
import { isRecord, terminalError } from "../../core/internal.ts"
import { cutText } from "../../text/index.ts"
import { patternProblem } from "../schema-limits.ts"
import { objectInput } from "../tool.ts"

export interface Operation {
  /** Valid as a tool's name. */
  readonly name: string
  readonly description: string
  /** Upper case. */
  readonly method: string
  readonly path: string
  readonly parameters: readonly Parameter[]
  readonly body?: { readonly argument: string; readonly type: string } | undefined
  /** JSON Schema of the arguments. */
  readonly input: { readonly jsonSchema: Json }
  /** Alternative sets of security schemes; empty if none is needed. */
  readonly security: readonly (readonly string[])[]
}

export interface Parameter {
  /** The name that the model uses. */
  readonly argument: string
  readonly name: string
  readonly in: "path" | "query" | "header"
  readonly style: string
  readonly explode: boolean
}

const METHODS = ["get", "put", "post", "delete", "patch", "head", "options"]
const MAX_SUMMARY = 1_000

/** Headers that the caller or the connection sets, never a model. */
const OWN_HEADERS =
  /^(accept|accept-encoding|authorization|connection|content-.*|cookie|expect|forwarded|host|idempotency-key|keep-alive|origin|proxy-.*|referer|sec-.*|te|trailer|transfer-encoding|upgrade|via|x-forwarded-.*|x-http-method.*)$/i

/** Operations whose body no tool can write (files, forms of several parts) are left out. */
export function operationsOf(document: OpenApiDocument, maxName: number): readonly Operation[] {
  const nameFor = uniqueNames(maxName)
  const paths = isRecord(document.root.paths) ? document.root.paths : {}
  return Object.entries(paths).flatMap(([path, value]) => {
    const item = document.follow(value)
    if (item === undefined || !path.startsWith("/")) return []
    return METHODS.flatMap((method) => {
      const source = document.follow(item[method])
      if (source === undefined) return []
      const operation = operationOf(document, path, method, item, source)
      if (operation === undefined) return []
      const { operationId } = source
      return { ...operation, name: nameFor(typeof operationId === "string" ? operationId : method + path) }
    })
  })
}

function operationOf(
  document: OpenApiDocument,
  path: string,
  method: string,
  item: JsonObject,
  source: JsonObject,
): Omit<Operation, "name"> | undefined {
  const body = bodyOf(document, source)
  if (body === "unknown") return undefined
  const found = parametersOf(document, item, source)
  const argument = found.some(({ parameter }) => parameter.argument === "body") ? "request_body" : "body"
  const all = [
    ...found.map(({ parameter, ...rest }) => ({ argument: parameter.argument, ...rest })),
    ...(body === undefined ? [] : [{ ...body, argument }]),
  ]
  return {
    description: describe(source, method, path),
    method: method.toUpperCase(),
    path,
    parameters: found.map(({ parameter }) => parameter),
    body: body && { argument, type: body.type },
    input: objectInput(
      Object.fromEntries(all.map((one): [string, Json] => [one.argument, one.schema])),
      all.filter(({ isRequired }) => isRequired).map((one) => one.argument),
    ),
    security: securityOf(source.security ?? document.root.security),
  }
}

interface FoundParameter {
  readonly parameter: Parameter
  readonly schema: JsonObject
  readonly isRequired: boolean
}

/** Parameters of the operation override those of its path. */
function parametersOf(
  document: OpenApiDocument,
  item: JsonObject,
  source: JsonObject,
): readonly FoundParameter[] {
  const found = new Map<string, FoundParameter>()
  const listed = [item.parameters, source.parameters].flatMap((list) => (Array.isArray(list) ? list : []))
  const all = listed.map((value) => document.follow(value)).filter((one) => one !== undefined)
  for (const one of all) {
    const { name, in: where, description } = one
    if (typeof name !== "string" || (where !== "path" && where !== "query" && where !== "header")) continue
    if (where === "header" && OWN_HEADERS.test(name)) continue
    const isAmbiguous = all.some((other) => other.name === name && other.in !== where)
    const argument = (isAmbiguous ? `${where}_${name}` : name).replace(/[^A-Za-z0-9_.-]/g, "_").slice(0, 64)
    const style = typeof one.style === "string" ? one.style : where === "query" ? "form" : "simple"
    const explode = typeof one.explode === "boolean" ? one.explode : style === "form"
    found.set(`${where} ${name}`, {
      parameter: { argument, name, in: where, style, explode },
      schema: {
        ...plainSchema(document, one.schema ?? contentSchema(one.content)),
        ...(typeof description === "string" && { description: description.slice(0, MAX_DESCRIPTION) }),
      },
      isRequired: where === "path" || one.required === true,
    })
  }
  return [...found.values()]
}

function contentSchema(content: Json | undefined): Json | undefined {
  const [first] = isRecord(content) ? Object.values(content) : []
  return isRecord(first) ? first.schema : undefined
}

interface FoundBody {
  readonly type: string
  readonly schema: JsonObject
  readonly isRequired: boolean
}

/** The types that a tool can write, the best first. */
const BODY_TYPES = [/^application\/(.+\+)?json\b/, /^application\/x-www-form-urlencoded/, /^text\//]

function bodyOf(document: OpenApiDocument, source: JsonObject): FoundBody | "unknown" | undefined {
  const body = document.follow(source.requestBody)
  if (body === undefined) return undefined
  const isRequired = body.required === true
  const content = isRecord(body.content) ? body.content : {}
  const [type] = BODY_TYPES.flatMap((known) => Object.keys(content).filter((one) => known.test(one)))
  if (type === undefined) return isRequired ? "unknown" : undefined
  return { type, schema: plainSchema(document, contentSchema({ [type]: content[type] })), isRequired }
}

function securityOf(value: Json | undefined): readonly (readonly string[])[] {
  if (!Array.isArray(value)) return []
  return value.filter(isRecord).map((one) => Object.keys(one))
}

function describe({ summary, description }: JsonObject, method: string, path: string): string {
  const texts = [summary, description].filter((text) => typeof text === "string" && text !== "")
  return cutText([...new Set(texts)].join(" "), MAX_SUMMARY) || `${method.toUpperCase()} ${path}`
}

/** Turns wanted names into names that a tool can have, without duplicates. */
function uniqueNames(maxLength: number): (wanted: string) => string {
  const taken = new Set<string>()
  return (wanted) => {
    const plain = wanted.replace(/[^A-Za-z0-9_-]+/g, "_").replace(/^_+|(?<!_)_+$/g, "")
    // Leaves room for a number at the end.
    const base = plain.slice(0, Math.max(1, maxLength - 4)) || "operation"
    let name = base
    for (let count = 2; taken.has(name); count++) name = `${base}_${count}`
    taken.add(name)
    return name
  }
}

// An OpenAPI 3 document: parsed from JSON or YAML, with references resolved and schemas simplified for a model. Documents
// are untrusted: a reference to another file or host is refused, and a schema that expands endlessly is cut.

export type JsonObject = { readonly [key: string]: Json | undefined }

export interface OpenApiDocument {
  readonly root: JsonObject
  /** Resolves `$ref`, including chains. */
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

/** The maximum number of parts of one schema. Beyond it, any value is accepted. */
const MAX_PARTS = 2_000
const MAX_DEPTH = 12
const MAX_DESCRIPTION = 500

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
    // Omits read-only properties, which only the server sets.
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
