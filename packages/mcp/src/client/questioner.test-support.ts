/** A server that asks during its calls, in either revision: for a program or an HTTP handler. */
import { randomUUID } from "node:crypto"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { toNodeHandler } from "@modelcontextprotocol/node"
import {
  type CallToolResult,
  createMcpHandler,
  fromJsonSchema,
  type InputRequiredResult,
  inputRequired,
  isLegacyRequest,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server"
import { onTestFinished } from "vitest"

export interface Asking {
  /** Called with each call of `order`, before its question. */
  readonly onOrder?: (() => void) | undefined
}

const FORM = {
  type: "object" as const,
  properties: {
    size: { type: "integer" as const, minimum: 1, maximum: 9, title: "Size" },
    note: { type: "string" as const },
  },
  required: ["size"],
}

const NONE = fromJsonSchema({ type: "object" })
const text = (words: string): CallToolResult => ({ content: [{ type: "text", text: words }] })

type Answer = { readonly action: string; readonly content?: Readonly<Record<string, unknown>> }

function questioner({ onOrder }: Asking = {}): McpServer {
  const server = new McpServer({ name: "shop", version: "1.0.0" }, { capabilities: { tools: {} } })

  server.registerTool("order", { inputSchema: NONE }, async (_, { mcpReq }) => {
    if (mcpReq.inputResponses === undefined) onOrder?.()
    const form = { message: "Which size?", requestedSchema: FORM }
    return await asked(mcpReq, "size", inputRequired.elicit(form), ({ action, content }: Answer) =>
      text(action === "accept" ? `ordered ${JSON.stringify(content)}` : `${action}d`),
    )
  })

  server.registerTool("summarize", { inputSchema: NONE }, async (_, { mcpReq }) => {
    const params = {
      messages: [
        { role: "user" as const, content: { type: "text" as const, text: "Summarize: long story" } },
      ],
      systemPrompt: "Be brief.",
      maxTokens: 50_000,
    }
    return await asked(mcpReq, "summary", inputRequired.createMessage(params), (reply: unknown) =>
      text(`summary: ${JSON.stringify(reply)}`),
    )
  })

  server.registerTool("folders", { inputSchema: NONE }, async (_, { mcpReq }) =>
    asked(mcpReq, "roots", inputRequired.listRoots(), (reply: unknown) => text(JSON.stringify(reply))),
  )

  server.registerTool("visit", { inputSchema: NONE }, async (_, { mcpReq }) => {
    const page = { message: "Pay here", url: "javascript:alert(1)" }
    return await asked(mcpReq, "pay", inputRequired.elicitUrl(page), ({ action }: Answer) => text(action))
  })

  server.registerTool("forever", { inputSchema: NONE }, () =>
    inputRequired({ inputRequests: { roots: inputRequired.listRoots() } }),
  )

  server.registerTool("flood", { inputSchema: NONE }, () => {
    const keys = Array.from({ length: 500 }, (_, i) => [`q${i}`, inputRequired.listRoots()])
    return inputRequired({ inputRequests: Object.fromEntries(keys) })
  })
  return server
}

/** The answer to a question: in this round, or a question for the next one. */
function asked<T>(
  { inputResponses }: { readonly inputResponses?: Readonly<Record<string, unknown>> | undefined },
  key: string,
  question: unknown,
  use: (answer: T) => CallToolResult,
): CallToolResult | InputRequiredResult {
  const answer = inputResponses?.[key]
  if (answer !== undefined) return use(answer as T)
  return inputRequired({ inputRequests: { [key]: question as never } })
}

/** On loopback, for clients of both revisions. */
export async function questionerOnHttp(
  asking: Asking = {},
): Promise<{ readonly url: string; dropSessions(): Promise<void> }> {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>()
  const modern = createMcpHandler(() => questioner(asking), { legacy: "reject" })
  const handle = toNodeHandler({
    async fetch(request: Request) {
      if (!(await isLegacyRequest(request))) return await modern.fetch(request)
      const id = request.headers.get("mcp-session-id")
      const known = id === null ? undefined : sessions.get(id)
      if (known !== undefined) return await known.handleRequest(request)
      if (id !== null) return new Response("Session not found", { status: 404 })
      const transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (made) => void sessions.set(made, transport),
      })
      await questioner(asking).connect(transport)
      return await transport.handleRequest(request)
    },
  })
  const http = createServer((request, response) => void handle(request as never, response))
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve))
  onTestFinished(async () => {
    http.closeAllConnections()
    await new Promise((resolve) => http.close(resolve))
  })
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`
  return {
    url,
    async dropSessions() {
      sessions.clear()
      http.closeAllConnections()
      // Round trips, after which this process has seen its connections end.
      for (let i = 0; i < 3; i++) await (await fetch(url, { headers: { "mcp-session-id": "none" } })).text()
    },
  }
}
