/** `serveMcp(…)`: workflows and agents as tools for MCP clients, over HTTP or stdio. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Readable, Writable } from "node:stream"
import { toNodeHandler } from "@modelcontextprotocol/node"
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio"
import { memoryStore, Runtime, SuperstepError, type Workflow } from "@superstep/engine"
import { mcpEndpoint, refusal } from "./endpoint.ts"
import { type RunAccess, type RunPolicies, runUnknown } from "./run-calls.ts"
import { entryOf, invalid, type ServedTools, type ServedWorkflow, servedTools } from "./served-tools.ts"
import { newSession, type SessionOptions } from "./session.ts"

export interface ServeMcpOptions extends RunPolicies, SessionOptions {
  readonly workflows?: readonly (Workflow | ServedWorkflow)[] | undefined
  readonly agents?: readonly (Workflow | ServedWorkflow)[] | undefined
  /** Executes and stores the runs; it must have the workflows. Absent: runs are in memory, and end with the process. */
  readonly runtime?: Runtime | undefined
}

export function serveMcp(options: ServeMcpOptions, on: HttpTransport): HttpMcpServer
export function serveMcp(options: ServeMcpOptions, on?: StdioTransport): StdioMcpServer
export function serveMcp(
  options: ServeMcpOptions,
  on: HttpTransport | StdioTransport = { transport: "stdio" },
): HttpMcpServer | StdioMcpServer {
  if (on.transport === "http") return serveOnHttp(ownTools(options), options, on)
  if (on.transport === "stdio") return serveOnStdio(ownTools(options), options, on)
  const { transport } = on as { readonly transport?: unknown }
  const text = `serveMcp: transport must be "stdio" or "http", not ${JSON.stringify(transport)}.`
  throw new SuperstepError("MCP_SERVE_INVALID", text, { retryable: false })
}

interface OwnTools extends ServedTools {
  close(): Promise<void>
}

const MAX_FINISHED_RUNS = 100

/** Every client may use all of the workflows, and reach all of their runs. */
export function ownTools(options: ServeMcpOptions): OwnTools {
  const { limits, timeout, budget } = options
  const entries = [...(options.workflows ?? []), ...(options.agents ?? [])].map(entryOf)
  if (entries.length === 0) throw invalid("name workflows or agents to serve.")
  const workflows = [...new Set(entries.map(({ workflow }) => workflow))]
  const served = new Set(workflows.map(({ name }) => name))
  const own =
    options.runtime === undefined
      ? new Runtime({ store: memoryStore(), workflows, retention: { keep: MAX_FINISHED_RUNS } })
      : undefined
  const runtime = options.runtime ?? (own as Runtime)
  const access: RunAccess = {
    runtime,
    by: "mcp",
    startOptions: () => ({ limits, timeout, budget }),
    async find(runId) {
      const row = await runtime.store.run(runId)
      if (row === undefined || !served.has(row.workflow)) throw runUnknown(runId)
      return row
    },
  }
  return {
    ...servedTools(entries, access),
    async close() {
      await own?.close()
    },
  }
}

export interface HttpTransport {
  readonly transport: "http"
  /** Host names, without ports, that clients may use besides those of this machine. */
  readonly allowedHosts?: readonly string[] | undefined
  /** Origins of web pages that may call it: `https://app.example`. */
  readonly allowedOrigins?: readonly string[] | undefined
  /** Default 100. */
  readonly maxSessions?: number | undefined
}

export interface HttpMcpServer {
  /** For `http.createServer`, or a route of your own server, which authorizes clients. `body`: already parsed. */
  handle(request: IncomingMessage, response: ServerResponse, body?: unknown): Promise<void>
  close(): Promise<void>
}

/** A web page cannot reach it: hosts and origins other than this machine are refused unless they are allowed. */
function serveOnHttp(tools: OwnTools, options: ServeMcpOptions, http: HttpTransport): HttpMcpServer {
  const { name, version, instructions } = options
  const endpoint = mcpEndpoint({ name, version, instructions, maxSessions: http.maxSessions })
  const client = { id: "", tools }
  const handle = toNodeHandler({
    async fetch(request, { parsedBody } = {}) {
      const reason = whyRefused(request.headers, http)
      if (reason !== undefined) return refusal(403, JSON_RPC_REFUSED, reason)
      return await endpoint.fetch(request, client, parsedBody)
    },
  })
  return {
    async handle(request, response, body) {
      // The SDK's type of a request does not fit Node's under exactOptionalPropertyTypes.
      await handle(request as never, response, body)
    },
    async close() {
      await endpoint.close()
      await tools.close()
    },
  }
}

const JSON_RPC_REFUSED = -32_000
const OWN_HOSTS = ["localhost", "127.0.0.1", "[::1]"]

function whyRefused(headers: Headers, http: HttpTransport): string | undefined {
  const { allowedHosts = [], allowedOrigins = [] } = http
  const hosts = [...OWN_HOSTS, ...allowedHosts.map((host) => host.toLowerCase())]
  const origin = headers.get("origin")
  if (!hosts.includes(hostName(`http://${headers.get("host") ?? ""}`)))
    return "This host is not allowed. Add it to allowedHosts."
  if (origin === null || allowedOrigins.includes(origin) || OWN_HOSTS.includes(hostName(origin)))
    return undefined
  return "This origin is not allowed. Add it to allowedOrigins."
}

function hostName(address: string): string {
  return URL.canParse(address) ? new URL(address).hostname : ""
}

/** One client, which started this process. The server ends with it. Nothing else may write to the output meanwhile. */
export interface StdioTransport {
  readonly transport: "stdio"
  /** Default: the standard streams of the process. */
  readonly input?: Readable | undefined
  readonly output?: Writable | undefined
}

export interface StdioMcpServer {
  /** Resolves when the client disconnects, or `close` is called. */
  readonly closed: Promise<void>
  close(): Promise<void>
}

function serveOnStdio(
  tools: OwnTools,
  options: ServeMcpOptions,
  { input = process.stdin, output = process.stdout }: StdioTransport,
): StdioMcpServer {
  const served = serveStdio(() => newSession(tools, options).server, {
    transport: new StdioServerTransport(input, output),
  })
  let end: () => void = () => undefined
  const closed = new Promise<void>((resolve, reject) => {
    end = () => {
      input.off("end", end).off("close", end)
      output.off("error", end)
      served
        .close()
        .then(() => tools.close())
        .then(resolve, reject)
    }
  })
  // The SDK's transport does not notice that its client disconnected.
  input.once("end", end).once("close", end)
  output.once("error", end)
  return {
    closed,
    async close() {
      end()
      await closed
    },
  }
}
