/**
 * The openapi toolset: every operation of an OpenAPI 3 document as a tool.
 *
 * 1. All requests go to one server: `server`, or else the first one in the document.
 * 2. Keys go only to a server that the user named, or that the document came from; never to another one that a document from
 *    the network names.
 * 3. No argument of the model changes the host, leaves its segment of the path, or replaces a key.
 */
import { isRecord, terminalError } from "../../core/internal.ts"
import { readTextFile } from "../../files/index.ts"
import type { Approval } from "../approval.ts"
import { matchesWord } from "../glob.ts"
import { type ApiOptions, apiCaller, isRead } from "../http/api.ts"
import { decodeBody, guardedRequests, mustBeText } from "../http/request.ts"
import { type Tool, type Toolset, tool } from "../tool.ts"
import { invalid, type JsonObject, type OpenApiDocument, openApiDocument } from "./document.ts"
import { type Operation, operationsOf } from "./operations.ts"
import { type ApiAuth, type Args, credentialsFor, requestOf } from "./request.ts"

export interface OpenApiOptions extends ApiOptions {
  /** The document: as a string (JSON or YAML), as an object, in a file, or at an address. */
  readonly document:
    | { readonly text: string }
    | { readonly json: JsonObject }
    | { readonly file: string }
    | { readonly url: string }
  /** The base address of the API, if it is not the document's first server. */
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

/** What providers accept. */
const MAX_TOOLS = 128
const MAX_NAME = 64
const MAX_DOCUMENT = 10_000_000

export function openapi(options: OpenApiOptions): Toolset {
  let loaded: Promise<readonly Tool[]> | undefined
  return {
    name: "openapi",
    tools: () => {
      // Loaded for all tasks, so it does not stop with the first task. Its time is limited.
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

/** Its variables are filled with their defaults. */
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
