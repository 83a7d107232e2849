/**
 * A server of models on this machine: real HTTP, real sockets. Each request gets the next reply that a test has prepared;
 * one that nobody prepared for is refused, so that a call too many is seen.
 */
import { once } from "node:events"
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

interface ServedRequest {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The JSON that came. */
  readonly body: Record<string, unknown>
  /** Resolves when the connection is gone before the reply was whole. */
  readonly hungUp: Promise<void>
}

/** Writes a reply, whole or not. */
export type ServedReply = (response: ServerResponse, request: ServedRequest) => void | Promise<void>

export interface ModelServer {
  readonly url: string
  readonly requests: readonly ServedRequest[]
  /** What the next requests get, in order. */
  serve(...replies: ServedReply[]): void
  /** The n-th request, counted from 1, when it has come. */
  requested(n: number): Promise<ServedRequest>
  close(): Promise<void>
}

export async function modelServer(): Promise<ModelServer> {
  const replies: ServedReply[] = []
  const requests: ServedRequest[] = []
  const expected = new Map<number, (request: ServedRequest) => void>()

  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    const request: ServedRequest = {
      path: incoming.url ?? "",
      headers: incoming.headers,
      body: JSON.parse(Buffer.concat(chunks).toString() || "{}"),
      hungUp: new Promise((resolve) => {
        response.on("close", () => {
          if (!response.writableFinished) resolve()
        })
      }),
    }
    const reply = replies.shift()
    expected.get(requests.push(request))?.(request)
    if (reply !== undefined) return reply(response, request)
    response.writeHead(418).end(JSON.stringify({ error: { message: "nobody expected this request" } }))
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    serve: (...more) => void replies.push(...more),
    requested(n) {
      const request = requests[n - 1]
      return request === undefined
        ? new Promise((resolve) => expected.set(n, resolve))
        : Promise.resolve(request)
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    },
  }
}
