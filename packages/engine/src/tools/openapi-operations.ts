/** The operations of a document, each with what a tool needs: a name, a schema of its arguments, where they go. */
import type { Json } from "../core/index.ts"
import { argsSchema } from "./args-schema.ts"
import { isObject, type JsonObject, type OpenApiDocument } from "./openapi-document.ts"
import { plainSchema } from "./openapi-schema.ts"

export interface Operation {
  /** Fit to be a tool's name. */
  readonly name: string
  readonly description: string
  /** Upper case. */
  readonly method: string
  readonly path: string
  readonly parameters: readonly Parameter[]
  readonly body?: { readonly argument: string; readonly type: string } | undefined
  /** JSON Schema of the arguments. */
  readonly schema: Json
  /** One of these sets of schemes must be used; empty: none is needed. */
  readonly security: readonly (readonly string[])[]
}

export interface Parameter {
  /** What the model calls it. */
  readonly argument: string
  readonly name: string
  readonly in: "path" | "query" | "header"
  readonly style: string
  readonly explode: boolean
}

const METHODS = ["get", "put", "post", "delete", "patch", "head", "options"]
const MAX_DESCRIPTION = 1_000

/** Who calls decides these, or the connection does; a model does not. */
const OWN_HEADERS =
  /^(accept|accept-encoding|authorization|connection|content-.*|cookie|expect|forwarded|host|idempotency-key|keep-alive|origin|proxy-.*|referer|sec-.*|te|trailer|transfer-encoding|upgrade|via|x-forwarded-.*|x-http-method.*)$/i

/** Operations whose body no tool can write (files, forms of several parts) are left out. */
export function operationsOf(document: OpenApiDocument, longestName: number): readonly Operation[] {
  const nameFor = freeNames(longestName)
  const paths = isObject(document.root.paths) ? document.root.paths : {}
  return Object.entries(paths).flatMap(([path, value]) => {
    const item = document.follow(value)
    if (item === undefined || !path.startsWith("/")) return []
    return METHODS.flatMap((method) => {
      const source = document.follow(item[method])
      return source === undefined ? [] : (operationOf(document, path, method, item, source, nameFor) ?? [])
    })
  })
}

function operationOf(
  document: OpenApiDocument,
  path: string,
  method: string,
  item: JsonObject,
  source: JsonObject,
  nameFor: (wanted: string) => string,
): Operation | undefined {
  const body = bodyOf(document, source)
  if (body === "unknown") return undefined
  const found = parametersOf(document, item, source)
  const argument = found.some(({ parameter }) => parameter.argument === "body") ? "request_body" : "body"
  const properties = Object.fromEntries([
    ...found.map(({ parameter, schema }): [string, Json] => [parameter.argument, schema]),
    ...(body === undefined ? [] : [[argument, body.schema] as [string, Json]]),
  ])
  const required = [
    ...found.filter(({ isRequired }) => isRequired).map(({ parameter }) => parameter.argument),
    ...(body?.isRequired === true ? [argument] : []),
  ]
  return {
    name: nameFor(typeof source.operationId === "string" ? source.operationId : `${method}${path}`),
    description: describe(source, method, path),
    method: method.toUpperCase(),
    path,
    parameters: found.map(({ parameter }) => parameter),
    body: body === undefined ? undefined : { argument, type: body.type },
    schema: argsSchema(properties, required),
    security: securityOf(source.security ?? document.root.security),
  }
}

interface FoundParameter {
  readonly parameter: Parameter
  readonly schema: JsonObject
  readonly isRequired: boolean
}

/** Those of the operation come before those of its path. */
function parametersOf(
  document: OpenApiDocument,
  item: JsonObject,
  source: JsonObject,
): readonly FoundParameter[] {
  const found = new Map<string, FoundParameter>()
  const listed = [item.parameters, source.parameters].flatMap((list) => (Array.isArray(list) ? list : []))
  const all = listed.map((value) => document.follow(value)).filter((one) => one !== undefined)
  for (const one of all) {
    const { name, in: where } = one
    if (typeof name !== "string" || (where !== "path" && where !== "query" && where !== "header")) continue
    if (where === "header" && OWN_HEADERS.test(name)) continue
    const isAmbiguous = all.some((other) => other.name === name && other.in !== where)
    const argument = (isAmbiguous ? `${where}_${name}` : name).replace(/[^A-Za-z0-9_.-]/g, "_").slice(0, 64)
    const style = typeof one.style === "string" ? one.style : where === "query" ? "form" : "simple"
    const explode = typeof one.explode === "boolean" ? one.explode : style === "form"
    const plain = plainSchema(document, one.schema ?? contentSchema(one.content))
    const description =
      typeof one.description === "string" ? { description: one.description.slice(0, 500) } : {}
    found.set(`${where} ${name}`, {
      parameter: { argument, name, in: where, style, explode },
      schema: { ...plain, ...description },
      isRequired: where === "path" || one.required === true,
    })
  }
  return [...found.values()]
}

function contentSchema(content: Json | undefined): Json | undefined {
  const [first] = isObject(content) ? Object.values(content) : []
  return isObject(first) ? first.schema : undefined
}

interface FoundBody {
  readonly type: string
  readonly schema: JsonObject
  readonly isRequired: boolean
}

function bodyOf(document: OpenApiDocument, source: JsonObject): FoundBody | "unknown" | undefined {
  const body = document.follow(source.requestBody)
  if (body === undefined) return undefined
  const content = isObject(body.content) ? body.content : {}
  const type = ["json", "form", "text"].flatMap((kind) =>
    Object.keys(content).filter(BODY_TYPES[kind] ?? never),
  )[0]
  if (type === undefined) return body.required === true ? "unknown" : undefined
  const schema = plainSchema(document, contentSchema({ [type]: content[type] }))
  return { type, schema, isRequired: body.required === true }
}

const never = () => false
const BODY_TYPES: Readonly<Record<string, (type: string) => boolean>> = {
  json: (type) => /^application\/(.+\+)?json\b/.test(type),
  form: (type) => type.startsWith("application/x-www-form-urlencoded"),
  text: (type) => type.startsWith("text/"),
}

function securityOf(value: Json | undefined): readonly (readonly string[])[] {
  if (!Array.isArray(value)) return []
  return value.filter(isObject).map((one) => Object.keys(one))
}

function describe(source: JsonObject, method: string, path: string): string {
  const said = [source.summary, source.description].filter((text) => typeof text === "string" && text !== "")
  return [...new Set(said)].join(" ").slice(0, MAX_DESCRIPTION) || `${method.toUpperCase()} ${path}`
}

/** Names that a tool can have, each given once. */
function freeNames(longest: number): (wanted: string) => string {
  const taken = new Set<string>()
  return (wanted) => {
    const plain = wanted.replace(/[^A-Za-z0-9_-]+/g, "_").replace(/^_+|(?<!_)_+$/g, "")
    // With room for a number behind it.
    const base = plain.slice(0, Math.max(1, longest - 4)) || "operation"
    let name = base
    for (let count = 2; taken.has(name); count++) name = `${base}_${count}`
    taken.add(name)
    return name
  }
}
