/** Workflows as MCP tools behind a fetch handler, for servers that know their clients: `@superstep/server` has it at /mcp. */
export { type McpClient, type McpEndpoint, type McpEndpointOptions, mcpEndpoint } from "./server/endpoint.ts"
export type { RunAccess, ToolCall, ToolResult } from "./server/run-calls.ts"
export { type ServedTools, type ServedWorkflow, servedTools } from "./server/served-tools.ts"
