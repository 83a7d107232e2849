/**
 * The openapi toolset: every operation of an OpenAPI 3 document as a tool.
 *
 * 1. All requests go to one server: the one given here, else the first that the document names.
 * 2. Keys go to a server that the user named, or that the document came from; never to another one that a
 *    document from the network names.
 * 3. No argument of the model changes the host, leaves its part of the path, or takes the place of a key.
 */
import { SuperstepError } from "../core/index.ts"
import { readTextFile } from "../files/index.ts"
import { type ApiOptions, apiCaller } from "./api-call.ts"
import { tool } from "./define-tool.ts"
import { decodeBody, mustBeText } from "./fetch.ts"
import { guardedRequests } from "./guarded-request.ts"
import { type ApiAuth, credentialsFor } from "./openapi-auth.ts"
import {
  invalid,
  isObject,
  type JsonObject,
  type OpenApiDocument,
  openApiDocument,
} from "./openapi-document.ts"
import { type Operation, operationsOf } from "./openapi-operations.ts"
import { type Args, requestOf } from "./openapi-request.ts"
import { matchesWord } from "./path-glob.ts"
import type { Approval, Tool, Toolset } from "./tool.ts"

export interface OpenApiOptions extends ApiOptions {
  /** The document: as text (JSON or YAML), as an object, in a file, or at an address. */
  readonly document:
    | { readonly text: string }
    | { readonly json: JsonObject }
    | { readonly file: string }
    | { readonly url: string }
  /** The base address of the API, when it is not the document's first server. */
  readonly server?: string | undefined
  readonly auth?: ApiAuth | undefined
  /** Names of operations, with `*`. `exclude` comes first. */
  readonly include?: readonly string[] | undefined
  readonly exclude?: readonly string[] | undefined
  /** Put in front of the tools' names. */
  readonly prefix?: string | undefined
  /** For operations that are not GET or HEAD. Default "always": a person is asked. */
  readonly approval?: Approval | undefined
}

/** What providers take at most. */
const MAX_TOOLS = 128
const MAX_NAME = 64
const MAX_DOCUMENT = 10_000_000

export function openapi(options: OpenApiOptions): Toolset {
  let loaded: Promise<readonly Tool[]> | undefined
  return {
    name: "openapi",
    tools: () => {
      // For all tasks, so that it does not end with the one that came first. Its time is limited.
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
  const document = await readDocument(options, signal)
  const server = serverOf(options, document)
  const fits = (patterns: readonly string[], name: string) =>
    patterns.some((pattern) => matchesWord(pattern, name))
  const chosen = operationsOf(document, MAX_NAME - (options.prefix ?? "").length).filter(
    ({ name }) => !fits(options.exclude ?? [], name) && fits(options.include ?? ["*"], name),
  )
  if (chosen.length > MAX_TOOLS) {
    throw invalid(
      `it gives ${chosen.length} tools, and models take ${MAX_TOOLS}; name those you need with include`,
    )
  }
  const call = apiCaller(options)
  return chosen.map((operation) => operationTool(operation, document, server, options, call))
}

function operationTool(
  operation: Operation,
  document: OpenApiDocument,
  server: URL,
  options: OpenApiOptions,
  call: ReturnType<typeof apiCaller>,
): Tool {
  const isRead = operation.method === "GET" || operation.method === "HEAD"
  return tool({
    name: `${options.prefix ?? ""}${operation.name}`,
    description: operation.description,
    input: { jsonSchema: operation.schema },
    approval: isRead ? "never" : (options.approval ?? "always"),
    idempotent: isRead,
    run: (args: Args, context) => {
      const credentials = credentialsFor(document, operation, options.auth ?? {}, options.env ?? process.env)
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
  if (response.status !== 200) throw invalid(`its address answers with status ${response.status}`)
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
  if (!URL.canParse(address, from))
    throw invalid(`"${address}" is no address of a server; give one as server`)
  const server = new URL(address, from)
  const hasKeys = options.auth !== undefined || options.headers !== undefined
  const isTrusted =
    options.server !== undefined || from === undefined || new URL(from).origin === server.origin
  if (hasKeys && !isTrusted) {
    throw new SuperstepError(
      "OPENAPI_SERVER_UNTRUSTED",
      `The document names the server ${server.origin}, which is not where it came from. Give server: "${server.href}" if your keys may go there.`,
      { retryable: false },
    )
  }
  return server
}

/** Its variables are filled with their defaults. */
function firstServer(document: OpenApiDocument): string | undefined {
  const { servers } = document.root
  const first = Array.isArray(servers) ? document.follow(servers[0]) : undefined
  const variables = isObject(first?.variables) ? first.variables : {}
  if (typeof first?.url !== "string") return undefined
  return first.url.replace(/\{([^{}]+)\}/g, (whole, name: string) => {
    const variable = Object.hasOwn(variables, name) ? variables[name] : undefined
    return isObject(variable) && typeof variable.default === "string" ? variable.default : whole
  })
}
