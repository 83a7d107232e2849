/**
 * The server as a handler of Node's HTTP server: any number of clients, each with a session.
 *
 * H1 A web page cannot reach it: hosts and origins other than this machine are refused unless they are allowed.
 * H2 There are at most `maxSessions`: a new client replaces the session that was idle longest, never one with a pending
 *    call. Its client starts a new session when it returns, as the protocol defines.
 */
import { randomUUID } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import type { ServedTools, ServeMcpOptions } from "./served-tools.ts"
import { newSession, type Session } from "./session.ts"

export interface HttpTransport {
  readonly transport: "http"
  /** Host names, without ports, that clients may use besides those of this machine. */
  readonly allowedHosts?: readonly string[] | undefined
  /** Origins of web pages that may call it: `https://app.example`. */
  readonly allowedOrigins?: readonly string[] | undefined
  /** Default 100. */
  readonly maxSessions?: number | undefined
}

export interface HttpMcpServer {
  /** For `http.createServer`, or a route of your own server, which authorizes clients. `body`: already parsed. */
  handle(request: IncomingMessage, response: ServerResponse, body?: unknown): Promise<void>
  close(): Promise<void>
}

interface HttpSession extends Session {
  readonly transport: StreamableHTTPServerTransport
}

const JSON_RPC_REFUSED = -32_000
const JSON_RPC_NO_SESSION = -32_001

export function serveOnHttp(
  tools: ServedTools,
  options: ServeMcpOptions,
  http: HttpTransport,
): HttpMcpServer {
  // In the order of their last use.
  const sessions = new Map<string, HttpSession>()
  const { maxSessions = 100 } = http

  const open = async (): Promise<HttpSession> => {
    const session = newSession(tools, options)
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        sessions.set(id, { ...session, transport })
      },
    })
    session.server.onclose = () => {
      if (transport.sessionId !== undefined) sessions.delete(transport.sessionId)
    }
    // The SDK's own class does not fit its own interface under exactOptionalPropertyTypes.
    await session.server.connect(transport as Transport)
    return { ...session, transport }
  }

  const makeRoom = async (): Promise<boolean> => {
    if (sessions.size < maxSessions) return true
    const quiet = [...sessions.values()].find(({ calls }) => calls() === 0)
    await quiet?.server.close()
    return quiet !== undefined
  }

  const route = async (request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void> => {
    const refusal = whyRefused(request, http)
    if (refusal !== undefined) return refuse(response, 403, JSON_RPC_REFUSED, refusal)
    const id = request.headers["mcp-session-id"]
    if (typeof id === "string") {
      const known = sessions.get(id)
      if (known === undefined) return refuse(response, 404, JSON_RPC_NO_SESSION, "Session not found")
      sessions.delete(id)
      sessions.set(id, known)
      return await known.transport.handleRequest(request, response, body)
    }
    if (!(await makeRoom())) return refuse(response, 503, JSON_RPC_REFUSED, "Too many sessions")
    const session = await open()
    await session.transport.handleRequest(request, response, body)
    // The request did not initialize a session, and got an error.
    if (session.transport.sessionId === undefined) await session.server.close()
  }

  return {
    async handle(request, response, body) {
      try {
        await route(request, response, body)
      } catch {
        // Nobody awaits the handler of a request: only the client sees its failure.
        if (response.headersSent) response.destroy()
        else refuse(response, 500, JSON_RPC_REFUSED, "The request could not be handled")
      }
    },
    async close() {
      for (const { server } of [...sessions.values()]) await server.close()
      await tools.close()
    },
  }
}

const OWN_HOSTS = ["localhost", "127.0.0.1", "[::1]"]

function whyRefused({ headers }: IncomingMessage, http: HttpTransport): string | undefined {
  const { allowedHosts = [], allowedOrigins = [] } = http
  const hosts = [...OWN_HOSTS, ...allowedHosts.map((host) => host.toLowerCase())]
  const { host = "", origin } = headers
  if (!hosts.includes(hostName(`http://${host}`))) return "This host is not allowed. Add it to allowedHosts."
  if (origin === undefined || allowedOrigins.includes(origin) || OWN_HOSTS.includes(hostName(origin)))
    return undefined
  return "This origin is not allowed. Add it to allowedOrigins."
}

function hostName(address: string): string {
  return URL.canParse(address) ? new URL(address).hostname : ""
}

function refuse(response: ServerResponse, status: number, code: number, message: string): void {
  response.writeHead(status, { "content-type": "application/json" })
  response.end(JSON.stringify({ jsonrpc: "2.0", error: { code, message }, id: null }))
}
