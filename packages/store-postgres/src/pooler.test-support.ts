/**
 * A pooler in transaction mode: each transaction of a client goes to another connection to the server, in turns. Whoever
 * relies on a session (prepared statements, SET, LISTEN, session locks) finds another one.
 */
import { type AddressInfo, createServer, type Socket } from "node:net"
import pg from "pg"
import { onTestFinished } from "vitest"

const CONNECTIONS = 3

export interface Pooler {
  readonly url: string
  /** Which kinds of messages clients have sent, by their letter. */
  readonly sent: Map<string, number>
}

export async function transactionPooler(target: string): Promise<Pooler> {
  const upstreams = await Promise.all(Array.from({ length: CONNECTIONS }, () => upstream(target)))
  const free = [...upstreams]
  const waiting: ((socket: Socket) => void)[] = []
  const sent = new Map<string, number>()

  function take(): Promise<Socket> {
    const socket = free.shift()
    return socket === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(socket)
  }
  function giveBack(socket: Socket): void {
    const next = waiting.shift()
    if (next === undefined) free.push(socket)
    else next(socket)
  }

  const server = createServer((client) => {
    client.on("error", () => client.destroy())
    const read = messageReader(true)
    let current: Socket | undefined
    let queue: Buffer[] = []
    let handling = Promise.resolve()
    /** Sends what is complete, and passes back what comes until the server is ready for the next statement. */
    const handle = async (messages: readonly Buffer[]) => {
      current ??= await take()
      const socket = current
      const status = await exchange(socket, Buffer.concat(messages), client)
      if (status !== "I") return
      current = undefined
      giveBack(socket)
    }
    client.on("data", (data) => {
      for (const { type, bytes } of read(data)) {
        if (type === "startup") {
          client.write(WELCOME)
          continue
        }
        sent.set(type, (sent.get(type) ?? 0) + 1)
        if (type === "X") return void client.end()
        queue.push(bytes)
        if (type !== "S" && type !== "Q") continue
        const messages = queue
        queue = []
        handling = handling.then(() => handle(messages))
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  onTestFinished(() => {
    for (const socket of upstreams) socket.destroy()
    server.close()
  })
  const url = new URL(target)
  url.port = String((server.address() as AddressInfo).port)
  return { url: url.href, sent }
}

/** A connection that has logged in, as bytes. */
async function upstream(target: string): Promise<Socket> {
  const client = new pg.Client({ connectionString: target })
  // Its socket is taken away from it below.
  client.on("error", () => undefined)
  await client.connect()
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection
  stream.removeAllListeners("data")
  stream.on("error", () => undefined)
  return stream
}

/** The state of the transaction when the server is ready again: I (none), T or E. */
function exchange(server: Socket, request: Buffer, client: Socket): Promise<string> {
  const read = messageReader(false)
  return new Promise((resolve) => {
    const onData = (data: Buffer) => {
      client.write(data)
      for (const { type, bytes } of read(data)) {
        if (type !== "Z") continue
        server.off("data", onData)
        resolve(String.fromCharCode(bytes[5] as number))
      }
    }
    server.on("data", onData)
    server.write(request)
  })
}

interface Message {
  readonly type: string
  readonly bytes: Buffer
}

/** Cuts a stream into messages. A client's first one has no type. */
function messageReader(startsUp: boolean): (data: Buffer) => Message[] {
  let rest = Buffer.alloc(0)
  let isFirst = startsUp
  return (data) => {
    rest = Buffer.concat([rest, data])
    const messages: Message[] = []
    for (;;) {
      const head = isFirst ? 0 : 1
      if (rest.length < head + 4) return messages
      const length = head + rest.readInt32BE(head)
      if (rest.length < length) return messages
      const type = isFirst ? "startup" : String.fromCharCode(rest[0] as number)
      messages.push({ type, bytes: rest.subarray(0, length) })
      rest = rest.subarray(length)
      isFirst = false
    }
  }
}

/** Logged in, without a password; ready. */
const WELCOME = Buffer.from([
  ...[0x52, 0, 0, 0, 8, 0, 0, 0, 0],
  ...[0x4b, 0, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0, 1],
  ...[0x5a, 0, 0, 0, 5, 0x49],
])
