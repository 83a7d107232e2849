/** A real HTTP server on 127.0.0.1 whose answers a test defines. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

interface Asked {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage["headers"]
  readonly body: string
}

export interface LoopbackServer {
  readonly port: number
  readonly asked: Asked[]
  /** Resolves when all connections are closed. */
  closed(): Promise<void>
  close(): Promise<void>
}

export type Answer = (request: Asked, response: ServerResponse) => void

export async function loopbackServer(answer: Answer): Promise<LoopbackServer> {
  const asked: Asked[] = []
  let connections = 0
  let wake: () => void = () => undefined
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on("data", (chunk) => chunks.push(chunk))
    request.on("end", () => {
      const one = {
        method: request.method ?? "",
        url: request.url ?? "",
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      }
      asked.push(one)
      answer(one, response)
    })
  })
  server.on("connection", (socket) => {
    connections++
    socket.once("close", () => {
      connections--
      wake()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    async closed() {
      while (connections > 0) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
