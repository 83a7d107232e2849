/**
 * The session of one client, on any transport. It has a file of its own: the SDK's declarations of a server need the DOM's
 * types, which the declarations of our options must not.
 */
import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import { VERSION } from "../version.ts"
import type { ServedTools, ServeMcpOptions } from "./served-tools.ts"

export interface Session {
  readonly server: Server
  /** The number of pending calls. */
  readonly calls: () => number
}

export function newSession(tools: ServedTools, options: ServeMcpOptions): Session {
  const { name = "superstep", version = VERSION, instructions } = options
  // Not `McpServer`, which takes only zod schemas: ours are JSON Schemas.
  const server = new Server(
    { name, version },
    { capabilities: { tools: {} }, ...(instructions === undefined ? {} : { instructions }) },
  )
  let pending = 0
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [...tools.listed] }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    pending += 1
    try {
      return await tools.call(params.name, params.arguments ?? {}, extra)
    } finally {
      pending -= 1
    }
  })
  return { server, calls: () => pending }
}
