/**
 * One HTTP request to a checked address, without redirects. The name is looked up once, here; the connection is made to the
 * addresses that were found and checked, so that a name cannot mean one thing when it is checked and another when it is used.
 */
import type { IncomingMessage, RequestOptions } from "node:http"
import { isIP, type LookupFunction } from "node:net"
import { Readable } from "node:stream"
import { SuperstepError } from "../../core/index.ts"
import { terminalError } from "../../core/internal.ts"
import { stoppable } from "../time-limit.ts"
import { type CheckedRules, hostOf, type NetworkRules, networkRules } from "./network-rules.ts"

/** All addresses of a name. */
export type Resolve = (host: string) => Promise<readonly string[]>

export interface Hop {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
}

export interface HopOptions {
  readonly rules: CheckedRules
  readonly resolve?: Resolve | undefined
  readonly signal: AbortSignal
}

/** The response with its headers; its body is still to be read or destroyed. */
export async function makeHop(hop: Hop, options: HopOptions): Promise<IncomingMessage> {
  options.rules.checkUrl(hop.url)
  const host = hostOf(hop.url)
  const addresses = isIP(host) === 0 ? await findAddresses(host, options) : [host]
  options.rules.checkAddresses(host, addresses)
  options.signal.throwIfAborted()
  return await send(hop, addresses, options)
}

async function findAddresses(
  host: string,
  { resolve = systemResolve, signal }: HopOptions,
): Promise<readonly string[]> {
  try {
    return await stoppable(signal, () => resolve(host))
  } catch (cause) {
    if (signal.aborted) throw signal.reason
    const text = `The host ${host} does not exist or could not be resolved.`
    const retryable = (cause as Partial<NodeJS.ErrnoException>).code === "EAI_AGAIN"
    throw new SuperstepError("HOST_NOT_FOUND", text, { cause, retryable })
  }
}

async function systemResolve(host: string): Promise<readonly string[]> {
  const { lookup } = await import("node:dns/promises")
  const found = await lookup(host, { all: true, verbatim: true })
  return found.map(({ address }) => address)
}

async function send(
  hop: Hop,
  addresses: readonly string[],
  { rules, signal }: HopOptions,
): Promise<IncomingMessage> {
  // Loaded with the first request: most programs that have tools make none.
  const { request: start } = await (hop.url.protocol === "https:"
    ? import("node:https")
    : import("node:http"))
  const settings: RequestOptions = {
    method: hop.method,
    headers: hop.headers,
    lookup: pinned(addresses),
    // A new connection, never one that was opened under other rules.
    agent: false,
    signal,
  }
  return await new Promise((resolve, reject) => {
    const fail = (cause: unknown) => reject(signal.aborted ? signal.reason : failed(hop.url, cause))
    const request = start(hop.url, settings, (response) => {
      const remote = response.socket.remoteAddress
      try {
        rules.checkAddresses(hostOf(hop.url), remote === undefined ? [] : [remote])
        resolve(response)
      } catch (error) {
        response.destroy()
        reject(error)
      }
    })
    request.on("error", fail)
    // There is no error event when a server switches to another protocol unasked.
    request.on("close", () => fail(new Error("it closed the connection")))
    request.end(hop.body)
  })
}

/** Answers with the checked addresses, whatever the name is. */
function pinned(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_host, options, callback) => {
    const [first] = found
    if (options.all === true) callback(null, found)
    else callback(null, first?.address ?? "", first?.family ?? 0)
  }
}

function failed(url: URL, cause: unknown): SuperstepError {
  const { code, message } = cause as Partial<NodeJS.ErrnoException>
  const text = `${hostOf(url)} could not be reached: ${code ?? message ?? "unknown error"}.`
  return new SuperstepError("REQUEST_FAILED", text, { cause, retryable: true })
}

export interface CheckedFetchOptions extends NetworkRules {
  /** Looks a name up. Default: as the system does. */
  readonly resolve?: Resolve | undefined
}

/** Statuses of responses that have no body, as `Response` requires. */
const NO_BODY = new Set([101, 204, 205, 304])

/**
 * `fetch` that obeys the network rules, for clients that take a `fetch`. It follows no redirect: the caller gets the
 * response, and each further request is checked like the first.
 */
export function checkedFetch(
  options: CheckedFetchOptions,
): (url: string | URL, init?: RequestInit) => Promise<Response> {
  const rules = networkRules(options)
  return async (url, init = {}) => {
    const { body, method = "GET" } = init
    if (body !== undefined && body !== null && typeof body !== "string") {
      throw terminalError("REQUEST_INVALID", "The body of a request must be a string here.")
    }
    const headers = Object.fromEntries(new Headers(init.headers))
    const hop = { url: new URL(url), method, headers, ...(typeof body === "string" && { body }) }
    const signal = init.signal ?? new AbortController().signal
    const response = await makeHop(hop, { rules, resolve: options.resolve, signal })
    const { statusCode: status = 0, statusMessage: statusText = "", rawHeaders } = response
    const content = NO_BODY.has(status) ? null : (Readable.toWeb(response) as ReadableStream<Uint8Array>)
    const received = new Headers()
    for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
      received.append(rawHeaders[i] as string, rawHeaders[i + 1] as string)
    }
    return new Response(content, { status, statusText, headers: received })
  }
}
