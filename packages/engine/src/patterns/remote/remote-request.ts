/**
 * Requests to an agent that lives elsewhere: JSON over HTTP. The user names the address, so it may be anywhere; but no
 * answer takes longer, or is larger, than it may be, and what is secret in the headers does not come back in an error.
 */
import { type Json, SuperstepError } from "../../core/index.ts"
import type { Clock } from "../../runtime/index.ts"
import { headerSecrets, Masking, withTimeLimit } from "../../tools/index.ts"

export interface RemoteRequest {
  readonly method?: "GET" | "POST" | undefined
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Json | undefined
  /** Milliseconds until the whole answer, or the beginning of a stream, must be there. */
  readonly timeout: number
  readonly maxBytes: number
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** The answer as JSON. */
export async function requestJson(request: RemoteRequest): Promise<Json> {
  return await inTime(request, async (signal) => {
    const response = await send(request, signal)
    const text = await readText(request, response)
    if (!response.ok) throw badStatus(request, response.status, text)
    return parseJson(request, text)
  })
}

interface Streamed {
  readonly response: Response
  /** Lets go of the connection, also while something is read from it. */
  close(): void
}

/** The answer as it comes, once it has begun. Whoever takes it sees to its size and time, and closes it. */
export async function requestStream(request: RemoteRequest): Promise<Streamed> {
  const closing = new AbortController()
  const close = () => closing.abort()
  const signal = AbortSignal.any([request.signal, closing.signal])
  try {
    const response = await inTime(request, () => send(request, signal))
    if (response.ok) return { response, close }
    const text = await inTime(request, () => readText(request, response))
    throw badStatus(request, response.status, text)
  } catch (error) {
    close()
    throw error
  }
}

export function parseJson(request: Pick<RemoteRequest, "url" | "headers">, text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    const said = quoted(request, text)
    throw fault("REMOTE_INVALID", `${placeOf(request.url)} did not answer with JSON: ${said}`, false)
  }
}

/** What was answered, as an error may show it: in short, and without what is secret in the headers. */
export function quoted({ headers }: Pick<RemoteRequest, "headers">, text: string): string {
  const line = Masking.of(headerSecrets(headers)).text(text).replace(/\s+/g, " ").trim()
  return line === "" ? "nothing" : line.length > 300 ? `${line.slice(0, 300)}…` : line
}

export function tooLarge({ url, maxBytes }: Pick<RemoteRequest, "url" | "maxBytes">): SuperstepError {
  return fault("REMOTE_TOO_LARGE", `The answer of ${placeOf(url)} is larger than ${maxBytes} bytes.`, false)
}

export function fault(code: string, text: string, retryable: boolean, cause?: unknown): SuperstepError {
  return new SuperstepError(code, text, { retryable, ...(cause === undefined ? {} : { cause }) })
}

function inTime<T>(request: RemoteRequest, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { clock, timeout: milliseconds, signal, url } = request
  const timedOut = () =>
    fault("REMOTE_TIMEOUT", `${placeOf(url)} did not answer within ${milliseconds} ms.`, true)
  return withTimeLimit({ clock, milliseconds, signal, timedOut }, work)
}

async function send(request: RemoteRequest, signal: AbortSignal): Promise<Response> {
  const { url, method = "POST", headers, body } = request
  const content = body === undefined ? {} : { "content-type": "application/json" }
  try {
    return await fetch(url, {
      method,
      headers: { accept: "application/json", ...content, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      // A redirect would take the headers along to somebody whom nobody named.
      redirect: "manual",
      signal,
    })
  } catch (error) {
    if (signal.aborted) throw signal.reason
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error)
    throw fault("REMOTE_UNREACHABLE", `${placeOf(url)} cannot be reached: ${cause}.`, true)
  }
}

/** The whole body, as long as it is not too large. */
export async function readText(request: RemoteRequest, response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of response.body ?? []) {
      size += chunk.length
      if (size > request.maxBytes) throw tooLarge(request)
      chunks.push(chunk)
    }
  } catch (error) {
    if (error instanceof SuperstepError || request.signal.aborted) throw error
    throw fault("REMOTE_UNREACHABLE", `The answer of ${placeOf(request.url)} broke off.`, true, error)
  }
  return Buffer.concat(chunks).toString("utf8")
}

const AGAIN = new Set([408, 409, 425, 429])

function badStatus(request: RemoteRequest, status: number, text: string): SuperstepError {
  const retryable = AGAIN.has(status) || status >= 500
  const said = `${placeOf(request.url)} answered ${status}: ${quoted(request, text)}`
  const advice = status === 401 || status === 403 ? " Give a token, or headers, that it takes." : ""
  return fault(`REMOTE_STATUS_${status}`, said + advice, retryable)
}

/** Without its query, which may have keys in it. */
export function placeOf(url: string): string {
  return url.replace(/[?#].*$/, "")
}
