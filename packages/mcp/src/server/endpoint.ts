/**
 * MCP over HTTP as a fetch handler: streamable HTTP. Revision 2026-07-28 has no sessions: any process answers any request.
 * Earlier revisions have one for each client, because a client answers forms and cancels calls in requests of their own: in
 * this process, or with `shared` in every process of a store.
 *
 * E1 A session belongs to the client that opened it. For any other it does not exist.
 * E2 A client has at most `maxSessions`: a new one replaces its session that was idle longest, never one with a pending
 *    call. A client that uses that one again starts a new session, as the protocol defines.
 */
import { randomUUID } from "node:crypto"
import {
  createMcpHandler,
  isLegacyRequest,
  type JSONRPCMessage,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server"
import type { Json, Store } from "@superstep/engine"
import type { ServedTools } from "./served-tools.ts"
import { newSession, type Session, type SessionOptions } from "./session.ts"
import { type KnownSession, SharedSessions } from "./shared-sessions.ts"

export interface McpClient {
  /** Who sends the request. */
  readonly id: string
  readonly tools: ServedTools
}

export interface McpEndpointOptions extends SessionOptions {
  /** Of one client. Default 100. */
  readonly maxSessions?: number | undefined
  /** The records of the store, if other servers of it answer the same clients. Default: sessions are in this process. */
  readonly shared?: Store["records"] | undefined
}

export interface McpEndpoint {
  /** `body`: already parsed. */
  fetch(request: Request, client: McpClient, body?: unknown): Promise<Response>
  close(): Promise<void>
}

interface HttpSession extends Session {
  readonly owner: string
  /** Begins the ids of this process's requests to the client: a session has the same client in every process. */
  readonly tag: string
  /** The ids of forms that the client has not answered, if the session is shared. */
  readonly forms: Set<string>
  readonly transport: WebStandardStreamableHTTPServerTransport
}

const JSON_RPC_REFUSED = -32_000
const JSON_RPC_NO_SESSION = -32_001

export function mcpEndpoint(options: McpEndpointOptions = {}): McpEndpoint {
  const { maxSessions = 100 } = options
  const shared = options.shared === undefined ? undefined : new SharedSessions(options.shared)
  const closing = new AbortController()
  // In the order of their last use.
  const sessions = new Map<string, HttpSession>()
  let isReceiving = false
  const modern = createMcpHandler(
    ({ authInfo }) => newSession(authInfo?.extra?.tools as ServedTools, options).server,
    { legacy: "reject" },
  )

  const open = async ({ id: owner, tools }: McpClient, known?: string): Promise<HttpSession> => {
    const session = newSession(tools, options)
    const tag = `${randomUUID()}:`
    const forms = new Set<string>()
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => known ?? shared?.newId() ?? randomUUID(),
      onsessioninitialized: (id) => {
        sessions.set(id, { ...session, owner, transport, tag, forms })
      },
    })
    if (shared !== undefined) {
      const send = transport.send.bind(transport)
      transport.send = (message, sent) => {
        const own = tagged(message, tag, forms)
        // Its answer may arrive at another server.
        if (forms.size > 0) void receive()
        return send(own, sent)
      }
    }
    session.server.onclose = () => {
      if (transport.sessionId !== undefined) sessions.delete(transport.sessionId)
    }
    await session.server.connect(transport)
    return { ...session, owner, transport, tag, forms }
  }

  /** The session as another process has opened it. */
  const adopted = async (
    id: string,
    client: McpClient,
    { initialize }: KnownSession,
  ): Promise<HttpSession> => {
    const session = await open(client, id)
    for (const message of [
      { jsonrpc: "2.0", id: 0, method: "initialize", params: initialize },
      { jsonrpc: "2.0", method: "notifications/initialized" },
    ]) {
      const headers = { ...JSON_HEADERS, ...(message.id === undefined && { "mcp-session-id": id }) }
      const request = new Request("http://localhost/mcp", { method: "POST", headers })
      const response = await session.transport.handleRequest(request, { parsedBody: message })
      await response.text()
    }
    return session
  }

  const find = async (id: string, client: McpClient): Promise<HttpSession | undefined> => {
    const local = sessions.get(id)
    if (shared === undefined) return local
    const known = await shared.find(id)
    // H1
    if (known === undefined) await local?.server.close()
    if (known?.owner !== client.id) return undefined
    return local ?? (await adopted(id, client, known))
  }

  const makeRoom = async (client: McpClient): Promise<boolean> => {
    const own = [...sessions.values()].filter(({ owner }) => owner === client.id)
    if (own.length < maxSessions) return true
    const quiet = own.find(({ calls, forms }) => calls() === 0 && forms.size === 0)
    await quiet?.server.close()
    return quiet !== undefined
  }

  /** Whether a message of a client is for a call of this process. */
  const take = (id: string, message: unknown): boolean => {
    const session = sessions.get(id)
    const { id: answered, method } = message as { readonly id?: unknown; readonly method?: unknown }
    if (session === undefined) return false
    if (method === undefined) {
      if (typeof answered !== "string" || !answered.startsWith(session.tag)) return false
      session.forms.delete(answered)
      const own = { ...(message as object), id: Number(answered.slice(session.tag.length)) }
      session.transport.onmessage?.(own as never)
      return true
    }
    session.transport.onmessage?.(message as never)
    // Others may have the call that it cancels.
    return false
  }

  const receive = async (): Promise<void> => {
    if (shared === undefined || isReceiving) return
    isReceiving = true
    const isWaiting = () => [...sessions.values()].some((one) => one.calls() > 0 || one.forms.size > 0)
    try {
      await shared.receive(isWaiting, take, closing.signal)
    } catch {
      // The store is away: the next request tries again.
    } finally {
      isReceiving = false
    }
  }

  /** Answers of forms and cancellations, which are for the process with the call. */
  const passed = async (id: string, message: unknown): Promise<boolean> => {
    const { id: answered, method } = Object(message) as { readonly id?: unknown; readonly method?: unknown }
    const isAnswer = method === undefined && answered !== undefined
    if (shared === undefined || !(isAnswer || method === "notifications/cancelled")) return false
    if (!take(id, message)) await shared.pass(id, message as Json)
    return true
  }

  return {
    async fetch(request, client, body) {
      const parsed = body === undefined ? {} : { parsedBody: body }
      if (!(await isLegacyRequest(request, body))) {
        const authInfo = { token: "", clientId: client.id, scopes: [], extra: { tools: client.tools } }
        return await modern.fetch(request, { authInfo, ...parsed })
      }
      const message = shared === undefined ? undefined : (body ?? (await messageOf(request)))
      const id = request.headers.get("mcp-session-id")
      if (id !== null) {
        const known = await find(id, client)
        if (known?.owner !== client.id) return refusal(404, JSON_RPC_NO_SESSION, "Session not found")
        sessions.delete(id)
        sessions.set(id, known)
        if (request.method === "DELETE") await shared?.end(id)
        if (await passed(id, message)) return new Response(null, { status: 202 })
        const response = await known.transport.handleRequest(request, parsed)
        void receive()
        return response
      }
      if (!(await makeRoom(client))) return refusal(503, JSON_RPC_REFUSED, "Too many sessions")
      const session = await open(client)
      const response = await session.transport.handleRequest(request, parsed)
      const { sessionId } = session.transport
      // The request did not initialize a session, and got an error.
      if (sessionId === undefined) await session.server.close()
      else await shared?.open(sessionId, { owner: client.id, initialize: paramsOf(message) })
      return response
    },
    async close() {
      closing.abort()
      await modern.close()
      for (const { server } of [...sessions.values()]) await server.close()
    },
  }
}

/** A request to the client, or its cancellation, with an id that no other process uses. */
function tagged(message: JSONRPCMessage, tag: string, forms: Set<string>): JSONRPCMessage {
  if (!("method" in message)) return message
  if ("id" in message) {
    const id = tag + message.id
    forms.add(id)
    return { ...message, id }
  }
  if (message.method !== "notifications/cancelled") return message
  const { requestId, ...params } = Object(message.params) as { readonly requestId?: unknown }
  const id = `${tag}${String(requestId)}`
  forms.delete(id)
  return { ...message, params: { ...params, requestId: id } }
}

const JSON_HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" }

async function messageOf(request: Request): Promise<unknown> {
  if (request.method !== "POST") return undefined
  // Whatever is wrong with it, the transport reports.
  return await request
    .clone()
    .json()
    .catch(() => undefined)
}

function paramsOf(message: unknown): Json {
  return (Object(message) as { readonly params?: Json }).params ?? {}
}

export function refusal(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: "2.0", error: { code, message }, id: null }, { status })
}
