/**
 * The common part of remote agents. Each is a workflow of one node, so it can be used like an agent: in a team, as a
 * node, as a tool.
 *
 * R1 The ids of remote work are recorded: another process continues it and does not start it again.
 * R2 Remote work is cancelled when its result is no longer needed, but not when the run moves to another process.
 * R3 Every wait uses the run's clock and has a time limit.
 */
import { inputMessages, traceAgent } from "../../agents/internal.ts"
import { node, type Workflow, workflow } from "../../builder/index.ts"
import { isSuperstepError, SuperstepError } from "../../core/index.ts"
import type { Message } from "../../models/index.ts"
import { messageText } from "../../models/internal.ts"
import { type Context, type RemoteAgentInfo, telemetryOf } from "../../runtime/index.ts"
import { pause } from "../../tools/index.ts"
import { fault, type RemoteRequest } from "./remote-request.ts"

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
