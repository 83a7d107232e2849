/** The server on a port of this machine. */
import {
  createServer as createHttpServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerResponse,
} from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { getRequestListener } from "@hono/node-server"
import { SuperstepError } from "@superstep/engine"
import { problem } from "./problem.ts"
import type { Server } from "./server.ts"

export interface ListenOptions {
  /** 0 chooses a free one. Default: 4111. */
  readonly port?: number | undefined
  /** Default: 127.0.0.1, this machine only. */
  readonly host?: string | undefined
  /** Listens to other machines although nobody is authenticated. */
  readonly insecure?: boolean | undefined
  readonly limits?: ListenLimits | undefined
}

/** What one client may take from the others. */
export interface ListenLimits {
  /** At the same time; further ones are closed at once. Default: 10,000. */
  readonly connections?: number | undefined
  /** Milliseconds that a client has to send its headers: at most those for the request. Default: 10,000. */
  readonly headers?: number | undefined
  /** Milliseconds that a client has to send a whole request. Default: 60,000. */
  readonly request?: number | undefined
}

/**
 * A handler of Node's `IncomingMessage` and `ServerResponse`, for `http.createServer` and Express. They are objects here, so
 * that programs without Node's types can import this module.
 */
export function nodeHandler(
  server: Pick<Server, "fetch">,
): (incoming: object, outgoing: object) => Promise<void> {
  const handle = getRequestListener((request) => server.fetch(request))
  return (incoming, outgoing) => handle(incoming as IncomingMessage, outgoing as ServerResponse)
}

export interface Listening {
  readonly port: number
  readonly url: string
  /** Ends streams, and lets other requests finish for at most `grace` milliseconds. */
  close(options?: { readonly grace?: number | undefined }): Promise<void>
}

const DEFAULT_PORT = 4_111
const LOOPBACK = new Set(["127.0.0.1", "::1", "localhost"])
/** How nearly all requests to this machine begin: these need not be parsed. */
const LOOPBACK_URL = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?\//
/** Milliseconds between looks for slow clients. Node's own 30 s would give each of them that much more. */
const LOOK_FOR_SLOW = 5_000
/** Milliseconds that a server that closes waits for the first byte of a connection. Clients open some in advance. */
const FIRST_BYTE_TIMEOUT = 200

export async function listen(server: Server, options: ListenOptions = {}): Promise<Listening> {
  const { port = DEFAULT_PORT, host = "127.0.0.1", insecure = false } = options
  if (server.isOpen && !insecure && !LOOPBACK.has(host)) throw unprotected(host)
  checkLimits(options.limits)
  const { connections = 10_000, request = 60_000, headers = Math.min(10_000, request) } = options.limits ?? {}
  const http = createHttpServer(
    {
      headersTimeout: headers,
      requestTimeout: request,
      connectionsCheckingInterval: Math.min(LOOK_FOR_SLOW, headers, request),
      maxHeaderSize: 16_384,
    },
    nodeHandler(insecure ? server : ofThisMachine(server)),
  )
  http.maxConnections = connections
  const sockets = new Set<Socket>()
  http.on("connection", (socket) => {
    sockets.add(socket)
    socket.once("close", () => sockets.delete(socket))
  })
  // Clients keep connections open for their next request, which a server that closes does not wait for.
  http.prependListener("request", (_, response) => {
    if (!http.listening) response.setHeader("connection", "close")
    response.once("close", () => {
      if (!http.listening) setImmediate(() => http.closeIdleConnections())
    })
  })
  await new Promise<void>((resolve, reject) => {
    http.once("error", reject).listen(port, host, resolve)
  })
  const { port: chosen } = http.address() as AddressInfo
  const shown = host.includes(":") ? `[${host}]` : host
  return {
    port: chosen,
    url: `http://${shown}:${chosen}`,
    close: ({ grace = 10_000 } = {}) => close(http, sockets, server, grace),
  }
}

/**
 * While nobody is authenticated, refuses requests for another name than this machine's. A page of another site reaches a
 * local server under its own name, which it lets resolve to this machine (DNS rebinding).
 */
function ofThisMachine(server: Server): Pick<Server, "fetch"> {
  return {
    fetch(request) {
      // Asked each time: `superstep serve` requires keys from the moment that its store has one.
      if (!server.isOpen || LOOPBACK_URL.test(request.url)) return server.fetch(request)
      const { hostname } = new URL(request.url)
      if (LOOPBACK.has(hostname.replace(/^\[|\]$/g, ""))) return server.fetch(request)
      const text = `This server has no authentication and only answers requests to localhost, not to ${hostname}.`
      return Promise.resolve(problem(403, "NOT_ALLOWED", text))
    },
  }
}

async function close(
  http: HttpServer,
  sockets: ReadonlySet<Socket>,
  server: Server,
  grace: number,
): Promise<void> {
  server.drain()
  const closed = new Promise<void>((resolve) => http.close(() => resolve()))
  http.closeIdleConnections()
  const timers = [
    setTimeout(() => http.closeAllConnections(), grace),
    setTimeout(() => {
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
    }, FIRST_BYTE_TIMEOUT),
  ]
  await closed
  for (const timer of timers) clearTimeout(timer)
}

/** Node would take 0 for no limit at all. */
function checkLimits(limits: ListenLimits = {}): void {
  for (const [name, value] of Object.entries(limits)) {
    if (value === undefined || (Number.isInteger(value) && value >= 1)) continue
    const text = `limits.${name} must be a whole number of at least 1, not ${value}.`
    throw new SuperstepError("OPTION_INVALID", text)
  }
}

function unprotected(host: string): SuperstepError {
  const text = `This server has no authentication, so it does not listen on ${host}, where others can reach it. Set auth, listen on 127.0.0.1, or allow it with insecure: true.`
  return new SuperstepError("OPTION_INVALID", text)
}
