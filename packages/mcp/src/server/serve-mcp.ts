/** `serveMcp(…)`: workflows and agents as tools for MCP clients, over HTTP or stdio. */
import type { Readable, Writable } from "node:stream"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js"
import { SuperstepError } from "@superstep/engine"
import { type HttpMcpServer, type HttpTransport, serveOnHttp } from "./http-sessions.ts"
import { type ServedTools, type ServeMcpOptions, servedTools } from "./served-tools.ts"
import { newSession } from "./session.ts"

export function serveMcp(options: ServeMcpOptions, on: HttpTransport): HttpMcpServer
export function serveMcp(options: ServeMcpOptions, on?: StdioTransport): StdioMcpServer
export function serveMcp(
  options: ServeMcpOptions,
  on: HttpTransport | StdioTransport = { transport: "stdio" },
): HttpMcpServer | StdioMcpServer {
  if (on.transport === "http") return serveOnHttp(servedTools(options), options, on)
  if (on.transport === "stdio") return serveOnStdio(servedTools(options), options, on)
  const { transport } = on as { readonly transport?: unknown }
  const text = `serveMcp: transport must be "stdio" or "http", not ${JSON.stringify(transport)}.`
  throw new SuperstepError("MCP_SERVE_INVALID", text, { retryable: false })
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
  tools: ServedTools,
  options: ServeMcpOptions,
  { input = process.stdin, output = process.stdout }: StdioTransport,
): StdioMcpServer {
  const { server } = newSession(tools, options)
  const close = async () => {
    await server.close()
  }
  const closed = new Promise<void>((resolve, reject) => {
    server.onclose = () => {
      input.off("end", close).off("close", close)
      output.off("error", close)
      tools.close().then(resolve, reject)
    }
  })
  // The SDK's transport does not notice that its client disconnected.
  input.once("end", close).once("close", close)
  output.once("error", close)
  const connected = server.connect(new StdioServerTransport(input, output))
  return {
    closed: connected.then(() => closed),
    async close() {
      await connected
      await close()
      await closed
    },
  }
}
