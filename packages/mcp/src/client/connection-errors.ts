/** Errors of a connection, with what to do about them, and the `fetch` that keeps a connection within its limits. */
import {
  type FetchLike,
  OAuthClientFlowError,
  OAuthError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SseError,
  UnauthorizedError,
} from "@modelcontextprotocol/client"
import { isSuperstepError, SuperstepError } from "@superstep/engine"
import { clipped } from "@superstep/engine/text"
import { type CheckedFetchOptions, checkedFetch, type Masking } from "@superstep/engine/tools"

export interface ServerContext {
  readonly server: string
  readonly hidden: Masking
  /** Without secrets. */
  readonly stderr: string
}

const MAX_TEXT = 1_000

export function disconnected(context: ServerContext): SuperstepError {
  const text = `The MCP server "${context.server}" disconnected. The request may have been executed.${stderrText(context)}`
  return new SuperstepError("MCP_DISCONNECTED", text)
}

export function timedOut(server: string, what: string, milliseconds: number, complaint = ""): SuperstepError {
  const text = `The MCP server "${server}" did not answer ${what} within ${milliseconds} ms. The request was cancelled, but may have been executed.${complaint}`
  return new SuperstepError("MCP_TIMEOUT", text)
}

/** The server did not complete the handshake in time. */
export function notReady(server: string, milliseconds: number, complaint = ""): SuperstepError {
  const text = `The MCP server "${server}" was not ready within ${milliseconds} ms.${complaint}`
  return new SuperstepError("MCP_UNREACHABLE", text)
}

/** The request never reached the server. */
export function isUndelivered(error: unknown): boolean {
  return isSuperstepError(error, "MCP_UNREACHABLE")
}

/** The connection is unusable, whatever the transport reports. */
export function isLost(error: unknown): boolean {
  return isUndelivered(error) || isSuperstepError(error, "MCP_DISCONNECTED")
}

/** The connection was lost before the request was sent. */
export function notSent(context: ServerContext): SuperstepError {
  return failed("MCP_UNREACHABLE", "disconnected before the request was sent", context)
}

export function explain(error: unknown, context: ServerContext): SuperstepError {
  if (isSuperstepError(error)) return error
  const login = loginError(error, context)
  if (login !== undefined) return login
  const status = httpStatus(error)
  if (status !== undefined) return httpError(status, pageText(error as Error), context)
  if (error instanceof ProtocolError) return answered(error, context)
  const issue = issueIn(error)
  if (issue !== undefined) return answerInvalid(issue, context)
  if (error instanceof SdkError) {
    if (error.code === SdkErrorCode.InvalidResult) return answerInvalid(firstIssue(error.message), context)
    if (error.code === SdkErrorCode.ConnectionClosed) return disconnected(context)
    if (error.code === SdkErrorCode.UnsupportedResultType) {
      return failed("MCP_REFUSED", "asks for input, which it may do only during a tool call", context, false)
    }
  }
  if (!(error instanceof Error)) return failed("MCP_FAILED", `failed: ${String(error)}`, context)
  const code = systemCode(error)
  if (code === "ENOENT" || code === "EACCES") {
    const text = `could not be started: ${code === "ENOENT" ? "no such program or folder" : "it is not executable"} (${error.message}). Install it, or correct command and cwd`
    return failed("MCP_COMMAND_MISSING", text, context, false)
  }
  if (code !== undefined && NOT_REACHED.has(code)) {
    return failed(
      "MCP_UNREACHABLE",
      `is unreachable (${code}). Check that it is running, and that the address is right`,
      context,
    )
  }
  // The SDK wraps what went wrong while it asked which revision the server speaks.
  if (error instanceof SdkError && error.cause instanceof Error) return explain(error.cause, context)
  if (error instanceof SseError) return failed("MCP_UNREACHABLE", `is unreachable: ${error.message}`, context)
  if (error.message === "fetch failed") {
    return failed(
      "MCP_DISCONNECTED",
      `closed the connection${code === undefined ? "" : ` (${code})`}`,
      context,
    )
  }
  return failed("MCP_FAILED", `failed: ${error.message}`, context)
}

/** Nothing of an OAuth error but its code and description is shown: the rest may repeat what was sent. */
function loginError(error: unknown, context: ServerContext): SuperstepError | undefined {
  if (error instanceof UnauthorizedError) {
    return failed("MCP_UNAUTHORIZED", "needs a login. Log in with `superstep mcp login`", context, false)
  }
  if (!(error instanceof OAuthError || error instanceof OAuthClientFlowError)) return undefined
  const text = `could not be logged in to: ${clipped(error.message, 300)}`
  return failed("MCP_UNAUTHORIZED", text, context, false)
}

function answerInvalid(issue: string, context: ServerContext): SuperstepError {
  return failed("MCP_ANSWER_INVALID", `sent an answer that violates the protocol: ${issue}`, context, false)
}

/** The SDK's message is the beginning of a sentence and a list of issues, as JSON or as lines. */
function firstIssue(message: string): string {
  const [, list = message] = /^Invalid result for [^:]+: (.*)$/s.exec(message) ?? []
  try {
    return issueIn({ issues: JSON.parse(list) }) ?? list
  } catch {
    return list.split("\n")[0] ?? list
  }
}

/** The first issue of a zod error, which is not always of class Error. */
export function issueIn(error: unknown): string | undefined {
  const { issues } = (error ?? {}) as { issues?: unknown }
  if (!Array.isArray(issues)) return undefined
  const [first] = issues as { path?: readonly PropertyKey[]; message?: string }[]
  const place = (first?.path ?? []).map(String).join(".")
  return `${place === "" ? "" : `${place}: `}${first?.message ?? "invalid"}`
}

const NOT_REACHED = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"])

/** The message of fetch is "fetch failed"; the code is in its cause, or in the causes for several addresses. */
function systemCode(error: Error): string | undefined {
  for (let one: unknown = error; one instanceof Error; one = one.cause) {
    const { code, errors } = one as { code?: unknown; errors?: readonly { code?: unknown }[] }
    if (typeof code === "string") return code
    if (typeof errors?.[0]?.code === "string") return errors[0].code
  }
  return undefined
}

/** The HTTP status of the answer, whichever transport reports it. */
function httpStatus(error: unknown): number | undefined {
  if (error instanceof SdkHttpError) return error.status
  if (error instanceof SseError) return error.code
  const match =
    error instanceof Error ? /^Error POSTing to endpoint \(HTTP (\d+)\)/.exec(error.message) : null
  return match === null ? undefined : Number(match[1])
}

/** The message, with the page that the server sent. */
function pageText(error: Error): string {
  const text = error instanceof SdkHttpError ? error.data.text : undefined
  return typeof text !== "string" || error.message.includes(text)
    ? error.message
    : `${error.message}: ${text}`
}

function httpError(status: number, message: string, context: ServerContext): SuperstepError {
  if (status === 401 || status === 403) {
    const text = `refused access (HTTP ${status}). Write credentials into headers, for example { authorization: "Bearer …" }`
    return failed("MCP_UNAUTHORIZED", text, context, false)
  }
  if (status === 404) {
    return failed("MCP_UNREACHABLE", "does not know the session, or the address is wrong (HTTP 404)", context)
  }
  const isServerSide = status >= 500 || status === 429
  return failed("MCP_FAILED", `answered with an error: ${message}`, context, isServerSide)
}

function answered(error: ProtocolError, context: ServerContext): SuperstepError {
  const text = error.message
  const { [OUR_CODE]: ours } = (error.data ?? {}) as { readonly [OUR_CODE]?: unknown }
  if (ours === "MCP_MESSAGE_TOO_LARGE") return new SuperstepError(ours, text, { retryable: false })
  if (ours === "MCP_DISCONNECTED" || text === "Connection closed") return disconnected(context)
  return failed("MCP_REFUSED", `refused: ${text}`, context, false)
}

function failed(code: string, text: string, context: ServerContext, retryable?: boolean): SuperstepError {
  // Secrets are masked before the text is cut: half a secret would not be found.
  const shown = context.hidden.text(text)
  const cut = clipped(shown, MAX_TEXT)
  const sentence = /[.?!…]$/.test(cut) ? cut : `${cut}.`
  // Without a cause: it may contain the request, with its headers.
  return new SuperstepError(
    code,
    `The MCP server "${context.server}" ${sentence}${stderrText(context)}`,
    retryable === undefined ? {} : { retryable },
  )
}

function stderrText({ stderr }: ServerContext): string {
  return stderr === "" ? "" : ` Its stderr: ${stderr}`
}

// `fetch` for the HTTP transports, which accept any answer.
//
// F0 Nothing is sent to an address that the network rules refuse: the server's address, what its name resolves to at that
//    moment, or a redirect. The transport follows redirects within the origin only.
// F1 No answer is read past `maxMessage` bytes: the whole of a plain body counts, but each line of an event stream, which
//    may be endless.
// F2 A stream that ends before it has answered its request answers it with an error: the transport would wait forever. A
//    stream that can be resumed (its events have ids) is left to the transport, which resumes it.
// F3 Only the beginning of an error page is read.
// F4 The server's headers go to its own origin only, not to the authorization servers that it names.

const MAX_ERROR_PAGE = 16_384
/** The SDK's code for a closed connection, of the range that JSON-RPC leaves to implementations. */
const CONNECTION_CLOSED = -32_000
/** Marks an answer that this client created, not the server. */
const OUR_CODE = "superstep/code"

interface GuardedFetchOptions {
  readonly server: string
  /** The server's own address and headers. */
  readonly own: { readonly url: URL; readonly headers: Readonly<Record<string, string>> }
  readonly maxMessage: number
  readonly network: CheckedFetchOptions
  /** Called if an address is refused: transports replace the error. */
  readonly onRefused: (error: SuperstepError) => void
}

export function guardedFetch({
  server,
  own,
  maxMessage,
  network,
  onRefused,
}: GuardedFetchOptions): FetchLike {
  const send = checkedFetch(network)
  const fetched = async (url: string | URL, init?: RequestInit) => {
    try {
      // Requests for tokens have forms as their bodies.
      const isForm = init?.body instanceof URLSearchParams
      return await send(url, isForm ? { ...init, body: String(init.body) } : init)
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
    const isOwn = new URL(url).origin === own.url.origin
    const response = await fetched(url, isOwn ? init : without(init, own.headers))
    const { body, status } = response
    if (body === null || (status >= 300 && status < 400)) return response
    if (!response.ok) return withBody(response, beginning(body))
    if (!/^\s*text\/event-stream/i.test(response.headers.get("content-type") ?? "")) {
      return withBody(response, limited(body, server, maxMessage))
    }
    return withBody(response, guardedEvents(body, requestId(init), server, maxMessage))
  }
}

function without(init: RequestInit | undefined, own: GuardedFetchOptions["own"]["headers"]): RequestInit {
  const headers = new Headers(init?.headers)
  for (const [name, value] of Object.entries(own))
    if (headers.get(name) === value.trim()) headers.delete(name)
  return { ...init, headers }
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
