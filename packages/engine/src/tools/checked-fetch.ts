/**
 * `fetch` that keeps to the network rules: for clients that bring a protocol of their own and take a `fetch`. Like
 * `guarded-request.ts`, it looks a name up once, checks all its addresses, and connects to those alone. It follows no
 * redirect: the answer is the caller's, and each further request is checked like the first.
 */
import { Readable } from "node:stream"
import { SuperstepError } from "../core/index.ts"
import { makeHop, type Resolve, systemResolve } from "./guarded-hop.ts"
import { type NetworkRules, networkRules } from "./network-rules.ts"

export interface CheckedFetchOptions extends NetworkRules {
  /** Looks a name up. Default: as the system does. */
  readonly resolve?: Resolve | undefined
}

/** Answers that have no body, as `Response` wants it. */
const NO_BODY = new Set([101, 204, 205, 304])

export function checkedFetch(
  options: CheckedFetchOptions,
): (url: string | URL, init?: RequestInit) => Promise<Response> {
  const rules = networkRules(options)
  const resolve = options.resolve ?? systemResolve
  return async (url, init = {}) => {
    const { body, method = "GET" } = init
    if (body !== undefined && body !== null && typeof body !== "string") {
      throw new SuperstepError("REQUEST_INVALID", "The body of a request is text here.", { retryable: false })
    }
    const headers = Object.fromEntries(new Headers(init.headers))
    const hop = { url: new URL(url), method, headers, ...(typeof body === "string" && { body }) }
    const signal = init.signal ?? new AbortController().signal
    const answer = await makeHop(hop, { rules, resolve, signal })
    const status = answer.statusCode ?? 0
    const content = NO_BODY.has(status) ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>)
    return new Response(content, { status, statusText: answer.statusMessage ?? "", headers: given(answer) })
  }
}

function given({ rawHeaders }: { readonly rawHeaders: readonly string[] }): Headers {
  const headers = new Headers()
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    headers.append(rawHeaders[i] as string, rawHeaders[i + 1] as string)
  }
  return headers
}
