/**
 * One call of a tool, from the arguments that the model wrote to a result that can be journaled and returned to it. The agent
 * asks for approval, records the outcome and counts it.
 *
 * C1 A failure is an outcome, not an exception: except that of a fatal tool, a limit that was reached, an error marked as
 *    fatal, and a task that was stopped.
 * C2 A tool that does not stop when its time is up is not waited for; what it returns later is dropped.
 * C3 The outcome is plain JSON of a bounded size, without the values of secret arguments.
 */
import {
  type ErrorData,
  fromErrorData,
  isSuperstepError,
  type Json,
  SuperstepError,
  toErrorData,
} from "../core/index.ts"
import { retryDelay } from "../core/internal.ts"
import type { Clock } from "../runtime/index.ts"
import { Masking } from "./secrets.ts"
import { AttemptTimer, pause, stoppable } from "./time-limit.ts"
import type { ParsedArgs, Tool, ToolCallContext } from "./tool.ts"
import { type Cut, cutToSize, toJson } from "./tool-result.ts"

export type ToolOutcome =
  | { readonly ok: true; readonly value: Json; readonly cut?: Cut }
  | { readonly ok: false; readonly error: ErrorData }

export interface CallToolOptions {
  /** Default: that of the run. */
  readonly clock?: Clock | undefined
  /** Characters of the result to keep. Default 100,000. */
  readonly maxResult?: number | undefined
}

const MAX_ARGS = 1_000_000
const MAX_RESULT = 100_000

/** Parses and checks the arguments that the model wrote. Some models write nothing if there are none. */
export async function readArgs(tool: Tool, text: string): Promise<ParsedArgs> {
  if (text.length > MAX_ARGS) {
    return { ok: false, reason: `they are ${text.length} characters long; at most ${MAX_ARGS} are allowed` }
  }
  const { secret = [] } = tool
  let args: unknown
  try {
    args = text.trim() === "" ? {} : JSON.parse(text)
  } catch (error) {
    // The message quotes a piece of the arguments, which may be a secret.
    const why = secret.length > 0 || !(error instanceof Error) ? "" : `: ${error.message}`
    return { ok: false, reason: `they are not JSON${why}` }
  }
  const parsed = await tool.parse(args)
  if (parsed.ok || secret.length === 0) return parsed
  return { ok: false, reason: new Masking(args, secret).text(parsed.reason) }
}

/** Runs a tool with checked arguments. `call.signal` stops it, also between two attempts. */
export async function callTool(
  tool: Tool,
  args: unknown,
  call: ToolCallContext,
  options: CallToolOptions = {},
): Promise<ToolOutcome> {
  const { clock = call.ctx.clock, maxResult = MAX_RESULT } = options
  const masking = new Masking(args, tool.secret)
  for (let attempt = 1; ; attempt++) {
    call.signal.throwIfAborted()
    let error: ErrorData
    let cause: unknown
    try {
      const masked = callWith(call, {
        progress: (data) => call.progress(masking.json(toJson(data, tool.name))),
      })
      const value = toJson(await runOnce(tool, args, masked, clock), tool.name)
      return { ok: true, ...cutToSize(masking.json(value), maxResult) }
    } catch (thrown) {
      call.signal.throwIfAborted()
      if (isSuperstepError(thrown) && (thrown.limit === true || thrown.fatal === true)) throw thrown
      error = maskError(toErrorData(thrown), masking)
      // A secret may be anywhere in an error, also in its stack: then the error is created anew.
      cause = masking.texts.length === 0 && thrown instanceof Error ? thrown : fromErrorData(error)
    }
    const delay = retryDelay(tool.retry, attempt, error, call.idempotencyKey)
    if (delay === undefined) return failed(tool, error, cause)
    await pause(clock, delay, call.signal)
  }
}

function failed(tool: Tool, error: ErrorData, cause: unknown): ToolOutcome {
  if (tool.fatal !== true) return { ok: false, error }
  const { retryable } = error
  const message = `Tool "${tool.name}" failed: ${error.message}`
  throw new SuperstepError("TOOL_FAILED", message, { cause, ...(retryable !== undefined && { retryable }) })
}

/** The error with its causes, without secrets. */
export function maskError(error: ErrorData, masking: Masking): ErrorData {
  const { code, message, name, cause } = error
  // A long message was cut, maybe in the middle of a secret.
  const masked = message.endsWith("…") ? `${masking.beginning(message.slice(0, -1))}…` : masking.text(message)
  return {
    ...error,
    code: masking.text(code),
    message: masked,
    ...(name !== undefined && { name: masking.text(name) }),
    ...(cause !== undefined && { cause: maskError(cause, masking) }),
  }
}

/** One attempt, which ends with the task or with its own time. */
function runOnce(tool: Tool, args: unknown, call: ToolCallContext, clock: Clock): Promise<unknown> {
  return stoppable(call.signal, async (signal, stop) => {
    if (tool.timeout === undefined)
      return resultOf(tool.run(args as never, callWith(call, { signal })), call, signal)
    const timer = new AttemptTimer(clock, tool.timeout, () => stop(timedOut(tool)))
    signal.addEventListener("abort", () => timer.end(), { once: true })
    try {
      const watched = callWith(call, { ctx: timer.watching(call.ctx), signal })
      return await resultOf(tool.run(args as never, watched), call, signal)
    } finally {
      timer.end()
    }
  })
}

/** What an async generator yields is its progress; what it returns is the result. */
async function resultOf(returned: unknown, call: ToolCallContext, signal: AbortSignal): Promise<unknown> {
  const made = await returned
  if (!isGenerator(made)) return made
  for (;;) {
    const { value, done } = await made.next()
    if (done) return value
    if (signal.aborted) {
      await made.return(undefined)
      signal.throwIfAborted()
    }
    call.progress(value)
  }
}

function isGenerator(value: unknown): value is AsyncGenerator {
  return (
    typeof value === "object" &&
    value !== null &&
    Symbol.asyncIterator in value &&
    "next" in value &&
    "return" in value
  )
}

/** The same call with other members. It is not copied: reading its `context` throws where the run has none. */
export function callWith(call: ToolCallContext, changed: Partial<ToolCallContext>): ToolCallContext {
  return Object.assign(Object.create(call), changed) as ToolCallContext
}

function timedOut({ name, timeout }: Tool): SuperstepError {
  const text = `Tool "${name}" exceeded its timeout of ${timeout} ms and was stopped. It may have taken effect.`
  return new SuperstepError("TOOL_TIMEOUT", text)
}
