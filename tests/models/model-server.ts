/**
 * A server of models on this machine: real HTTP, real sockets. Each request gets the next reply that a test has prepared;
 * an unexpected request is refused, so that an extra call is noticed. A request that the provider of its address would
 * refuse is refused here too, in that provider's words (`rules/`), and takes no reply.
 */
import { once } from "node:events"
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { ProviderRules } from "./rules/provider-rules.ts"

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
  /** Why requests were refused; an empty list shows that a provider would have taken them all. */
  readonly refusals: readonly string[]
  /** What the next requests get, in order. */
  serve(...replies: ServedReply[]): void
  /** The n-th request, counted from 1, when it has come. */
  requested(n: number): Promise<ServedRequest>
  close(): Promise<void>
}

export async function modelServer(): Promise<ModelServer> {
  const replies: ServedReply[] = []
  const requests: ServedRequest[] = []
  const refusals: string[] = []
  const rules = new ProviderRules()
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
    expected.get(requests.push(request))?.(request)
    const path = request.path.split("?")[0] ?? ""
    const refusal = rules.refusal(path, request.body)
    if (refusal !== undefined) {
      const text = JSON.stringify(refusal.body)
      refusals.push(text)
      response.writeHead(refusal.status, { "content-type": "application/json" }).end(text)
      return
    }
    const reply = replies.shift()
    onWritten(response, (written) => rules.answered(path, request.body, written))
    if (reply !== undefined) return reply(response, request)
    response.writeHead(418).end(JSON.stringify({ error: { message: "unexpected request" } }))
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    refusals,
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

/** Passes on all that was written when the response ends. */
function onWritten(response: ServerResponse, ended: (written: string) => void): void {
  let written = ""
  const observed = (method: "write" | "end") => {
    const original = response[method].bind(response) as (...args: unknown[]) => unknown
    return (...args: unknown[]) => {
      if (typeof args[0] === "string") written += args[0]
      if (method === "end") ended(written)
      return original(...args)
    }
  }
  Object.assign(response, { write: observed("write"), end: observed("end") })
}
