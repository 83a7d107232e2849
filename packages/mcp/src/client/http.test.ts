/** A toolset against servers on loopback: streamable HTTP, the older SSE, and servers that disconnect or misbehave. */
import { randomUUID } from "node:crypto"
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http"
import type { AddressInfo } from "node:net"
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js"
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { manualClock } from "@superstep/engine/testing"
import { expect, onTestFinished, test } from "vitest"
import { everythingServer } from "./everything-server.test-support.ts"
import { logged, opened, toolNamed, use, value } from "./tool-use.test-support.ts"

/** For a clock that is advanced while real requests take time. */
const patient = { timeout: 1e12, connectTimeout: 1e12 }

async function listening(
  listener: RequestListener,
  port = 0,
): Promise<{ url: string; port: number; stop(): Promise<void> }> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve))
  const stop = () => stopped(server)
  onTestFinished(stop)
  const { port: bound } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${bound}/mcp`, port: bound, stop }
}

function stopped(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(() => resolve()))
}

/** Sessions of the official server. */
function everythingOnHttp(seen: (request: IncomingMessage) => void = () => undefined): RequestListener {
  const sessions = new Map<string, StreamableHTTPServerTransport>()
  return async (request, response) => {
    seen(request)
    const id = request.headers["mcp-session-id"]
    const known = typeof id === "string" ? sessions.get(id) : undefined
    if (known !== undefined) return await known.handleRequest(request, response)
    if (id !== undefined) return void response.writeHead(404).end("Session not found")
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (made) => void sessions.set(made, transport),
      onsessionclosed: (made) => void sessions.delete(made),
    })
    await everythingServer().connect(transport as Transport)
    await transport.handleRequest(request, response)
  }
}

/** Completes the handshake, and leaves every tool call to the test. */
function greeting(onCall: (id: number, response: ServerResponse) => void): RequestListener {
  return async (request, response) => {
    if (request.method !== "POST") return void response.writeHead(405).end()
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const { id, method } = JSON.parse(Buffer.concat(parts).toString()) as { id?: number; method: string }
    if (id === undefined) return void response.writeHead(202).end()
    if (method === "tools/call") return onCall(id, response)
    const tool = { name: "any", inputSchema: { type: "object" } }
    const serverInfo = { name: "broken", version: "1" }
    const greeted = { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo }
    const result = method === "initialize" ? greeted : { tools: [tool] }
    response.writeHead(200, { "content-type": "application/json" })
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result }))
  }
}

test("a server on streamable HTTP is used like a program: tools, progress, prompts, resources", async () => {
  const { url } = await listening(everythingOnHttp())
  const toolset = opened({ url })
  expect(await value(await toolNamed(toolset, "echo"), { text: "hello" })).toBe("hello")
  expect(await value(await toolNamed(toolset, "add"), { a: 1, b: 2 })).toEqual({ sum: 3 })
  const task = logged()
  await use(await toolNamed(toolset, "work"), {}, task)
  expect(task.lines).toHaveLength(3)
  expect(await toolset.listPrompts()).toHaveLength(1)
  expect(await toolset.listResources()).toHaveLength(2)
})

test("K2 a task that is stopped cancels its call over HTTP too", async () => {
  const { url } = await listening(everythingOnHttp())
  const toolset = opened({ url })
  const task = logged()
  const stop = new AbortController()
  const hanging = use(await toolNamed(toolset, "hang"), {}, { ctx: task.ctx, signal: stop.signal })
  await task.until("hanging")
  stop.abort(new Error("enough"))
  await expect(hanging).rejects.toThrow("enough")
  expect(await value(await toolNamed(toolset, "cancelled"))).toBe("hang")
})

test("headers are sent with every request, and closing ends the session", async () => {
  const seen: string[] = []
  const { url } = await listening(
    everythingOnHttp(({ method, headers }) => void seen.push(`${method} ${headers.authorization}`)),
  )
  const toolset = opened({ url, headers: { authorization: "Bearer hunter2-hunter2" } })
  await toolset.tools(logged().ctx)
  await toolset.close()
  expect(new Set(seen.map((line) => line.replace(/^\S+ /, "")))).toEqual(new Set(["Bearer hunter2-hunter2"]))
  expect(seen.at(-1)).toMatch(/^DELETE/)
})

test.each(["streamable-http" as const, "sse" as const])(
  "K3 a server that refuses our credentials is not retried, and the error does not repeat them: %s",
  async (transport) => {
    let requests = 0
    const { url } = await listening((_, response) => {
      requests += 1
      response.writeHead(401).end("Bearer hunter2-hunter2 is not welcome")
    })
    const toolset = opened({
      name: "strict",
      url,
      transport,
      headers: { authorization: "Bearer hunter2-hunter2" },
    })
    const failure = await Promise.resolve(toolset.tools(logged().ctx)).catch((error) => error)
    expect(failure).toMatchObject({ code: "MCP_UNAUTHORIZED", retryable: false })
    expect(JSON.stringify(failure, Object.getOwnPropertyNames(failure))).not.toContain("hunter2")
    expect(requests).toBe(1)
  },
)

test("an error page that repeats a header is reported with the header masked, and only its beginning", async () => {
  const { url } = await listening((_, response) => {
    response.writeHead(500).end(`key-12345 ${"x".repeat(1_000_000)}`)
  })
  const toolset = opened({ url, headers: { "x-api-key": "key-12345" } }, { reconnect: { attempts: 1 } })
  const failure = await Promise.resolve(toolset.tools(logged().ctx)).catch((error) => error)
  expect(failure).toMatchObject({ code: "MCP_FAILED", message: expect.stringContaining("[secret]") })
  expect(failure.message).not.toContain("key-12345")
  expect(failure.message.length).toBeLessThan(2_000)
})

test("a redirect to another origin is not followed: headers stay with their server", async () => {
  const elsewhere: string[] = []
  const thief = await listening(({ headers }, response) => {
    elsewhere.push(String(headers.authorization))
    response.end()
  })
  const { url } = await listening(
    (_, response) => void response.writeHead(307, { location: thief.url }).end(),
  )
  const toolset = opened(
    { url, headers: { authorization: "Bearer hunter2" } },
    { reconnect: { attempts: 1 } },
  )
  await expect(toolset.tools(logged().ctx)).rejects.toMatchObject({ code: "MCP_FAILED" })
  expect(elsewhere).toEqual([])
})

test("S4 a server that lost the session gets a new one, and the undelivered call is repeated", async () => {
  const clock = manualClock()
  let server = everythingOnHttp()
  const { url } = await listening((request, response) => server(request, response))
  const toolset = opened({ url }, { ...patient, clock, reconnect: { delay: 10 } })
  const echo = await toolNamed(toolset, "echo")
  server = everythingOnHttp()
  let outcome: unknown
  use(echo, { text: "again" }).then((known) => {
    outcome = known
  })
  while (outcome === undefined) await clock.advance(10)
  expect(outcome).toEqual({ ok: true, value: "again" })
})

test.each(["streamable-http" as const, "sse" as const])(
  "an unreachable server is reported after its attempts: %s",
  async (transport) => {
    const clock = manualClock()
    const gone = await listening(() => undefined)
    await gone.stop()
    const reconnect = { attempts: 3, delay: 10 }
    const toolset = opened({ name: "gone", url: gone.url, transport }, { ...patient, clock, reconnect })
    let failure: unknown
    Promise.resolve(toolset.tools(logged().ctx)).catch((error) => {
      failure = error
    })
    while (failure === undefined) await clock.advance(10)
    expect(failure).toMatchObject({
      code: "MCP_UNREACHABLE",
      message: expect.stringContaining("is unreachable"),
    })
  },
)

test("F2 a stream that is interrupted before its answer fails the call at once", async () => {
  const { url } = await listening(
    greeting((_, response) => {
      response
        .writeHead(200, { "content-type": "text/event-stream" })
        .write(": hello\n\n", () => response.destroy())
    }),
  )
  const outcome = await use(await toolNamed(opened({ url }), "any"))
  expect(outcome).toMatchObject({ ok: false, error: { code: "MCP_DISCONNECTED" } })
})

test("F2 a stream that ends without its answer fails the call at once", async () => {
  const { url } = await listening(
    greeting((_, response) => void response.writeHead(200, { "content-type": "text/event-stream" }).end()),
  )
  const outcome = await use(await toolNamed(opened({ url }), "any"))
  expect(outcome).toMatchObject({ ok: false, error: { code: "MCP_DISCONNECTED" } })
})

const answer = (id: number, text: string) =>
  JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } })

test.each([
  [
    "an event stream",
    "text/event-stream",
    (id: number) => `event: message\ndata: ${answer(id, "x".repeat(200_000))}\n\n`,
  ],
  ["a plain body", "application/json", (id: number) => answer(id, "x".repeat(200_000))],
])("F1 an answer past the limit is not read to its end: %s", async (_, type, body) => {
  const { url } = await listening(
    greeting((id, response) => void response.writeHead(200, { "content-type": type }).end(body(id))),
  )
  const outcome = await use(await toolNamed(opened({ url }, { maxMessage: 100_000 }), "any"))
  expect(outcome).toMatchObject({ ok: false, error: { code: "MCP_MESSAGE_TOO_LARGE" } })
})

test.each([
  ["JSON that is broken", "application/json", '{"jsonrpc":"2.0","id":'],
  ["a page for people", "text/html", "<h1>Welcome</h1>"],
])("an answer that is %s fails the call, not the process", async (_, type, body) => {
  const { url } = await listening(
    greeting((__, response) => void response.writeHead(200, { "content-type": type }).end(body)),
  )
  const outcome = await use(await toolNamed(opened({ url }), "any"))
  expect(outcome).toMatchObject({ ok: false, error: { code: "MCP_FAILED" } })
})

test("an invalid answer is rejected", async () => {
  const { url } = await listening(
    greeting((id, response) => {
      response.writeHead(200, { "content-type": "application/json" })
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result: { content: "no list" } }))
    }),
  )
  const outcome = await use(await toolNamed(opened({ url }), "any"))
  expect(outcome).toMatchObject({ ok: false, error: { code: "MCP_ANSWER_INVALID" } })
})

test("a server on the older SSE transport works the same way, and is reconnected after an interruption", async () => {
  const transports = new Map<string, SSEServerTransport>()
  const { url } = await listening(async (request, response) => {
    if (request.method === "GET") {
      const transport = new SSEServerTransport("/mcp", response)
      transports.set(transport.sessionId, transport)
      return await everythingServer().connect(transport)
    }
    const id = new URL(request.url ?? "", "http://x").searchParams.get("sessionId") ?? ""
    await transports.get(id)?.handlePostMessage(request, response)
  })
  const clock = manualClock()
  const toolset = opened({ url, transport: "sse" }, { clock, reconnect: { delay: 10 } })
  expect(await value(await toolNamed(toolset, "echo"), { text: "hello" })).toBe("hello")
  const task = logged()
  const hanging = use(await toolNamed(toolset, "hang"), {}, task)
  await task.until("hanging")
  for (const transport of transports.values()) await transport.close()
  expect(await hanging).toMatchObject({ ok: false, error: { code: "MCP_DISCONNECTED" } })
  const again = toolNamed(toolset, "echo")
  await clock.advance(10)
  expect(await value(await again, { text: "again" })).toBe("again")
})
