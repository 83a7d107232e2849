/** One client's conversation with our server, on whatever transport. */
import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import { VERSION } from "../version.ts"
import type { ServedTools, ServeMcpOptions } from "./served-tools.ts"

export interface Session {
  readonly server: Server
  /** How many calls are under way. */
  readonly calls: () => number
}

export function newSession(tools: ServedTools, options: ServeMcpOptions): Session {
  const { name = "superstep", version = VERSION, instructions } = options
  // Not `McpServer`: that takes zod schemas alone, and ours are JSON Schemas.
  const server = new Server(
    { name, version },
    { capabilities: { tools: {} }, ...(instructions === undefined ? {} : { instructions }) },
  )
  let underWay = 0
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [...tools.listed] }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    underWay += 1
    try {
      return await tools.call(params.name, params.arguments ?? {}, extra)
    } finally {
      underWay -= 1
    }
  })
  return { server, calls: () => underWay }
}
