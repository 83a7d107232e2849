/** The server of everything as a program, for the stdio transport. */
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js"
import { everythingServer } from "./everything-server.test-support.ts"

await everythingServer().connect(new StdioServerTransport())
