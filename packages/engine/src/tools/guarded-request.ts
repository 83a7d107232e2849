/**
 * An HTTP request with limits: every hop of its redirects is checked like the first, what is read is bounded in
 * size (also after it was unpacked) and in time. Used by all tools that reach the network.
 *
 * 1. Nothing is sent to an address that the rules refuse, whoever names it: the model, a redirect, a name's records.
 * 2. Headers that a caller gives go to the host that they were given for; after a redirect to another origin
 *    they are left out, as is the body.
 * 3. The socket is closed when this settles, however it does.
 */
import type { IncomingMessage } from "node:http"
import type { Readable } from "node:stream"
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib"
import { SuperstepError } from "../core/index.ts"
import { type Clock, systemClock } from "../runtime/index.ts"
import { type Hop, makeHop, type Resolve, systemResolve } from "./guarded-hop.ts"
import { type CheckedRules, type NetworkRules, networkRules } from "./network-rules.ts"

export interface RequestLimits extends NetworkRules {
  /** Milliseconds for all of it. Default 30,000. */
  readonly timeout?: number | undefined
  /** Bytes of the body, unpacked, that are read. Default 2,000,000. */
  readonly maxBytes?: number | undefined
  /** Default 5. */
  readonly maxRedirects?: number | undefined
  /** Looks a name up. Default: as the system does. */
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
  /** Where it came from in the end. */
  readonly url: string
  readonly status: number
  /** Lower-case media type without its parameters; empty when the server did not say. */
  readonly type: string
  readonly charset?: string | undefined
  readonly body: Buffer
  /** True when the body was longer than is read. */
  readonly truncated: boolean
}

export interface RequestOptions {
  readonly signal: AbortSignal
  /** Called with the type before the body is read: throw to refuse it. */
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
  const clock = limits.clock ?? systemClock
  const timeout = limits.timeout ?? TIMEOUT

  return async (request, options) => {
    options.signal.throwIfAborted()
    const stop = new AbortController()
    const onAbort = () => stop.abort(options.signal.reason)
    options.signal.addEventListener("abort", onAbort, { once: true })
    const disarm = clock.setTimer(clock.now() + timeout, () => stop.abort(tooSlow(request.url, timeout)))
    try {
      const { response, url } = await follow(request, limits, rules, stop.signal)
      try {
        return await readResponse(response, url, limits, options, stop.signal)
      } finally {
        response.destroy()
      }
    } finally {
      disarm()
      options.signal.removeEventListener("abort", onAbort)
    }
  }
}

async function follow(
  request: GuardedRequest,
  limits: RequestLimits,
  rules: CheckedRules,
  signal: AbortSignal,
): Promise<{ readonly response: IncomingMessage; readonly url: URL }> {
  const resolve = limits.resolve ?? systemResolve
  const most = limits.maxRedirects ?? MAX_REDIRECTS
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
    const response = await makeHop(hop, { rules, resolve, signal })
    const { location } = response.headers
    if (!REDIRECTS.has(response.statusCode ?? 0) || location === undefined) return { response, url: hop.url }
    response.destroy()
    if (redirects >= most) {
      throw new SuperstepError("TOO_MANY_REDIRECTS", `${hop.url.host} redirects more than ${most} times.`, {
        retryable: false,
      })
    }
    hop = redirected(hop, location, response.statusCode ?? 0)
  }
}

function redirected(hop: Hop, location: string, status: number): Hop {
  const url = toUrl(location, hop.url)
  url.hash ||= hop.url.hash
  const isSame = url.origin === hop.url.origin
  const becomesGet = status === 303 || ((status === 301 || status === 302) && hop.method === "POST")
  if (!isSame && !becomesGet && hop.method !== "GET" && hop.method !== "HEAD") {
    throw new SuperstepError(
      "REDIRECT_REFUSED",
      `${hop.url.host} redirects a ${hop.method} to ${url.host}.`,
      {
        retryable: false,
      },
    )
  }
  const { "user-agent": agent = "", accept = "", "accept-encoding": encoding = "" } = hop.headers
  const headers = isSame ? hop.headers : { "user-agent": agent, accept, "accept-encoding": encoding }
  if (!becomesGet || hop.method === "HEAD") {
    return { url, method: hop.method, headers, ...(isSame ? { body: hop.body } : {}) }
  }
  const { "content-type": _, "content-length": __, ...kept } = headers
  return { url, method: "GET", headers: kept }
}

async function readResponse(
  response: IncomingMessage,
  url: URL,
  limits: RequestLimits,
  options: RequestOptions,
  signal: AbortSignal,
): Promise<GuardedResponse> {
  const [type = "", ...parameters] = (response.headers["content-type"] ?? "")
    .split(";")
    .map((part) => part.trim())
  options.accept?.(type.toLowerCase())
  const charset = parameters
    .find((one) => /^charset=/i.test(one))
    ?.slice(8)
    .replaceAll('"', "")
  const { body, truncated } = await readBody(response, limits.maxBytes ?? MAX_BYTES, signal)
  return {
    url: url.href,
    status: response.statusCode ?? 0,
    type: type.toLowerCase(),
    charset,
    body,
    truncated,
  }
}

async function readBody(
  response: IncomingMessage,
  maxBytes: number,
  signal: AbortSignal,
): Promise<{ readonly body: Buffer; readonly truncated: boolean }> {
  const stream = unpacked(response)
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
    throw new SuperstepError("RESPONSE_BROKEN", "The response broke off or could not be unpacked.", {
      cause,
      retryable: true,
    })
  } finally {
    signal.removeEventListener("abort", onAbort)
    stream.destroy()
  }
  return { body: Buffer.concat(chunks).subarray(0, maxBytes), truncated: size > maxBytes }
}

/** Unpacks as it is read, so that a small body cannot become a large one in memory. */
function unpacked(response: IncomingMessage): Readable {
  const encoding = (response.headers["content-encoding"] ?? "identity").trim().toLowerCase()
  if (encoding === "identity" || encoding === "") return response
  const make = UNPACK[encoding]
  if (make === undefined) {
    throw new SuperstepError(
      "RESPONSE_BROKEN",
      `The response is packed as "${encoding}", which is not known.`,
      {
        retryable: false,
      },
    )
  }
  const unpack = make()
  response.once("error", (error) => unpack.destroy(error))
  response.once("aborted", () => unpack.destroy(new Error("aborted")))
  return response.pipe(unpack)
}

const UNPACK: Readonly<Record<string, () => ReturnType<typeof createGunzip>>> = {
  gzip: () => createGunzip(),
  "x-gzip": () => createGunzip(),
  deflate: () => createInflate(),
  br: () => createBrotliDecompress(),
}

/** So that a name in another case does not escape what is said here about headers. */
function lowerCased(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

function toUrl(text: string, base?: URL): URL {
  try {
    return new URL(text, base)
  } catch {
    throw new SuperstepError(
      "ADDRESS_INVALID",
      `"${text.slice(0, 200)}" is no address: write https://host/path.`,
      {
        retryable: false,
      },
    )
  }
}

function tooSlow(url: string, timeout: number): SuperstepError {
  const host = URL.canParse(url) ? new URL(url).host : "It"
  return new SuperstepError("REQUEST_TIMEOUT", `${host} took more than ${timeout / 1_000} s.`, {
    retryable: true,
  })
}
