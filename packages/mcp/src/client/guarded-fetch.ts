/**
 * `fetch` for the HTTP transports, which accept any answer.
 *
 * F0 Nothing is sent to an address that the network rules refuse: the server's address, what its name resolves to at that
 *    moment, or a redirect. The transport follows redirects within the origin only.
 * F1 No answer is read past `maxMessage` bytes: the whole of a plain body counts, but each line of an event stream, which
 *    may be endless.
 * F2 A stream that ends before it has answered its request answers it with an error: the transport would wait forever. A
 *    stream that can be resumed (its events have ids) is left to the transport, which resumes it.
 * F3 Only the beginning of an error page is read.
 */
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js"
import { isSuperstepError, SuperstepError } from "@superstep/engine"
import { type CheckedFetchOptions, checkedFetch } from "@superstep/engine/tools"

const MAX_ERROR_PAGE = 16_384
/** The SDK's code for a closed connection, of the range that JSON-RPC leaves to implementations. */
const CONNECTION_CLOSED = -32_000
/** Marks an answer that this client created, not the server. */
export const OUR_CODE = "superstep/code"

export interface GuardedFetchOptions {
  readonly server: string
  readonly maxMessage: number
  readonly network: CheckedFetchOptions
  /** Called if an address is refused: transports replace the error. */
  readonly onRefused: (error: SuperstepError) => void
}

export function guardedFetch({ server, maxMessage, network, onRefused }: GuardedFetchOptions): FetchLike {
  const send = checkedFetch(network)
  const fetched = async (url: string | URL, init?: RequestInit) => {
    try {
      return await send(url, init)
    } catch (error) {
      if (isSuperstepError(error, "ADDRESS_REFUSED")) {
        const refused = addressRefused(server, error)
        onRefused(refused)
        throw refused
      }
      // Shaped like an error of `fetch`, so that connection-errors.ts handles both.
      throw isSuperstepError(error) ? new TypeError("fetch failed", { cause: error.cause ?? error }) : error
    }
  }
  return async (url, init) => {
    const response = await fetched(url, init)
    const { body, status } = response
    if (body === null || (status >= 300 && status < 400)) return response
    if (!response.ok) return withBody(response, beginning(body))
    if (!/^\s*text\/event-stream/i.test(response.headers.get("content-type") ?? "")) {
      return withBody(response, limited(body, server, maxMessage))
    }
    return withBody(response, guardedEvents(body, requestId(init), server, maxMessage))
  }
}

type Bytes = AsyncIterable<Uint8Array>

function withBody({ status, statusText, headers }: Response, body: AsyncGenerator<Uint8Array>): Response {
  return new Response(ReadableStream.from(body), { status, statusText, headers })
}

async function* beginning(source: Bytes): AsyncGenerator<Uint8Array> {
  let left = MAX_ERROR_PAGE
  for await (const chunk of source) {
    yield chunk.subarray(0, left)
    left -= chunk.length
    if (left <= 0) return
  }
}

async function* limited(source: Bytes, server: string, max: number): AsyncGenerator<Uint8Array> {
  let size = 0
  for await (const chunk of source) {
    size += chunk.length
    if (size > max) throw tooLarge(server, max)
    yield chunk
  }
}

async function* guardedEvents(
  source: Bytes,
  request: string | number | undefined,
  server: string,
  max: number,
): AsyncGenerator<Uint8Array> {
  let line = 0
  let tail = "\n"
  let isResumable = false
  let why = new SuperstepError(
    "MCP_DISCONNECTED",
    `The MCP server "${server}" ended its answer before it was complete.`,
  )
  try {
    for await (const chunk of source) {
      const text = tail + Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString("latin1")
      isResumable ||= /[\r\n]id:/.test(text)
      tail = text.slice(-3)
      const { longest, last } = lineLengths(chunk, line)
      if (longest > max) throw tooLarge(server, max)
      line = last
      yield chunk
    }
  } catch (error) {
    const isTooLarge = isSuperstepError(error, "MCP_MESSAGE_TOO_LARGE")
    if (request === undefined || (isResumable && !isTooLarge)) throw error
    if (isTooLarge) why = error
    isResumable = false
  }
  if (request === undefined || isResumable) return
  // If the answer did arrive, nobody waits for this one.
  const error = { code: CONNECTION_CLOSED, message: why.message, data: { [OUR_CODE]: why.code } }
  const answer = { jsonrpc: "2.0", id: request, error }
  yield new TextEncoder().encode(`\n\ndata: ${JSON.stringify(answer)}\n\n`)
}

const NEWLINE = 10

/** The lengths of the lines in a chunk; the first line began `before` bytes earlier. */
function lineLengths(chunk: Uint8Array, before: number): { longest: number; last: number } {
  let longest = 0
  let start = -before
  for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
    longest = Math.max(longest, end - start)
    start = end + 1
  }
  const last = chunk.length - start
  return { longest: Math.max(longest, last), last }
}

function requestId(init: RequestInit | undefined): string | number | undefined {
  if (init?.method !== "POST" || typeof init.body !== "string") return undefined
  const message = JSON.parse(init.body) as { id?: string | number; method?: string }
  return message.method === undefined ? undefined : message.id
}

function addressRefused(server: string, { message }: SuperstepError): SuperstepError {
  const text = `The MCP server "${server}" was not called. ${message.replace(/ Its owner can allow it.*$/, "")} To allow its address, set allowPrivate in code, or allow_private in a file.`
  return new SuperstepError("MCP_ADDRESS_REFUSED", text, { retryable: false })
}

export function tooLarge(server: string, max: number): SuperstepError {
  const text = `The MCP server "${server}" sent a message of more than ${max} bytes. Request less, or raise maxMessage.`
  return new SuperstepError("MCP_MESSAGE_TOO_LARGE", text, { retryable: false })
}
