/** `serveMcp(…)`: workflows and agents as tools for every program that speaks the Model Context Protocol. */
import { SuperstepError } from "@superstep/engine"
import { type HttpMcpServer, type HttpTransport, serveOnHttp } from "./http-sessions.ts"
import { type StdioMcpServer, type StdioTransport, serveOnStdio } from "./serve-on-stdio.ts"
import { type ServeMcpOptions, servedTools } from "./served-tools.ts"

export function serveMcp(options: ServeMcpOptions, on: HttpTransport): HttpMcpServer
export function serveMcp(options: ServeMcpOptions, on?: StdioTransport): StdioMcpServer
export function serveMcp(
  options: ServeMcpOptions,
  on: HttpTransport | StdioTransport = { transport: "stdio" },
): HttpMcpServer | StdioMcpServer {
  if (on.transport === "http") return serveOnHttp(servedTools(options), options, on)
  if (on.transport === "stdio") return serveOnStdio(servedTools(options), options, on)
  const { transport } = on as { readonly transport?: unknown }
  const text = `serveMcp: transport is "stdio" or "http", not ${JSON.stringify(transport)}.`
  throw new SuperstepError("MCP_SERVE_INVALID", text, { retryable: false })
}
