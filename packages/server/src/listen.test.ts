/** The server where it is put: on a port, under a path, with a log. */
import { once } from "node:events"
import { request as httpRequest } from "node:http"
import { connect, type Socket } from "node:net"
import { memoryStore, node, Runtime, workflow } from "@superstep/engine"
import { describe, expect, onTestFinished, test } from "vitest"
import type { RequestLog } from "./access-log.ts"
import { type ListenOptions, listen } from "./listen.ts"
import { createServer, type Server, type ServerOptions } from "./server.ts"

const greet = workflow("greet")
  .start(node("greet", (name: string) => `Hello ${name}`))
  .build()

function serve(options: Partial<ServerOptions> = {}): Server {
  const runtime = new Runtime({ store: memoryStore(), workflows: [greet] })
  onTestFinished(() => runtime.close())
  return createServer({ runtime, workflows: [greet], ...options })
}

/** The status of a request to a port, under a name of the caller's choice. */
async function statusOf(server: Server, options: ListenOptions, host: string): Promise<number | undefined> {
  const listening = await listen(server, { port: 0, ...options })
  const status = await statusAt(listening.port, host)
  await listening.close()
  return status
}

function statusAt(port: number, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    httpRequest(`http://127.0.0.1:${port}/healthz`, { headers: { host } }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
      .on("error", reject)
      .end()
  })
}

test("without authentication only requests to this machine's own names are answered", async () => {
  expect(await statusOf(serve(), {}, "localhost")).toBe(200)
  expect(await statusOf(serve(), {}, "127.0.0.1:80")).toBe(200)
  expect(await statusOf(serve(), {}, "[::1]:80")).toBe(200)
  expect(await statusOf(serve(), {}, "LocalHost:4111")).toBe(200)
  expect(await statusOf(serve(), {}, "2130706433")).toBe(200)
  expect(await statusOf(serve(), {}, "rebound.example")).toBe(403)
  expect(await statusOf(serve(), {}, "localhost.example:4111")).toBe(403)
  expect(await statusOf(serve(), {}, "127.0.0.1.example")).toBe(403)
  expect(await statusOf(serve(), { insecure: true }, "office.example")).toBe(200)
  expect(await statusOf(serve({ auth: () => undefined }), {}, "api.example")).toBe(200)
})

test("as soon as requests need a key, other names are answered too", async () => {
  let isOpen = true
  const { fetch, drain } = serve()
  const server: Server = {
    drain,
    get isOpen() {
      return isOpen
    },
    fetch: (request) => fetch(request),
  }
  const listening = await listen(server, { port: 0 })
  const status = () => statusAt(listening.port, "api.example")
  expect(await status()).toBe(403)
  isOpen = false
  expect(await status()).toBe(200)
  await listening.close()
})

test("under a base path the API answers there, and its addresses lead there", async () => {
  const server = serve({ basePath: "/api/" })
  const start = new Request("http://local/api/v1/workflows/greet/runs", {
    method: "POST",
    headers: { "content-type": "application/json", prefer: "respond-async" },
    body: '{"input":"Ada"}',
  })
  const started = await server.fetch(start)
  expect(started.status).toBe(202)
  const address = started.headers.get("location") as string
  expect(address).toMatch(/^\/api\/v1\/runs\//)
  const events = await server.fetch(new Request(`http://local${address}/events`))
  expect(await events.text()).toContain("Hello Ada")
  const document = await server.fetch(new Request("http://local/api/openapi.json"))
  expect(await document.json()).toMatchObject({ servers: [{ url: "/api" }] })
  for (const path of ["/v1/workflows", "/apiv1/workflows", "/api"]) {
    expect((await server.fetch(new Request(`http://local${path}`))).status).toBe(404)
  }
})

test.each(["api", "/a b", "https://example.com"])("%j is refused as a base path", (basePath) => {
  expect(() => serve({ basePath })).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }))
})

test("the access log has routes and principals, and nothing that a path, a query or a header contains", async () => {
  const log: RequestLog[] = []
  const server = serve({
    onRequest: (entry) => log.push(entry),
    auth: ({ headers }) =>
      headers.get("authorization") === "Bearer canary" ? { id: "ada", role: "viewer" } : undefined,
  })
  const get = (path: string, headers = {}) => server.fetch(new Request(`http://local${path}`, { headers }))
  const authorization = "Bearer canary"
  await get("/v1/runs/canary?cursor=canary", { authorization })
  await get("/canary", { authorization })
  await get("/v1/workflows", { authorization: "Bearer canary-2" })
  expect(log).toMatchObject([
    { method: "GET", route: "/v1/runs/:run", status: 404, principal: "ada" },
    { method: "GET", route: "/*", status: 404, principal: "ada" },
    { method: "GET", route: "/v1/workflows", status: 401, principal: undefined },
  ])
  expect(JSON.stringify(log)).not.toContain("canary")
})

describe("limits", () => {
  async function listening(limits: ListenOptions["limits"], options: Partial<ServerOptions> = {}) {
    const found = await listen(serve(options), { port: 0, limits })
    onTestFinished(() => found.close())
    return found.port
  }
  const opened = async (port: number): Promise<Socket> => {
    const socket = connect(port, "127.0.0.1")
    // A server that closes a connection may reset it.
    socket.on("error", () => undefined)
    onTestFinished(() => void socket.destroy())
    await once(socket, "connect")
    return socket
  }
  /** What the server sent until it closed the connection. */
  const answerTo = async (port: number, text: string): Promise<string> => {
    const socket = await opened(port)
    let answer = ""
    socket.setEncoding("utf8").on("data", (chunk) => {
      answer += chunk
    })
    socket.write(text)
    await once(socket, "close")
    return answer
  }
  const START =
    "POST /v1/workflows/greet/runs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"

  test("a client that does not finish its headers or its body is cut off, and others are answered", async () => {
    const port = await listening({ request: 400 })
    const slow = [
      answerTo(port, "GET /healthz HTTP/1.1\r\nhost: loc"),
      answerTo(port, `${START}content-length: 100\r\n\r\n{"inp`),
    ]
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200)
    for (const answer of await Promise.all(slow)) expect(answer).toMatch(/^(?:HTTP\/1\.1 408|$)/)
  })

  test("headers of more than 16 KB and bodies that are too large are refused, with and without a length", async () => {
    const port = await listening({}, { maxBody: 1_000 })
    const large = JSON.stringify({ input: "x".repeat(2_000) })
    const header = `GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: ${"x".repeat(20_000)}\r\n\r\n`
    expect(await answerTo(port, header)).toMatch(/^HTTP\/1\.1 431 /)
    const counted = `${START}connection: close\r\ncontent-length: ${large.length}\r\n\r\n${large}`
    expect(await answerTo(port, counted)).toMatch(/^HTTP\/1\.1 413 [\s\S]*BODY_TOO_LARGE/)
    const chunk = `${large.length.toString(16)}\r\n${large}\r\n0\r\n\r\n`
    const chunked = `${START}connection: close\r\ntransfer-encoding: chunked\r\n\r\n${chunk}`
    expect(await answerTo(port, chunked)).toMatch(/^HTTP\/1\.1 413 [\s\S]*BODY_TOO_LARGE/)
  })

  test("a body without a type is refused before all of it has arrived, and is no problem of the server", async () => {
    const problems: unknown[] = []
    const port = await listening({}, { onProblem: (problem) => problems.push(problem) })
    const socket = await opened(port)
    const untyped = "POST /v1/workflows/greet/runs HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer x\r\n"
    socket.write(`${untyped}content-length: 50\r\n\r\n{"input":`)
    const [answer] = await once(socket.setEncoding("utf8"), "data")
    expect(answer).toMatch(/^HTTP\/1\.1 415 /)
    expect(problems).toEqual([])
  })

  test.each([{ connections: 0 }, { headers: -1 }, { request: 1.5 }])("%j is refused", async (limits) => {
    await expect(listening(limits)).rejects.toMatchObject({ code: "OPTION_INVALID" })
  })

  test("further connections are closed at once, and one that ends makes room", async () => {
    const port = await listening({ connections: 2 })
    const [first] = [await opened(port), await opened(port)]
    const refused = await opened(port)
    await once(refused, "close")
    first?.end()
    if (first !== undefined) await once(first, "close")
    await expect
      .poll(
        async () =>
          await fetch(`http://127.0.0.1:${port}/healthz`).then(
            ({ status }) => status,
            () => 0,
          ),
      )
      .toBe(200)
  })
})
