/**
 * What agents that live elsewhere have in common. Each is a workflow of one node, so it is used wherever an agent is: in a
 * team, as a node, as a tool.
 *
 * R1 the ids of what was begun elsewhere are on record: another process goes on with it, and does not begin it again.
 * R2 what nobody wants any more is cancelled there; a run that only changes its process is not.
 * R3 whatever is waited for is waited for on the run's clock, and not longer than it may take.
 */
import { inputMessages } from "../../agents/conversation.ts"
import { node, type Workflow, workflow } from "../../builder/index.ts"
import { isSuperstepError, SuperstepError } from "../../core/index.ts"
import type { Message } from "../../models/index.ts"
import { messageText } from "../../models/prompt-text.ts"
import type { Context } from "../../runtime/index.ts"
import { pause } from "../../tools/index.ts"
import { fault } from "./remote-request.ts"

/** A text, or a conversation whose last message is the question. */
export type RemoteInput = string | { readonly messages: readonly unknown[] }

export type RemoteAgent = Workflow<RemoteInput, string>

export interface RemoteOptions {
  /** Its name here. */
  readonly name?: string | undefined
  /** What it is good for: others decide by it whether to ask. */
  readonly description?: string | undefined
  /** Milliseconds between two looks at how far it is. Default 1,000. */
  readonly pollEvery?: number | undefined
  /** Milliseconds for the whole of it, waiting for people aside. Default 600,000. */
  readonly timeout?: number | undefined
  /** Milliseconds for one request. Default 30,000. */
  readonly requestTimeout?: number | undefined
  /** Bytes of one answer at the most. Default 2,000,000. */
  readonly maxBytes?: number | undefined
}

/** A text, or a function that gets one: tokens run out. */
export type Token = string | (() => string | Promise<string>)

export async function bearer(token: Token | undefined): Promise<Readonly<Record<string, string>>> {
  if (token === undefined) return {}
  return { authorization: `Bearer ${typeof token === "string" ? token : await token()}` }
}

export interface Asked {
  /** What was said before. */
  readonly before: readonly { readonly role: "user" | "assistant"; readonly text: string }[]
  readonly question: string
}

export function remoteAgent(
  name: string,
  options: RemoteOptions,
  answer: (asked: Asked, ctx: Context) => Promise<string>,
): RemoteAgent {
  const { description } = options
  for (const option of ["pollEvery", "timeout", "requestTimeout", "maxBytes"] as const) {
    const { [option]: value } = options
    if (value === undefined || (Number.isFinite(value) && value >= 1)) continue
    throw refused(name, `${option} is a number of at least 1, not ${String(value)}.`)
  }
  const ask = node({
    id: "ask",
    // Steps that are on record are not done again: what is tried again is the request that failed.
    retry: { attempts: ATTEMPTS, backoff: "exponential" },
    run: (input: RemoteInput, ctx) => answer(askedBy(input), ctx),
  })
  return workflow(name, { description }).start(ask).build()
}

const ATTEMPTS = 3

function refused(name: string, reason: string): SuperstepError {
  return new SuperstepError("AGENT_INVALID", `Agent "${name}": ${reason}`)
}

/** Where an agent lives, as the user says it. */
export function checkedUrl(name: string, option: string, given: string): URL {
  const url = URL.canParse(given) ? new URL(given) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    // What may be a password is not repeated.
    const seen = String(given).includes("@") ? "" : `, not "${String(given)}"`
    throw refused(name, `${option} is an address such as https://agents.example${seen}.`)
  }
  if (url.username === "" && url.password === "") return url
  throw refused(name, `${option} has a password in it. Give it as token, or in headers.`)
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

/** Begins something elsewhere (R1). Where an attempt before this one may have begun it, `find` looks first. */
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

/** While something is under way elsewhere: when nobody wants it any more, it is told (R2). */
export async function whileUnderWay<T>(
  ctx: Context,
  cancel: (signal: AbortSignal) => Promise<unknown>,
  work: () => Promise<T>,
): Promise<T> {
  const tell = () => void cancel(AbortSignal.timeout(CANCEL_TIME)).catch(() => undefined)
  const onAbort = () => {
    if (!isLeft(ctx.signal.reason)) tell()
  }
  ctx.signal.addEventListener("abort", onAbort, { once: true })
  try {
    return await work()
  } catch (error) {
    if (!ctx.signal.aborted && isGivenUp(error, ctx.attempt)) tell()
    throw error
  } finally {
    ctx.signal.removeEventListener("abort", onAbort)
  }
}

const CANCEL_TIME = 5_000

/** It may be under way there still, and nobody looks at it again. One that ended by itself needs no word. */
function isGivenUp(error: unknown, attempt: number): boolean {
  if (!isSuperstepError(error) || !error.code.startsWith("REMOTE_")) return false
  const isTriedAgain = error.retryable === true && attempt < ATTEMPTS
  return !isTriedAgain && error.code !== "REMOTE_FAILED"
}

/** The run goes on in another process. */
function isLeft(reason: unknown): boolean {
  return reason instanceof Error && reason.cause !== undefined
}

export interface Polling {
  readonly every: number
  /** By the run's clock. */
  readonly until: number
  readonly what: string
}

/** Looks again and again (R3). A look that fails for a while is no end. */
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
      if (!isSuperstepError(error) || error.retryable !== true || ++failures > MOST_FAILURES) throw error
    }
    const left = until - clock.now()
    if (left <= 0) throw timeUp(what)
    await pause(clock, Math.min(every * 2 ** failures, left), signal)
  }
}

const MOST_FAILURES = 5

export function timeUp(what: string): SuperstepError {
  return fault("REMOTE_TIME_UP", `${what} took too long, and was cancelled.`, false)
}
