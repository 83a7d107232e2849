/**
 * Requests to a remote agent: JSON over HTTP. The user names the address, so any host is allowed. Every response has a time
 * limit and a size limit, and secrets in the headers never appear in an error.
 */
import { createParser } from "eventsource-parser"
import { type Json, SuperstepError } from "../../core/index.ts"
import type { Clock } from "../../runtime/index.ts"
import { clipped } from "../../text/index.ts"
import { headerSecrets, Masking, withTimeLimit } from "../../tools/index.ts"

export interface RemoteRequest {
  readonly method?: "GET" | "POST" | undefined
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Json | undefined
  /** Milliseconds until the whole response, or the start of a stream, must have arrived. */
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
  /** Closes the connection, even during a read. */
  close(): void
}

/** The response as a stream, once it has begun. The caller limits its size and time, and closes it. */
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
    const said = maskedExcerpt(request, text)
    throw fault("REMOTE_INVALID", `${placeOf(request.url)} did not answer with JSON: ${said}`, false)
  }
}

/** A response as an error may show it: shortened, and without the secrets of the headers. */
export function maskedExcerpt({ headers }: Pick<RemoteRequest, "headers">, text: string): string {
  const line = Masking.of(headerSecrets(headers)).text(text).replace(/\s+/g, " ").trim()
  return line === "" ? "nothing" : clipped(line, 300)
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
      // A redirect would send the headers to a host that the user did not name.
      redirect: "manual",
      signal,
    })
  } catch (error) {
    if (signal.aborted) throw signal.reason
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error)
    throw fault("REMOTE_UNREACHABLE", `${placeOf(url)} is unreachable: ${cause}.`, true)
  }
}

async function* bodyOf(request: RemoteRequest, response: Response): AsyncGenerator<Uint8Array> {
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > request.maxBytes) {
      const text = `The response of ${placeOf(request.url)} is larger than ${request.maxBytes} bytes.`
      throw fault("REMOTE_TOO_LARGE", text, false)
    }
    yield chunk
  }
}

export async function readText(request: RemoteRequest, response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  try {
    for await (const chunk of bodyOf(request, response)) chunks.push(chunk)
  } catch (error) {
    if (error instanceof SuperstepError || request.signal.aborted) throw error
    throw fault("REMOTE_UNREACHABLE", `The response of ${placeOf(request.url)} was interrupted.`, true, error)
  }
  return Buffer.concat(chunks).toString("utf8")
}

/** The data of each server-sent event. */
export async function* eventData(request: RemoteRequest, response: Response): AsyncGenerator<string> {
  const data: string[] = []
  const parser = createParser({ onEvent: (event) => data.push(event.data) })
  const decoder = new TextDecoder()
  for await (const chunk of bodyOf(request, response)) {
    parser.feed(decoder.decode(chunk, { stream: true }))
    yield* data.splice(0)
  }
  // Some servers leave out the empty line at the end.
  parser.feed("\n\n")
  yield* data
}

const AGAIN = new Set([408, 409, 425, 429])

function badStatus(request: RemoteRequest, status: number, text: string): SuperstepError {
  const retryable = AGAIN.has(status) || status >= 500
  const said = `${placeOf(request.url)} answered ${status}: ${maskedExcerpt(request, text)}`
  const advice = status === 401 || status === 403 ? " Pass a token or headers that it accepts." : ""
  return fault(`REMOTE_STATUS_${status}`, said + advice, retryable)
}

/** The address without its query, which may contain keys. */
export function placeOf(url: string): string {
  return url.replace(/[?#].*$/, "")
}
