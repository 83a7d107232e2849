/** The operations of a document, each with what a tool needs: a name, a schema of its arguments, where they go. */
import type { Json } from "../../core/index.ts"
import { isRecord } from "../../core/internal.ts"
import { cutText } from "../../text/index.ts"
import { objectInput } from "../tool.ts"
import { type JsonObject, MAX_DESCRIPTION, type OpenApiDocument, plainSchema } from "./document.ts"

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
  /** One of these sets of schemes must be used; empty: none is needed. */
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

/** Set by the caller or the connection, never by a model. */
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

/** Those of the operation replace those of its path. */
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
    // With room for a number after it.
    const base = plain.slice(0, Math.max(1, maxLength - 4)) || "operation"
    let name = base
    for (let count = 2; taken.has(name); count++) name = `${base}_${count}`
    taken.add(name)
    return name
  }
}
