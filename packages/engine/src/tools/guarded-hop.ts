/**
 * One HTTP request to an address that was checked, and no redirects. The name is looked up once, by us; the
 * connection is made to the addresses that were found and checked, so that a name cannot mean one thing when it
 * is checked and another when it is used.
 */
import type { IncomingMessage, RequestOptions } from "node:http"
import { isIP, type LookupFunction } from "node:net"
import { SuperstepError } from "../core/index.ts"
import { type CheckedRules, hostOf } from "./network-rules.ts"
import { stoppable } from "./time-limit.ts"

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
  readonly resolve: Resolve
  readonly signal: AbortSignal
}

export const systemResolve: Resolve = async (host) => {
  const { lookup } = await import("node:dns/promises")
  const found = await lookup(host, { all: true, verbatim: true })
  return found.map(({ address }) => address)
}

/** The response with its headers; its body is still to be read, or to be destroyed. */
export async function makeHop(hop: Hop, options: HopOptions): Promise<IncomingMessage> {
  options.rules.checkUrl(hop.url)
  const host = hostOf(hop.url)
  const addresses = isIP(host) === 0 ? await findAddresses(host, options) : [host]
  options.rules.checkAddresses(host, addresses)
  options.signal.throwIfAborted()
  return await send(hop, addresses, options)
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
    // A connection of its own, never one that was opened under other rules.
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
    // Nobody tells of an error when a server changes to another protocol unasked.
    request.on("close", () => fail(new Error("it broke the connection off")))
    request.end(hop.body)
  })
}

/** Answers with the checked addresses, whatever it is asked. */
function pinned(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_host, options, callback) => {
    const [first] = found
    if (options.all === true) callback(null, found)
    else callback(null, first?.address ?? "", first?.family ?? 0)
  }
}

async function findAddresses(host: string, { resolve, signal }: HopOptions): Promise<readonly string[]> {
  try {
    return await stoppable(signal, () => resolve(host))
  } catch (cause) {
    if (signal.aborted) throw signal.reason
    throw new SuperstepError(
      "HOST_NOT_FOUND",
      `There is no host called ${host}, or its name could not be looked up.`,
      { cause, retryable: (cause as Partial<NodeJS.ErrnoException>).code === "EAI_AGAIN" },
    )
  }
}

function failed(url: URL, cause: unknown): SuperstepError {
  const { code, message } = cause as Partial<NodeJS.ErrnoException>
  return new SuperstepError(
    "REQUEST_FAILED",
    `${hostOf(url)} could not be reached: ${code ?? message ?? "unknown error"}.`,
    {
      cause,
      retryable: true,
    },
  )
}
