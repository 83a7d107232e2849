/** A server in between that breaks connections: before a statement reaches PostgreSQL, or after it was done and before its answer arrives. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { onTestFinished } from "vitest"

export type Break = "before" | "after"

export interface Proxy {
  readonly url: string
  /** How many connections it has broken. */
  readonly broken: number
  /** Asked for everything that a client sends: whether and when the connection breaks. */
  breaks: (sent: Buffer) => Break | undefined
  /** Breaks all connections, and refuses new ones until `open`. */
  shut(): void
  open(): void
  /** Nothing gets through, and nothing breaks, until `thaw`. */
  freeze(): void
  thaw(): void
}

export async function breakingProxy(target: string): Promise<Proxy> {
  const { hostname, port } = new URL(target)
  const pairs = new Set<readonly [Socket, Socket]>()
  let isShut = false
  let isFrozen = false
  const proxy = { url: "", broken: 0, breaks: () => undefined } as unknown as Proxy & {
    url: string
    broken: number
  }

  const server = createServer((client) => {
    if (isShut) return void client.destroy()
    const upstream = connect(Number(port), hostname)
    const pair = [client, upstream] as const
    pairs.add(pair)
    let isAfter = false
    const end = () => {
      pairs.delete(pair)
      client.destroy()
      upstream.destroy()
    }
    for (const socket of pair) {
      socket.on("error", end)
      socket.on("close", end)
      if (isFrozen) socket.pause()
    }
    client.on("data", (sent) => {
      const when = proxy.breaks(sent)
      if (when !== undefined) proxy.broken += 1
      if (when === "before") return end()
      isAfter ||= when === "after"
      upstream.write(sent)
    })
    upstream.on("data", (received) => {
      if (isAfter) end()
      else client.write(received)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = new URL(target)
  address.port = String((server.address() as AddressInfo).port)
  proxy.url = address.href
  proxy.shut = () => {
    isShut = true
    for (const [client] of pairs) client.destroy()
  }
  proxy.open = () => {
    isShut = false
  }
  proxy.freeze = () => {
    isFrozen = true
    for (const socket of [...pairs].flat()) socket.pause()
  }
  proxy.thaw = () => {
    isFrozen = false
    for (const socket of [...pairs].flat()) socket.resume()
  }
  onTestFinished(() => {
    for (const [client] of pairs) client.destroy()
    server.close()
  })
  return proxy
}
