/** Builds the request for an operation from its arguments and from the keys in the environment. */
import type { Json } from "../../core/index.ts"
import { isRecord, terminalError } from "../../core/internal.ts"
import { type ApiRequest, encodeSegment, encodeText } from "../http/api.ts"
import { type Environment, readVariable } from "../secrets.ts"
import type { JsonObject, OpenApiDocument } from "./document.ts"
import type { Operation, Parameter } from "./operations.ts"

export type Args = Readonly<Record<string, Json | undefined>>

/** Where the keys of the API go. They are added after the model's arguments, so that no argument can replace them. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly secrets: readonly string[]
}

export function requestOf(
  operation: Operation,
  server: URL,
  args: Args,
  credentials: Credentials,
): ApiRequest {
  const url = addressOf(operation, server, args)
  for (const [parameter, value] of presentIn("query", operation, args)) {
    for (const [name, text] of queryPairs(parameter, value)) url.searchParams.append(name, text)
  }
  for (const [name, value] of Object.entries(credentials.query)) url.searchParams.set(name, value)
  const headers = presentIn("header", operation, args).map(([{ name }, value]): [string, string] => [
    name.toLowerCase(),
    Array.isArray(value) ? value.map(encodeText).join(",") : encodeText(value),
  ])
  const { argument = "", type = "" } = operation.body ?? {}
  const body = operation.body && args[argument]
  return {
    url: url.href,
    method: operation.method,
    headers: {
      ...Object.fromEntries(headers),
      ...(body !== undefined && { "content-type": type }),
      ...credentials.headers,
    },
    ...(body !== undefined && { body: encodeBody(type, body) }),
    secrets: credentials.secrets,
  }
}

function addressOf(operation: Operation, server: URL, args: Args): URL {
  const parts = new Map(operation.parameters.filter((one) => one.in === "path").map((one) => [one.name, one]))
  const path = operation.path.replace(/\{([^{}]+)\}/g, (_, name: string) =>
    encodeSegment(name, args[parts.get(name)?.argument ?? ""]),
  )
  const base = server.pathname.replace(/(?<!\/)\/+$/, "")
  const url = new URL(`${server.origin}${base}${path}`)
  if (url.origin === server.origin && url.pathname.startsWith(base)) return url
  throw terminalError("ADDRESS_REFUSED", `${operation.name} would leave ${server.host}.`)
}

function presentIn(where: Parameter["in"], operation: Operation, args: Args): [Parameter, Json][] {
  return operation.parameters.flatMap((one): [Parameter, Json][] => {
    const value = args[one.argument]
    return one.in === where && value !== undefined ? [[one, value]] : []
  })
}

const SEPARATORS: Readonly<Record<string, string>> = { form: ",", spaceDelimited: " ", pipeDelimited: "|" }

/** The names and values that one parameter adds to a query, as OpenAPI's styles write them. */
function queryPairs({ name, style, explode }: Parameter, value: Json): readonly [string, string][] {
  if (Array.isArray(value)) {
    if (explode) return value.map((item) => [name, encodeText(item)])
    return [[name, value.map(encodeText).join(SEPARATORS[style] ?? ",")]]
  }
  if (!isRecord(value)) return [[name, encodeText(value)]]
  const entries = Object.entries(value)
  if (style === "deepObject") return entries.map(([key, item]) => [`${name}[${key}]`, encodeText(item)])
  if (explode) return entries.map(([key, item]) => [key, encodeText(item)])
  return [[name, entries.flatMap(([key, item]) => [key, encodeText(item)]).join(",")]]
}

function encodeBody(type: string, body: Json): string {
  if (type.startsWith("text/")) return encodeText(body)
  if (!type.startsWith("application/x-www-form-urlencoded")) return JSON.stringify(body)
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(isRecord(body) ? body : {})) form.append(name, encodeText(value))
  return form.toString()
}

/** The environment variable with the key, by the name of the scheme; `user:password` for HTTP basic. */
export type ApiAuth = Readonly<Record<string, { readonly env: string }>>

/** The keys that the operation's security schemes need, read from the environment at the moment of the call. */
export function credentialsFor(
  document: OpenApiDocument,
  operation: Operation,
  auth: ApiAuth,
  env: Environment,
): Credentials {
  const schemes = operation.security.find((names) => names.every((name) => Object.hasOwn(auth, name)))
  if (schemes === undefined && operation.security.length > 0) {
    const wanted = operation.security.map((names) => names.join(" and ")).join(", or ")
    const text = `${operation.name} needs the security scheme ${wanted}: set auth: { <scheme>: { env: "NAME" } }.`
    throw terminalError("KEY_MISSING", text)
  }
  const headers: Record<string, string> = {}
  const query: Record<string, string> = {}
  const secrets: string[] = []
  for (const scheme of schemes ?? []) {
    const variable = auth[scheme]?.env ?? ""
    const key = readVariable(variable, env)
    secrets.push(variable)
    const { where, name, value } = keyPlacement(scheme, schemeOf(document, scheme), key)
    if (where === "query") query[name] = value
    else if (name === "cookie" && headers.cookie !== undefined) headers.cookie += `; ${value}`
    else headers[name] = value
  }
  return { headers, query, secrets }
}

interface KeyPlacement {
  readonly where: "header" | "query"
  readonly name: string
  readonly value: string
}

function keyPlacement(schemeName: string, scheme: JsonObject | undefined, key: string): KeyPlacement {
  const header = (name: string, value: string): KeyPlacement => ({ where: "header", name, value })
  if (scheme?.type === "apiKey" && typeof scheme.name === "string") {
    if (scheme.in === "query") return { where: "query", name: scheme.name, value: key }
    if (scheme.in === "cookie") return header("cookie", `${scheme.name}=${encodeURIComponent(key)}`)
    return header(scheme.name.toLowerCase(), key)
  }
  const kind = scheme?.type === "http" ? String(scheme.scheme).toLowerCase() : scheme?.type
  if (kind === "basic") return header("authorization", `Basic ${Buffer.from(key).toString("base64")}`)
  if (kind === "bearer" || kind === "oauth2" || kind === "openIdConnect") {
    return header("authorization", `Bearer ${key}`)
  }
  const text = `The security scheme "${schemeName}" has an unsupported type.`
  throw terminalError("OPENAPI_INVALID", text)
}

function schemeOf(document: OpenApiDocument, name: string): JsonObject | undefined {
  const { components } = document.root
  const schemes = isRecord(components) ? components.securitySchemes : undefined
  return isRecord(schemes) && Object.hasOwn(schemes, name) ? document.follow(schemes[name]) : undefined
}
