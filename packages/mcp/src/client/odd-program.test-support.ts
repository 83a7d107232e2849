/** A server with a paginated list of tools that contains invalid entries. */
import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js"
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js"

const anything = { type: "object" }
const pages = [
  [
    { name: "first", inputSchema: anything },
    { name: "broken", inputSchema: "anything" },
  ],
  [{ name: "uncheckable", inputSchema: { ...anything, properties: { anything: { $ref: "#/nowhere" } } } }],
  [
    {
      name: "slow",
      inputSchema: {
        ...anything,
        properties: {
          text: { type: "string", pattern: "^(a+)+$" },
          patternProperties: { type: "string", const: { pattern: "x" } },
        },
        patternProperties: { "^(b+)+$": { type: "number" } },
        additionalProperties: false,
      },
    },
    {
      name: "behind",
      inputSchema: { ...anything, properties: { text: { type: "string", pattern: "(?<=x)y" } } },
    },
    { name: "second", description: "d".repeat(100_000), inputSchema: anything },
    { name: "first", inputSchema: anything },
  ],
]

const server = new Server({ name: "odd", version: "1.0.0" }, { capabilities: { tools: {} } })
server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
  const page = Number(params?.cursor ?? 0)
  const nextCursor = page + 1 < pages.length ? { nextCursor: String(page + 1) } : {}
  return { tools: pages[page] ?? [], ...nextCursor }
})
server.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
  content: [],
  structuredContent: params.arguments,
}))
await server.connect(new StdioServerTransport())
