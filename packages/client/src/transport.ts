/** Sends requests, and repeats those that can be repeated safely while the server cannot be reached. */
import { ApiError, errorOf } from "./error.ts"

export interface ClientOptions {
  /** Of the server: "http://127.0.0.1:4111", or a path of your own origin in a browser. */
  readonly url: string
  /** An API key, or a function that returns a token for each request. */
  readonly key?: string | (() => string | Promise<string>) | undefined
  /** Sent with each request. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Default: the global `fetch`. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
  readonly retry?:
    | {
        /** How often a request is sent that can be repeated safely. Default: 5. Streams reconnect until they are aborted. */
        readonly attempts?: number | undefined
        /** Milliseconds before the first retry, at most; doubled for each further one. Default: 200. */
        readonly delay?: number | undefined
        /** Default: 10,000. */
        readonly maxDelay?: number | undefined
      }
    | undefined
}

export interface Outgoing {
  readonly query?: Readonly<Record<string, unknown>> | undefined
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly signal?: AbortSignal | undefined
}

/** What a proxy or a server says that is starting, stopping or busy. */
const TRANSIENT: ReadonlySet<number> = new Set([408, 429, 502, 503, 504])

export function isTransient(error: unknown): boolean {
  // Everything else that `fetch` rejects with is a failure of the connection.
  return !(error instanceof ApiError) || TRANSIENT.has(error.status)
}

export class Transport {
  readonly #options: ClientOptions
  readonly #url: string

  constructor(options: ClientOptions) {
    this.#options = options
    this.#url = options.url.replace(/\/+$/, "")
  }

  /** The response, if the server accepts the request; else throws an ApiError. */
  async send(method: string, path: string, outgoing: Outgoing, canRepeat: boolean): Promise<Response> {
    const attempts = canRepeat ? (this.#options.retry?.attempts ?? 5) : 1
    for (let attempt = 1; ; attempt++) {
      try {
        const response = await this.#fetch(method, path, outgoing)
        if (response.ok) return response
        throw await errorOf(response, attempt)
      } catch (error) {
        if (attempt >= attempts || outgoing.signal?.aborted || !isTransient(error)) throw error
        await this.pause(attempt, outgoing.signal, error)
      }
    }
  }

  /** Waits before the next attempt: a random time, so that clients of a restarted server come back one after the other. */
  async pause(attempt: number, signal?: AbortSignal, error?: unknown): Promise<void> {
    const { delay = 200, maxDelay = 10_000 } = this.#options.retry ?? {}
    const asked = error instanceof ApiError ? error.retryAfter : undefined
    await sleep(asked ?? Math.random() * Math.min(maxDelay, delay * 2 ** (attempt - 1)), signal)
  }

  async #fetch(method: string, path: string, { query, body, headers, signal }: Outgoing): Promise<Response> {
    const { key, fetch: send = fetch, headers: always } = this.#options
    const token = typeof key === "function" ? await key() : key
    return await send(this.#url + path + search(query), {
      method,
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...always,
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    })
  }
}

function search(query: Outgoing["query"] = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, String(one)]),
  )
  return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs)}`
}

async function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted()
  await new Promise<void>((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop)
      resolve()
    }, milliseconds)
    signal?.addEventListener("abort", stop, { once: true })
  })
}
