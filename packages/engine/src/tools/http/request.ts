/**
 * HTTP requests with limits: every hop of a redirect is checked like the first, and the response is bounded in size, even
 * after decompression, and in time. All tools that reach the network use it.
 *
 * 1. Nothing is sent to an address that the rules refuse, whether the model, a redirect or a DNS record names it.
 * 2. The caller's headers go only to the origin that they are for: a redirect to another origin drops them, and the body.
 * 3. The socket is closed when the request settles, successfully or not.
 */
import type { IncomingMessage, RequestOptions as NodeRequestOptions } from "node:http"
import { isIP, type LookupFunction } from "node:net"
import { Readable } from "node:stream"
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib"
import { SuperstepError } from "../../core/index.ts"
import { terminalError } from "../../core/internal.ts"
import { type Clock, systemClock } from "../../runtime/index.ts"
import { clipped } from "../../text/index.ts"
import { stoppable, withTimeLimit } from "../time-limit.ts"
import { type CheckedRules, hostOf, type NetworkRules, networkRules } from "./network-rules.ts"

export interface RequestLimits extends NetworkRules {
  /** Milliseconds for the whole request. Default 30,000. */
  readonly timeout?: number | undefined
  /** Bytes of the body, decompressed, to read. Default 2,000,000. */
  readonly maxBytes?: number | undefined
  /** Default 5. */
  readonly maxRedirects?: number | undefined
  /** Resolves a host name. Default: the system's resolver. */
  readonly resolve?: Resolve | undefined
  readonly clock?: Clock | undefined
}

export interface GuardedRequest {
  readonly url: string
  readonly method?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: string | undefined
}

export interface GuardedResponse {
  /** The address after redirects. */
  readonly url: string
  readonly status: number
  /** Lower-case media type without its parameters; empty if the server sent none. */
  readonly type: string
  readonly charset?: string | undefined
  readonly body: Buffer
  /** Whether the body was longer than the limit. */
  readonly truncated: boolean
}

export interface RequestOptions {
  readonly signal: AbortSignal
  /** Called with the media type before the body is read. Throw to reject it. */
  readonly accept?: ((type: string) => void) | undefined
}

const TIMEOUT = 30_000
const MAX_BYTES = 2_000_000
const MAX_REDIRECTS = 5
const REDIRECTS = new Set([301, 302, 303, 307, 308])

/** A function that makes requests under these limits. */
export function guardedRequests(
  limits: RequestLimits,
): (request: GuardedRequest, options: RequestOptions) => Promise<GuardedResponse> {
  const rules = networkRules(limits)
  const { clock = systemClock, timeout = TIMEOUT, maxRedirects = MAX_REDIRECTS, resolve } = limits
  return async (request, options) => {
    const limit = {
      clock,
      milliseconds: timeout,
      signal: options.signal,
      timedOut: () => tooSlow(request.url, timeout),
    }
    return withTimeLimit(limit, async (signal) => {
      const { response, url } = await follow(request, maxRedirects, { rules, resolve, signal })
      try {
        return await readResponse(response, url, limits.maxBytes ?? MAX_BYTES, { ...options, signal })
      } finally {
        response.destroy()
      }
    })
  }
}

async function follow(
  request: GuardedRequest,
  maxRedirects: number,
  options: HopOptions,
): Promise<{ readonly response: IncomingMessage; readonly url: URL }> {
  let hop: Hop = {
    url: toUrl(request.url),
    method: request.method ?? "GET",
    headers: {
      "user-agent": "superstep",
      accept: "*/*",
      "accept-encoding": "gzip, br",
      ...lowerCased(request.headers),
    },
    body: request.body,
  }
  for (let redirects = 0; ; redirects++) {
    const response = await makeHop(hop, options)
    const { location } = response.headers
    const status = response.statusCode ?? 0
    if (!REDIRECTS.has(status) || location === undefined) return { response, url: hop.url }
    response.destroy()
    if (redirects >= maxRedirects) {
      throw terminalError("TOO_MANY_REDIRECTS", `${hop.url.host} redirects more than ${maxRedirects} times.`)
    }
    hop = redirected(hop, location, status)
  }
}

function redirected(hop: Hop, location: string, status: number): Hop {
  const url = toUrl(location, hop.url)
  url.hash ||= hop.url.hash
  const isSame = url.origin === hop.url.origin
  const becomesGet = status === 303 || ((status === 301 || status === 302) && hop.method === "POST")
  if (!isSame && !becomesGet && hop.method !== "GET" && hop.method !== "HEAD") {
    throw terminalError("REDIRECT_REFUSED", `${hop.url.host} redirects a ${hop.method} to ${url.host}.`)
  }
  const { "user-agent": agent = "", accept = "", "accept-encoding": encoding = "" } = hop.headers
  const headers = isSame ? hop.headers : { "user-agent": agent, accept, "accept-encoding": encoding }
  if (!becomesGet || hop.method === "HEAD") {
    return { url, method: hop.method, headers, ...(isSame && { body: hop.body }) }
  }
  const { "content-type": _, "content-length": __, ...kept } = headers
  return { url, method: "GET", headers: kept }
}

async function readResponse(
  response: IncomingMessage,
  url: URL,
  maxBytes: number,
  { accept, signal }: RequestOptions,
): Promise<GuardedResponse> {
  const [first = "", ...parameters] = (response.headers["content-type"] ?? "").split(";")
  const type = first.trim().toLowerCase()
  accept?.(type)
  const charset = /^\s*charset="?([^"]*)/i
  const found = parameters.flatMap((one) => charset.exec(one)?.[1]?.trim() ?? [])
  const read = await readBody(response, maxBytes, signal)
  return { url: url.href, status: response.statusCode ?? 0, type, charset: found[0], ...read }
}

async function readBody(
  response: IncomingMessage,
  maxBytes: number,
  signal: AbortSignal,
): Promise<{ readonly body: Buffer; readonly truncated: boolean }> {
  const stream = decompressed(response)
  const onAbort = () => stream.destroy(signal.reason)
  signal.addEventListener("abort", onAbort, { once: true })
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of stream) {
      chunks.push(chunk)
      size += (chunk as Buffer).length
      if (size > maxBytes) break
    }
  } catch (cause) {
    if (signal.aborted) throw signal.reason
    const text = "The response was interrupted or could not be decompressed."
    throw new SuperstepError("RESPONSE_BROKEN", text, { cause, retryable: true })
  } finally {
    signal.removeEventListener("abort", onAbort)
    stream.destroy()
  }
  return { body: Buffer.concat(chunks).subarray(0, maxBytes), truncated: size > maxBytes }
}

/** Decompresses while it is read, so that a small body cannot become a large one in memory. */
function decompressed(response: IncomingMessage): Readable {
  const encoding = (response.headers["content-encoding"] ?? "identity").trim().toLowerCase()
  if (encoding === "identity" || encoding === "") return response
  const create = DECOMPRESS[encoding]
  if (create === undefined) {
    throw terminalError("RESPONSE_BROKEN", `The response has the unknown encoding "${encoding}".`)
  }
  const stream = create()
  response.once("error", (error) => stream.destroy(error))
  response.once("aborted", () => stream.destroy(new Error("aborted")))
  return response.pipe(stream)
}

const DECOMPRESS: Readonly<Record<string, () => ReturnType<typeof createGunzip>>> = {
  gzip: () => createGunzip(),
  "x-gzip": () => createGunzip(),
  deflate: () => createInflate(),
  br: () => createBrotliDecompress(),
}

/** Header names ignore case; the code above compares them in lower case. */
function lowerCased(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

function toUrl(text: string, base?: URL): URL {
  if (URL.canParse(text, base?.href)) return new URL(text, base)
  throw terminalError("ADDRESS_INVALID", `"${clipped(text, 200)}" is not a URL: write https://host/path.`)
}

function tooSlow(url: string, timeout: number): SuperstepError {
  const host = URL.canParse(url) ? new URL(url).host : "It"
  const text = `${host} took more than ${timeout / 1_000} s.`
  return new SuperstepError("REQUEST_TIMEOUT", text, { retryable: true })
}

export const HTML_TYPES: ReadonlySet<string> = new Set(["text/html", "application/xhtml+xml"])

/** Decodes the body in the character set that the server or the page names; UTF-8 if that one is unknown. */
export function decodeBody({ body, charset, type }: GuardedResponse): string {
  const inPage = HTML_TYPES.has(type)
    ? /<meta[^>]{0,200}charset=["']?([\w-]{1,40})/i.exec(body.toString("latin1", 0, 2_048))
    : null
  for (const label of [charset, inPage?.[1], "utf-8"]) {
    try {
      if (label !== undefined) return new TextDecoder(label).decode(body)
    } catch {
      // Unknown character set: try the next one.
    }
  }
  return body.toString("utf8")
}

const TEXT =
  /^(text\/.+|application\/(.+\+)?(json|xml|yaml|x-yaml|javascript|x-ndjson|ld\+json|rss|atom)|application\/xhtml\+xml|image\/svg\+xml)$/

/** Throws NOT_TEXT. A response without a type counts as text. */
export function mustBeText(type: string): void {
  if (type === "" || TEXT.test(type)) return
  throw terminalError("NOT_TEXT", `The content type is ${clipped(type, 100)}; only text is supported.`)
}

// One HTTP request to a checked address, without redirects. The host name is resolved once, and the connection is made to
// the checked addresses, so that a name cannot resolve to one address when it is checked and to another when it is used.

/** All addresses of a name. */
export type Resolve = (host: string) => Promise<readonly string[]>

interface Hop {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
}

interface HopOptions {
  readonly rules: CheckedRules
  readonly resolve?: Resolve | undefined
  readonly signal: AbortSignal
}

/** The response with its headers; its body is still to be read or destroyed. */
async function makeHop(hop: Hop, options: HopOptions): Promise<IncomingMessage> {
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
  const settings: NodeRequestOptions = {
    method: hop.method,
    headers: hop.headers,
    lookup: pinned(addresses),
    // A new connection, because an existing one may have been opened under other rules.
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
    // Node emits no error event when a server switches protocols unexpectedly.
    request.on("close", () => fail(new Error("it closed the connection")))
    request.end(hop.body)
  })
}

/** Resolves every name to the checked addresses. */
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
  /** Resolves a host name. Default: the system's resolver. */
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
