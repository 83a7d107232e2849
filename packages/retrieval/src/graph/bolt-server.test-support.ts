/**
 * A server that speaks Bolt 5.2, for Neo4j's own driver. It does not parse Cypher: the test provides the results. Tests
 * can inspect everything that it received.
 */

import type { AddressInfo } from "node:net"
import { createServer, type Socket } from "node:net"
import { onTestFinished } from "vitest"
import { pack, Structure, unpack } from "./packstream.test-support.ts"

export interface Asked {
  readonly cypher: string
  readonly params: Record<string, unknown>
  /** The fields of BEGIN: `mode`, `db`, `tx_timeout`. */
  readonly transaction: Record<string, unknown>
}

export type BoltAnswer =
  | { readonly fields: readonly string[]; readonly rows: Iterable<readonly unknown[]> }
  | { readonly code: string; readonly message: string }
  /** `silence`: no answer until a RESET; `deaf` ignores even that. */
  | "silence"
  | "deaf"

export interface BoltServer {
  readonly url: string
  readonly port: number
  /** Messages in order, by their names. */
  readonly received: readonly string[]
  readonly asked: readonly Asked[]
  readonly connections: number
  /** Rows that were sent. */
  readonly rows: number
}

const NAMES = new Map([
  [0x01, "HELLO"],
  [0x02, "GOODBYE"],
  [0x0f, "RESET"],
  [0x10, "RUN"],
  [0x11, "BEGIN"],
  [0x12, "COMMIT"],
  [0x13, "ROLLBACK"],
  [0x2f, "DISCARD"],
  [0x3f, "PULL"],
  [0x6a, "LOGON"],
  [0x6b, "LOGOFF"],
])
const SUCCESS = 0x70
const RECORD = 0x71
const IGNORED = 0x7e
const FAILURE = 0x7f

export interface BoltServerOptions {
  /** The message from which on a connection gets no answers. */
  readonly deafFrom?: string
}

export async function boltServer(
  answer: (asked: Asked) => BoltAnswer,
  { deafFrom }: BoltServerOptions = {},
): Promise<BoltServer> {
  const state = { received: [] as string[], asked: [] as Asked[], connections: 0, rows: 0 }
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    state.connections += 1
    sockets.add(socket.setNoDelay())
    socket.on("error", () => undefined)
    serve(socket, answer, state, deafFrom)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return Object.assign(state, { url: `bolt://127.0.0.1:${port}`, port })
}

interface Shared {
  readonly received: string[]
  readonly asked: Asked[]
  rows: number
}

function serve(
  socket: Socket,
  answer: (asked: Asked) => BoltAnswer,
  shared: Shared,
  deafFrom: string | undefined,
): void {
  let transaction: Record<string, unknown> = {}
  let rows: Iterator<readonly unknown[]> | undefined
  let mood: "ready" | "failed" | "silence" | "deaf" = "ready"

  const send = (tag: number, fields: readonly unknown[]) => {
    const bytes = pack(new Structure(tag, fields))
    const chunks: Uint8Array[] = []
    for (let at = 0; at < bytes.length; at += 0xffff) {
      const chunk = bytes.subarray(at, at + 0xffff)
      chunks.push(Buffer.of(chunk.length >> 8, chunk.length & 0xff), chunk)
    }
    socket.write(Buffer.concat([...chunks, Buffer.of(0, 0)]))
  }
  const fail = (code: string, message: string) => {
    mood = "failed"
    send(FAILURE, [{ code, message }])
  }
  const run = (asked: Asked) => {
    shared.asked.push(asked)
    const reply = answer(asked)
    if (reply === "silence" || reply === "deaf") mood = reply
    else if ("code" in reply) fail(reply.code, reply.message)
    else {
      rows = reply.rows[Symbol.iterator]()
      send(SUCCESS, [{ fields: reply.fields, t_first: 0n }])
    }
  }
  const pull = (count: number) => {
    for (let sent = 0; sent < count; sent += 1) {
      const next = rows?.next()
      if (next === undefined || next.done === true) return send(SUCCESS, [{ type: "r", t_last: 0n }])
      shared.rows += 1
      send(RECORD, [next.value])
    }
    send(SUCCESS, [{ has_more: true }])
  }
  const logon = ({ credentials }: Record<string, unknown>) => {
    if (credentials === "wrong") fail("Neo.ClientError.Security.Unauthorized", "The client is unauthorized.")
    else send(SUCCESS, [{}])
  }
  const hear = ({ tag, fields }: Structure) => {
    const name = NAMES.get(tag) ?? tag.toString(16)
    shared.received.push(name)
    if (name === deafFrom) mood = "deaf"
    if (mood === "deaf") return
    if (name === "GOODBYE") return void socket.end()
    if (name === "RESET") {
      if (mood === "silence") send(IGNORED, [])
      mood = "ready"
      rows = undefined
      return send(SUCCESS, [{}])
    }
    if (mood === "silence") return
    if (mood === "failed") return send(IGNORED, [])
    const [first, second] = fields as Record<string, unknown>[]
    if (name === "HELLO") send(SUCCESS, [{ server: "Neo4j/5.26.0", connection_id: "bolt-1", hints: {} }])
    else if (name === "LOGON") logon(first ?? {})
    else if (name === "BEGIN") {
      transaction = first ?? {}
      send(SUCCESS, [{}])
    } else if (name === "RUN") run({ cypher: String(first), params: second ?? {}, transaction })
    else if (name === "PULL") pull(Number(first?.n))
    else send(SUCCESS, [{}])
  }
  listen(socket, hear)
}

/** The handshake, then messages of one or more chunks. */
function listen(socket: Socket, hear: (message: Structure) => void): void {
  let unread = Buffer.alloc(0)
  let message: Buffer[] = []
  let isGreeted = false
  socket.on("data", (data) => {
    unread = Buffer.concat([unread, data])
    if (!isGreeted) {
      if (unread.length < 20) return
      isGreeted = true
      unread = unread.subarray(20)
      socket.write(Buffer.of(0, 0, 2, 5))
    }
    while (unread.length >= 2) {
      const size = unread.readUInt16BE(0)
      if (unread.length < 2 + size) return
      const chunk = unread.subarray(2, 2 + size)
      unread = unread.subarray(2 + size)
      if (size > 0) message.push(chunk)
      else if (message.length > 0) {
        const whole = Buffer.concat(message)
        message = []
        hear(unpack(whole) as Structure)
      }
    }
  })
}

export function node(id: bigint, labels: readonly string[], properties: object): Structure {
  return new Structure(0x4e, [id, labels, properties, `4:x:${id}`])
}

export function relationship(
  id: bigint,
  type: string,
  from: bigint,
  to: bigint,
  properties: object,
): Structure {
  return new Structure(0x52, [id, from, to, type, properties, `5:x:${id}`, `4:x:${from}`, `4:x:${to}`])
}
