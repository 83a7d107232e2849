/** An MCP server of the official SDK with a tool for everything that a server may do, good and bad. */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import type { ServerNotification } from "@modelcontextprotocol/sdk/types.js"
import { z } from "zod"

interface Extra {
  readonly signal: AbortSignal
  readonly _meta?: { readonly progressToken?: string | number | undefined } | undefined
  readonly sendNotification: (notification: ServerNotification) => Promise<void>
}

const text = (content: string) => ({ content: [{ type: "text" as const, text: content }] })

async function progress({ _meta, sendNotification }: Extra, done: number, message: string): Promise<void> {
  const progressToken = _meta?.progressToken
  if (progressToken === undefined) return
  const params = { progressToken, progress: done, total: 3, message }
  await sendNotification({ method: "notifications/progress", params })
}

export function everythingServer(): McpServer {
  const server = new McpServer(
    { name: "everything", version: "1.0.0" },
    { instructions: "Use echo for everything." },
  )
  const cancelled: string[] = []

  server.registerTool("echo", { description: "Says it back.", inputSchema: { text: z.string() } }, (args) =>
    text(args.text),
  )
  server.registerTool(
    "add",
    {
      description: "Adds two numbers.",
      inputSchema: { a: z.number(), b: z.number() },
      outputSchema: { sum: z.number() },
      annotations: { readOnlyHint: true },
    },
    ({ a, b }) => ({ ...text(JSON.stringify({ sum: a + b })), structuredContent: { sum: a + b } }),
  )
  server.registerTool("fail", { description: "Fails." }, () => ({ ...text("no such file"), isError: true }))
  server.registerTool("env", { description: "Its variables." }, () => text(JSON.stringify(process.env)))
  server.registerTool("pid", { description: "Its process." }, () => text(String(process.pid)))
  server.registerTool("crash", { description: "Dies." }, () => {
    process.stderr.write("out of cheese\n", () => process.exit(3))
    return new Promise(() => undefined)
  })
  server.registerTool("hang", { description: "Never answers." }, async (extra) => {
    extra.signal.addEventListener("abort", () => cancelled.push("hang"))
    await progress(extra, 1, "hanging")
    return await new Promise(() => undefined)
  })
  server.registerTool("cancelled", { description: "What was cancelled." }, () => text(cancelled.join()))
  server.registerTool("work", { description: "Tells how far it is." }, async (extra) => {
    for (const done of [1, 2, 3]) await progress(extra, done, `part ${done}`)
    return text("done")
  })
  server.registerTool("big", { description: "Much text.", inputSchema: { size: z.number() } }, ({ size }) =>
    text("x".repeat(size)),
  )
  server.registerTool("noise", { description: "Answers after a line that is no message." }, () => {
    process.stdout.write("Debugger attached.\n")
    return text("still here")
  })
  server.registerTool("garble", { description: "Breaks its answer." }, async (extra) => {
    process.stdout.write('{"jsonrpc":"2.0","id":5,"result":{\n')
    await progress(extra, 1, "garbled")
    return await new Promise(() => undefined)
  })
  server.registerTool("image", { description: "An image and a word." }, () => ({
    content: [
      { type: "text", text: "here" },
      { type: "image", data: "AAAA", mimeType: "image/png" },
    ],
  }))
  server.registerTool("grow", { description: "Learns another tool." }, () => {
    server.registerTool("later", { description: "Came later." }, () => text("late"))
    return text("grown")
  })
  server.registerTool("read.file", { description: "A name that providers refuse." }, () => text("dot"))
  server.registerTool("read_file", { description: "A name that another comes down to." }, () => text("line"))

  server.registerPrompt(
    "greet",
    { description: "A greeting.", argsSchema: { name: z.string() } },
    ({ name }) => ({ messages: [{ role: "user", content: { type: "text", text: `Greet ${name}.` } }] }),
  )
  server.registerResource("memo", "memo://one", { mimeType: "text/plain" }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: "text/plain", text: "Buy milk." }],
  }))
  server.registerResource("photo", "memo://photo", { mimeType: "image/png" }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: "image/png", blob: "AAAA" }],
  }))
  return server
}
