/** The network rules apply to every request to an MCP server, however its address is determined. */
import { createServer, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"
import { expect, onTestFinished, test } from "vitest"
import { logged, opened } from "./tool-use.test-support.ts"

async function listening(listener: RequestListener): Promise<{ port: number; asked: string[] }> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.headers.host}${request.url}`)
    listener(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    return new Promise<void>((resolve) => server.close(() => resolve()))
  })
  return { port: (server.address() as AddressInfo).port, asked }
}

/** Completes the handshake, and has one tool. */
const greeting: RequestListener = async (request, response) => {
  if (request.method !== "POST") return void response.writeHead(405).end()
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  const { id, method } = JSON.parse(Buffer.concat(parts).toString()) as { id?: number; method: string }
  if (id === undefined) return void response.writeHead(202).end()
  const serverInfo = { name: "here", version: "1" }
  const greeted = { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo }
  const tool = { name: "any", inputSchema: { type: "object" } }
  response.writeHead(200, { "content-type": "application/json" })
  const result = method === "initialize" ? greeted : { tools: [tool] }
  response.end(JSON.stringify({ jsonrpc: "2.0", id, result }))
}

const once = { reconnect: { attempts: 3 } }
const refusal = { code: "MCP_ADDRESS_REFUSED", retryable: false }

test.each(["streamable-http" as const, "sse" as const])(
  "a name that resolves to a private address is not called: %s",
  async (transport) => {
    const { port, asked } = await listening(greeting)
    let lookups = 0
    const resolve = async () => {
      lookups += 1
      return ["127.0.0.1"]
    }
    const address = { url: `http://mcp.example:${port}/mcp`, transport }
    const toolset = opened(address, { ...once, resolve })
    const failure = await Promise.resolve(toolset.tools(logged().ctx)).catch((error) => error)
    expect(failure).toMatchObject(refusal)
    expect(failure.message).toContain("allow_private")
    expect([asked, lookups]).toEqual([[], 1])
  },
)

test("a name with one private address among public ones is not called", async () => {
  const { port, asked } = await listening(greeting)
  const resolve = async () => ["93.184.216.34", "10.0.0.1"]
  const toolset = opened({ url: `http://mcp.example:${port}/mcp` }, { ...once, resolve })
  await expect(toolset.tools(logged().ctx)).rejects.toMatchObject(refusal)
  expect(asked).toEqual([])
})

test("a name that becomes private after the first request is not called again", async () => {
  const { port, asked } = await listening(greeting)
  const answers = [["127.0.0.1"], ["127.0.0.2"]]
  const resolve = async () => answers.shift() ?? ["127.0.0.2"]
  const allowPrivate = ["127.0.0.1"]
  const toolset = opened({ url: `http://mcp.example:${port}/mcp`, allowPrivate }, { ...once, resolve })
  await expect(toolset.tools(logged().ctx)).rejects.toMatchObject(refusal)
  expect(asked).toHaveLength(1)
})

test.each([
  ["allowed by its network", { allowPrivate: ["127.0.0.0/8"] }],
  ["allowed with all private addresses", { allowPrivate: true }],
])("a name that is %s is called", async (_, rules) => {
  const { port } = await listening(greeting)
  const resolve = async () => ["127.0.0.1"]
  const toolset = opened({ url: `http://mcp.example:${port}/mcp`, ...rules }, { resolve })
  expect((await toolset.tools(logged().ctx)).map(({ name }) => name)).toEqual(["any"])
})

test("an explicit IP address is allowed, and no other with it", async () => {
  const { port, asked } = await listening(greeting)
  const named = opened({ url: `http://127.0.0.1:${port}/mcp` })
  expect(await named.tools(logged().ctx)).toHaveLength(1)
  const before = asked.length
  const refused = opened({ url: `http://127.0.0.1:${port}/mcp`, allowPrivate: false }, once)
  await expect(refused.tools(logged().ctx)).rejects.toMatchObject(refusal)
  expect(asked).toHaveLength(before)
})

test("localhost is this machine and nothing else, whatever it resolves to", async () => {
  const { port } = await listening(greeting)
  const url = `http://localhost:${port}/mcp`
  const here = opened({ url }, { resolve: async () => ["127.0.0.1"] })
  expect(await here.tools(logged().ctx)).toHaveLength(1)
  const elsewhere = opened({ url }, { ...once, resolve: async () => ["10.0.0.1"] })
  await expect(elsewhere.tools(logged().ctx)).rejects.toMatchObject(refusal)
})

test("metadata services are refused, even as an explicit address", async () => {
  for (const allowPrivate of [undefined, true]) {
    const toolset = opened({ url: "http://169.254.169.254/mcp", allowPrivate }, once)
    await expect(toolset.tools(logged().ctx)).rejects.toMatchObject(refusal)
  }
})

test("a redirect to another host is not followed, and one within the origin is checked again", async () => {
  const other = await listening(greeting)
  const { port, asked } = await listening(
    (_, response) => void response.writeHead(307, { location: `http://127.0.0.1:${other.port}/mcp` }).end(),
  )
  const toolset = opened({ url: `http://127.0.0.1:${port}/mcp` }, { reconnect: { attempts: 1 } })
  await expect(toolset.tools(logged().ctx)).rejects.toMatchObject({ code: "MCP_FAILED" })
  expect([asked.length > 0, other.asked]).toEqual([true, []])

  const moved = await listening((request, response) =>
    request.url === "/mcp"
      ? void response.writeHead(307, { location: "/new" }).end()
      : greeting(request, response),
  )
  let lookups = 0
  const resolve = async () => [++lookups === 1 ? "127.0.0.1" : "127.0.0.9"]
  const address = { url: `http://mcp.example:${moved.port}/mcp`, allowPrivate: ["127.0.0.1"] }
  await expect(opened(address, { ...once, resolve }).tools(logged().ctx)).rejects.toMatchObject(refusal)
  expect(moved.asked.every((line) => line.endsWith("/mcp"))).toBe(true)
})
