// The program that example 35 starts: an MCP server written with the official SDK, on its standard input and output.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js"
import { z } from "zod"

const shelves = new Map([
  ["Emma", "Emma, by Jane Austen, is on shelf 3."],
  ["Dracula", "Dracula, by Bram Stoker, is on shelf 7."],
])

const server = new McpServer({ name: "library", version: "1.0.0" })
const find = { description: "Finds the shelf of a book in the library.", inputSchema: { title: z.string() } }
server.registerTool("find_book", find, ({ title }) => ({
  content: [{ type: "text", text: shelves.get(title) ?? `The library does not have ${title}.` }],
}))
await server.connect(new StdioServerTransport())
