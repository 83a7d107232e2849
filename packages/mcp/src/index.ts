/** The Model Context Protocol: tools of MCP servers for agents, and workflows as tools for MCP clients. */
export type { McpServerOptions, ReconnectPolicy } from "./client/mcp-server.ts"
export type { ToolFilter } from "./client/mcp-tool.ts"
export {
  type McpToolset,
  type McpToolsetOptions,
  mcpToolset,
  type ReadOptions,
} from "./client/mcp-toolset.ts"
export { type McpLoginOptions, mcpLogin } from "./client/oauth.ts"
export type { SamplingOptions } from "./client/sampling.ts"
export type { McpProgram, McpServerAddress, McpUrl, OAuthOptions } from "./client/server-address.ts"
export type { InteractionOptions } from "./client/tool-rounds.ts"
export type { RunPolicies } from "./server/run-calls.ts"
export {
  type HttpMcpServer,
  type HttpTransport,
  type ServeMcpOptions,
  type StdioMcpServer,
  type StdioTransport,
  serveMcp,
} from "./server/serve-mcp.ts"
export type { ServedWorkflow } from "./server/served-tools.ts"
export type { SessionOptions } from "./server/session.ts"
