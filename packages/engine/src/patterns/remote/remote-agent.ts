/**
 * The common part of remote agents. Each is a workflow of one node, so it can be used like an agent: in a team, as a
 * node, as a tool.
 *
 * R1 The ids of remote work are recorded: another process continues it and does not start it again.
 * R2 Remote work is cancelled when its result is no longer needed, but not when the run moves to another process.
 * R3 Every wait uses the run's clock and has a time limit.
 */
import { createParser } from "eventsource-parser"
import { inputMessages, traceAgent } from "../../agents/internal.ts"
import { node, type Workflow, workflow } from "../../builder/index.ts"
import { isSuperstepError, type Json, SuperstepError } from "../../core/index.ts"
import type { Message } from "../../models/index.ts"
import { messageText } from "../../models/internal.ts"
import { type Clock, type Context, type RemoteAgentInfo, telemetryOf } from "../../runtime/index.ts"
import { clipped } from "../../text/index.ts"
import { headerSecrets, Masking, pause, withTimeLimit } from "../../tools/index.ts"

/** A string, or a conversation whose last message is the question. */
export type RemoteInput = string | { readonly messages: readonly unknown[] }

export type RemoteAgent = Workflow<RemoteInput, string>

export interface RemoteOptions {
  /** The agent's name in this process. */
  readonly name?: string | undefined
  /** What the agent does. Other agents use it to decide whether to call this one. */
  readonly description?: string | undefined
  /** Milliseconds between two polls. Default 1,000. */
  readonly pollEvery?: number | undefined
  /** Milliseconds for the whole call, not counting waits for people. Default 600,000. */
  readonly timeout?: number | undefined
  /** Milliseconds for one request. Default 30,000. */
  readonly requestTimeout?: number | undefined
  /** Maximum bytes of one answer. Default 2,000,000. */
  readonly maxBytes?: number | undefined
}

/** A token, or a function that returns a fresh one. */
export type RemoteToken = string | (() => string | Promise<string>)

interface Credentials extends RemoteOptions {
  readonly token?: RemoteToken | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** A request with an agent's limits and credentials. */
export async function requestTo(url: string, options: Credentials, ctx: Context): Promise<RemoteRequest> {
  const { token, requestTimeout: timeout = 30_000, maxBytes = 2_000_000 } = options
  const headers = {
    ...traceHeader(options.headers, ctx),
    ...options.headers,
    ...(token !== undefined && {
      authorization: `Bearer ${typeof token === "string" ? token : await token()}`,
    }),
  }
  return { url, headers, timeout, maxBytes, clock: ctx.clock, signal: ctx.signal }
}

/** Lets the agent continue the trace of this run, unless the user sends a trace of their own. */
function traceHeader(headers: Credentials["headers"], ctx: Context): { readonly traceparent?: string } {
  const trace = telemetryOf(ctx)?.trace
  const isGiven = Object.keys(headers ?? {}).some((name) => name.toLowerCase() === "traceparent")
  return trace === undefined || isGiven ? {} : { traceparent: trace }
}

export interface Asked {
  /** The conversation before the question. */
  readonly before: readonly { readonly role: "user" | "assistant"; readonly text: string }[]
  readonly question: string
}

export function remoteAgent(
  name: string,
  options: RemoteOptions,
  remote: RemoteAgentInfo,
  answer: (asked: Asked, ctx: Context) => Promise<string>,
): RemoteAgent {
  const { description } = options
  for (const option of ["pollEvery", "timeout", "requestTimeout", "maxBytes"] as const) {
    const { [option]: value } = options
    if (value === undefined || (Number.isFinite(value) && value >= 1)) continue
    throw refused(name, `${option} must be a number of at least 1, not ${String(value)}.`)
  }
  const ask = node({
    id: "ask",
    // Recorded steps are not repeated: a retry repeats only the request that failed.
    retry: { attempts: ATTEMPTS, backoff: "exponential" },
    run: (input: RemoteInput, ctx) =>
      traceAgent({ name, description, remote }, ctx, (traced) => answer(askedBy(input), traced)),
  })
  return workflow(name, { description }).start(ask).build()
}

const ATTEMPTS = 3

function refused(name: string, reason: string): SuperstepError {
  return new SuperstepError("AGENT_INVALID", `Agent "${name}": ${reason}`)
}

/** Parses an agent's address as the user wrote it. */
export function checkedUrl(name: string, option: string, address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    // The address may contain a password.
    const seen = String(address).includes("@") ? "" : `, not "${String(address)}"`
    throw refused(name, `${option} must be a URL such as https://agents.example${seen}.`)
  }
  if (url.username === "" && url.password === "") return url
  throw refused(name, `${option} contains a password. Pass it as token, or in headers.`)
}

function askedBy(input: RemoteInput): Asked {
  const said = inputMessages(input).flatMap((message: Message) => {
    const { role } = message
    if (role !== "user" && role !== "assistant") return []
    const text = messageText(message)
    return text === "" ? [] : [{ role, text }]
  })
  const last = said.at(-1)
  if (last === undefined) {
    throw new SuperstepError("INPUT_INVALID", "There is no question: the input is empty.", {
      retryable: false,
    })
  }
  return { before: said.slice(0, -1), question: last.text }
}

/** Starts remote work (R1). If an earlier attempt may have started it, `find` looks for it first. */
export async function beginOnce<T>(
  ctx: Context,
  name: string,
  begin: () => Promise<T>,
  find: () => Promise<T | undefined>,
): Promise<T> {
  let isFirst = false
  await ctx.step(`${name} begins`, () => {
    isFirst = true
    return true
  })
  return await ctx.step(name, async () => (isFirst ? undefined : await find()) ?? (await begin()))
}

/** Cancels remote work when its result is no longer needed (R2). */
export async function cancelOnAbandon<T>(
  ctx: Context,
  cancel: (signal: AbortSignal) => Promise<unknown>,
  work: () => Promise<T>,
): Promise<T> {
  const tell = () => void cancel(AbortSignal.timeout(CANCEL_TIME)).catch(() => undefined)
  const onAbort = () => {
    if (!isMoved(ctx.signal.reason)) tell()
  }
  ctx.signal.addEventListener("abort", onAbort, { once: true })
  try {
    return await work()
  } catch (error) {
    if (!ctx.signal.aborted && isAbandoned(error, ctx.attempt)) tell()
    throw error
  } finally {
    ctx.signal.removeEventListener("abort", onAbort)
  }
}

const CANCEL_TIME = 5_000

/** Whether the remote work may still be running while this run has stopped waiting for it. */
function isAbandoned(error: unknown, attempt: number): boolean {
  if (!isSuperstepError(error) || !error.code.startsWith("REMOTE_")) return false
  const isTriedAgain = error.retryable === true && attempt < ATTEMPTS
  return !isTriedAgain && error.code !== "REMOTE_FAILED"
}

/** Whether the run continues in another process. */
function isMoved(reason: unknown): boolean {
  return reason instanceof Error && reason.cause !== undefined
}

export interface Polling {
  readonly every: number
  /** On the run's clock. */
  readonly until: number
  readonly what: string
}

/** Polls until there is a result (R3). Temporary failures do not end it. */
export async function poll<T>(
  ctx: Context,
  polling: Polling,
  look: () => Promise<T | undefined>,
): Promise<T> {
  const { every, until, what } = polling
  const { clock, signal } = ctx
  for (let failures = 0; ; ) {
    try {
      const found = await look()
      if (found !== undefined) return found
      failures = 0
    } catch (error) {
      if (!isSuperstepError(error) || error.retryable !== true || ++failures > MAX_FAILURES) throw error
    }
    const left = until - clock.now()
    if (left <= 0) throw timeUp(what)
    await pause(clock, Math.min(every * 2 ** failures, left), signal)
  }
}

const MAX_FAILURES = 5

export function timeUp(what: string): SuperstepError {
  return fault("REMOTE_TIME_UP", `${what} timed out and was cancelled.`, false)
}

// Requests to a remote agent: JSON over HTTP. The user names the address, so any host is allowed. Every response has a time
// limit and a size limit, and secrets in the headers never appear in an error.

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
