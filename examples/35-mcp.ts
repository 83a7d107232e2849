/** MCP both ways: an agent uses the tools of another program, and a workflow is a tool for other programs. */
import { createServer } from "node:http"
import { join } from "node:path"
import { type McpToolset, mcpToolset, serveMcp } from "@superstep/mcp"
import { node, workflow } from "superstep"
import { agent } from "superstep/agents"
import { offlineModel } from "superstep/models"
import { z } from "zod"

/** Client: the program starts when an agent first needs it, and ends with the toolset. */
export const library = () =>
  mcpToolset(
    { name: "library", command: process.execPath, args: [join(import.meta.dirname, "35-mcp-server.mjs")] },
    { tools: ["find_*"] },
  )

export const lent: string[] = []

const lend = node({
  id: "lend",
  input: z.object({ book: z.string(), reader: z.string() }),
  run: ({ book, reader }) => {
    lent.push(`${book} to ${reader}`)
    return "lent for four weeks"
  },
})
const lending = workflow("lend_book", { description: "Lends a book to a reader." }).chain(lend).build()

/** Server: the workflow is served over HTTP to any MCP client; here to our own agent. */
export async function atTheDesk<T>(use: (desk: McpToolset) => Promise<T>): Promise<T> {
  const served = serveMcp({ workflows: [lending] }, { transport: "http" })
  const http = createServer((request, response) => served.handle(request, response))
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve))
  const { port } = http.address() as { port: number }
  const desk = mcpToolset({ url: `http://127.0.0.1:${port}/mcp` }, { tools: ["lend_book"] })
  try {
    return await use(desk)
  } finally {
    await desk.close()
    await served.close()
    http.close()
  }
}

/** The offline model calls the tool that the request names, and quotes its result. */
export const librarian = (tools: McpToolset) =>
  agent({ name: "librarian", model: offlineModel(), tools: [tools] })

if (import.meta.filename === process.argv[1]) {
  const clerk = librarian(library())
  console.log(...(await clerk.run("Find the book Emma.")).outputs)
  await clerk.close()
  await atTheDesk((desk) => librarian(desk).run('Lend the book "Emma", reader: Ada.').result)
  console.log(lent)
}
