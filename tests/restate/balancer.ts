/** A balancer of connections before workers: each new connection goes to the next worker that accepts it. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net"

export interface Balancer {
  readonly port: number
  /** The ports of the workers, in their places; undefined: there is none at present. */
  readonly targets: (number | undefined)[]
  /** Nothing gets through, and nothing breaks, until `thaw`. */
  freeze(): void
  thaw(): void
  close(): void
}

export async function balancer(targets: (number | undefined)[]): Promise<Balancer> {
  const sockets = new Set<Socket>()
  let turn = 0
  let isFrozen = false
  const server = createServer({ noDelay: true }, (client) => {
    sockets.add(client)
    const end = () => {
      sockets.delete(client)
      client.destroy()
    }
    client.on("error", end).on("close", end)
    if (isFrozen) client.pause()
    const attempt = (left: number) => {
      if (left === 0) return end()
      const port = targets[turn++ % targets.length]
      if (port === undefined) return attempt(left - 1)
      const worker = connect({ port, host: "127.0.0.1", noDelay: true })
      const refuse = () => attempt(left - 1)
      worker.once("error", refuse)
      worker.once("connect", () => {
        worker.off("error", refuse)
        sockets.add(worker)
        const both = () => {
          sockets.delete(worker)
          worker.destroy()
          end()
        }
        worker.on("error", both).on("close", both)
        client.on("close", both)
        client.pipe(worker)
        worker.pipe(client)
      })
    }
    attempt(targets.length)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    targets,
    freeze() {
      isFrozen = true
      for (const socket of sockets) socket.pause()
    },
    thaw() {
      isFrozen = false
      for (const socket of sockets) socket.resume()
    },
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
