/**
 * The openapi toolset: every operation of an OpenAPI 3 document as a tool.
 *
 * 1. All requests go to one server: `server`, or else the first one in the document.
 * 2. Keys go only to a server that the user named, or that the document came from; never to another one that a document from
 *    the network names.
 * 3. No argument of the model changes the host, leaves its segment of the path, or replaces a key.
 */

import type { Json } from "../../core/index.ts"
import { isRecord, terminalError } from "../../core/internal.ts"
import { readTextFile } from "../../files/index.ts"
import type { Approval } from "../approval.ts"
import { matchesWord } from "../glob.ts"
import {
  type ApiOptions,
  type ApiRequest,
  apiCaller,
  encodeSegment,
  encodeText,
  isRead,
} from "../http/api.ts"
import { decodeBody, guardedRequests, mustBeText } from "../http/request.ts"
import { type Environment, readVariable } from "../secrets.ts"
import { type Tool, type Toolset, tool } from "../tool.ts"
import {
  invalid,
  type JsonObject,
  type OpenApiDocument,
  type Operation,
  openApiDocument,
  operationsOf,
  type Parameter,
} from "./operations.ts"

export interface OpenApiOptions extends ApiOptions {
  /** The document: as a string (JSON or YAML), as an object, in a file, or at an address. */
  readonly document:
    | { readonly text: string }
    | { readonly json: JsonObject }
    | { readonly file: string }
    | { readonly url: string }
  /** The base URL of the API, if it is not the document's first server. */
  readonly server?: string | undefined
  readonly auth?: ApiAuth | undefined
  /** Names of operations, with `*`. `exclude` comes first. */
  readonly include?: readonly string[] | undefined
  readonly exclude?: readonly string[] | undefined
  /** Prefix of the tools' names. */
  readonly prefix?: string | undefined
  /** For operations that are not GET or HEAD. Default "always": a person is asked. */
  readonly approval?: Approval | undefined
}

/** Limits of model providers. */
const MAX_TOOLS = 128
const MAX_NAME = 64
const MAX_DOCUMENT = 10_000_000

export function openapi(options: OpenApiOptions): Toolset {
  let loaded: Promise<readonly Tool[]> | undefined
  return {
    name: "openapi",
    tools: () => {
      // Loaded once for all tasks, so the signal of the first task does not abort it. Its time is limited.
      loaded ??= load(options, new AbortController().signal).catch((error) => {
        // The next task tries again.
        loaded = undefined
        throw error
      })
      return loaded
    },
  }
}

async function load(options: OpenApiOptions, signal: AbortSignal): Promise<readonly Tool[]> {
  const { prefix = "", include = ["*"], exclude = [] } = options
  const document = await readDocument(options, signal)
  const server = serverOf(options, document)
  const fits = (patterns: readonly string[], name: string) =>
    patterns.some((pattern) => matchesWord(pattern, name))
  const chosen = operationsOf(document, MAX_NAME - prefix.length).filter(
    ({ name }) => !fits(exclude, name) && fits(include, name),
  )
  if (chosen.length > MAX_TOOLS) {
    throw invalid(
      `it defines ${chosen.length} tools, but models accept at most ${MAX_TOOLS}; choose the ones you need with include`,
    )
  }
  const call = apiCaller(options)
  return chosen.map((operation) => operationTool(operation, document, server, options, call))
}

function operationTool(
  operation: Operation,
  document: OpenApiDocument,
  server: URL,
  { prefix = "", approval = "always", auth = {}, env }: OpenApiOptions,
  call: ReturnType<typeof apiCaller>,
): Tool {
  const { name, description, input, method } = operation
  return tool({
    name: prefix + name,
    description,
    input,
    approval: isRead(method) ? "never" : approval,
    idempotent: isRead(method),
    run: (args: Args, context) => {
      const credentials = credentialsFor(document, operation, auth, env ?? process.env)
      return call(requestOf(operation, server, args, credentials), context)
    },
  })
}

async function readDocument(options: OpenApiOptions, signal: AbortSignal): Promise<OpenApiDocument> {
  const { document } = options
  if ("text" in document) return openApiDocument(document.text)
  if ("json" in document) return openApiDocument(document.json)
  if ("file" in document) return openApiDocument(textIn(document.file))
  const request = guardedRequests({ ...options, maxBytes: MAX_DOCUMENT })
  const response = await request({ url: document.url }, { signal, accept: mustBeText })
  if (response.status !== 200) throw invalid(`its URL returned status ${response.status}`)
  return openApiDocument(decodeBody(response))
}

function textIn(file: string): string {
  try {
    return readTextFile(file, { maxBytes: MAX_DOCUMENT })
  } catch (error) {
    throw invalid(`the file ${file} cannot be read`, error)
  }
}

function serverOf(options: OpenApiOptions, document: OpenApiDocument): URL {
  const from = "url" in options.document ? options.document.url : undefined
  const address = options.server ?? firstServer(document) ?? "/"
  if (!URL.canParse(address, from)) {
    throw invalid(`"${address}" is not the URL of a server; pass one as server`)
  }
  const server = new URL(address, from)
  const hasKeys = options.auth !== undefined || options.headers !== undefined
  const isTrusted =
    options.server !== undefined || from === undefined || new URL(from).origin === server.origin
  if (!hasKeys || isTrusted) return server
  const text = `The document names the server ${server.origin}, which is not its own origin. Set server: "${server.href}" if your keys may be sent there.`
  throw terminalError("OPENAPI_SERVER_UNTRUSTED", text)
}

/** The first server, with its variables replaced by their defaults. */
function firstServer(document: OpenApiDocument): string | undefined {
  const { servers } = document.root
  const first = Array.isArray(servers) ? document.follow(servers[0]) : undefined
  const variables = isRecord(first?.variables) ? first.variables : {}
  if (typeof first?.url !== "string") return undefined
  return first.url.replace(/\{([^{}]+)\}/g, (whole, name: string) => {
    const variable = Object.hasOwn(variables, name) ? variables[name] : undefined
    return isRecord(variable) && typeof variable.default === "string" ? variable.default : whole
  })
}

// Builds the request for an operation from its arguments and from the keys in the environment.

type Args = Readonly<Record<string, Json | undefined>>

/**
 * Headers and query parameters with the keys of the API. They are added after the model's arguments, so that no argument
 * can replace them.
 */
interface Credentials {
  readonly headers: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly secrets: readonly string[]
}

function requestOf(operation: Operation, server: URL, args: Args, credentials: Credentials): ApiRequest {
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
function credentialsFor(
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
