/** A TCP proxy between a client and servers: balances connections, and cuts them where a test wants. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { onTestFinished } from "vitest"

export interface TcpProxy {
  readonly url: string
  /** The ports of servers, in turns; a server that refuses the connection is skipped. */
  targets: readonly number[]
}

/** `cutAfter` says after how many bytes from the server a connection is cut; undefined: never. */
export async function tcpProxy(cutAfter: () => number | undefined = () => undefined): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  const proxy = { url: "", targets: [] as readonly number[] }
  let turn = 0

  function join(client: Socket, refused: number): void {
    const port = proxy.targets[turn++ % proxy.targets.length]
    if (port === undefined || refused > proxy.targets.length) return void client.destroy()
    const server = keep(connect(port, "127.0.0.1"))
    server.once("error", () => (server.connecting ? undefined : client.destroy()))
    server.once("connect", () => {
      let left = cutAfter() ?? Number.POSITIVE_INFINITY
      server.on("data", (bytes) => {
        client.write(bytes.subarray(0, left))
        left -= bytes.length
        if (left > 0) return
        client.destroySoon()
        server.destroy()
      })
      server.once("end", () => client.end())
      client.pipe(server)
    })
    server.once("close", (hadError) => {
      if (hadError && server.bytesRead === 0 && server.bytesWritten === 0) join(client, refused + 1)
      else client.destroySoon()
    })
    client.once("close", () => server.destroy())
  }

  function keep(socket: Socket): Socket {
    sockets.add(socket)
    socket.on("error", () => undefined)
    return socket.once("close", () => sockets.delete(socket))
  }

  const listener = createServer((client) => join(keep(client), 0))
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    listener.close()
  })
  proxy.url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`
  return proxy
}
