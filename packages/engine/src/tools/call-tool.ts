/**
 * One call of a tool, from the text that the model wrote to plain data that can be journaled and given back to it. Asking a
 * person first, recording the outcome and counting it are for the agent.
 *
 * C1 A failure is an outcome, not an exception: except that of a fatal tool, a limit that was reached, an error that says it
 *    is fatal, and a task that was stopped.
 * C2 A tool that does not stop when its time is up is not waited for; what it says later is dropped.
 * C3 The outcome is plain JSON data of a bounded size, without the values of secret arguments.
 */
import {
  type ErrorData,
  fromErrorData,
  isSuperstepError,
  type Json,
  SuperstepError,
  toErrorData,
} from "../core/index.ts"
import { retryDelay } from "../core/retry.ts"
import type { Clock } from "../runtime/index.ts"
import { AttemptTime } from "./attempt-time.ts"
import { Masking } from "./secrets.ts"
import type { ParsedArgs, Tool, ToolCallContext } from "./tool.ts"
import { type Cut, cutToSize, toJson } from "./tool-result.ts"

export type ToolOutcome =
  | { readonly ok: true; readonly value: Json; readonly cut?: Cut }
  | { readonly ok: false; readonly error: ErrorData }

export interface CallToolOptions {
  /** Default: that of the run. */
  readonly clock?: Clock | undefined
  /** Characters of the result that are kept. Default 100,000. */
  readonly maxResult?: number | undefined
}

const MAX_ARGS = 1_000_000
const MAX_RESULT = 100_000

/** What the model wrote as arguments, read and checked. Some models write nothing where they mean no arguments. */
export async function readArgs(tool: Tool, text: string): Promise<ParsedArgs> {
  if (text.length > MAX_ARGS) {
    return { ok: false, reason: `they are ${text.length} characters long; at most ${MAX_ARGS} are taken` }
  }
  let args: unknown
  try {
    args = text.trim() === "" ? {} : JSON.parse(text)
  } catch (error) {
    return {
      ok: false,
      reason: `they are not JSON: ${error instanceof Error ? error.message : String(error)}`,
    }
  }
  return await tool.parse(args)
}

/** Runs a tool with arguments that were checked. `call.signal` stops it, also between two attempts. */
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
    try {
      const value = toJson(await runOnce(tool, args, call, clock), tool.name)
      return { ok: true, ...cutToSize(masking.json(value), maxResult) }
    } catch (thrown) {
      call.signal.throwIfAborted()
      if (isSuperstepError(thrown) && (thrown.limit === true || thrown.fatal === true)) throw thrown
      error = maskError(toErrorData(thrown), masking)
    }
    const delay = retryDelay(tool.retry, attempt, error, call.idempotencyKey)
    if (delay === undefined) return failed(tool, error)
    await pause(delay, call.signal, clock)
  }
}

function failed(tool: Tool, error: ErrorData): ToolOutcome {
  if (tool.fatal !== true) return { ok: false, error }
  throw new SuperstepError("TOOL_FAILED", `Tool "${tool.name}" failed: ${error.message}`, {
    cause: fromErrorData(error),
    ...(error.retryable === undefined ? {} : { retryable: error.retryable }),
  })
}

function maskError(error: ErrorData, masking: Masking): ErrorData {
  const cause = error.cause === undefined ? {} : { cause: maskError(error.cause, masking) }
  return { ...error, code: masking.text(error.code), message: masking.text(error.message), ...cause }
}

/** One attempt, which ends with the task or with its own time. */
async function runOnce(tool: Tool, args: unknown, call: ToolCallContext, clock: Clock): Promise<unknown> {
  const controller = new AbortController()
  let stop!: (reason: unknown) => void
  const stopped = new Promise<never>((_, reject) => {
    stop = (reason) => {
      reject(reason)
      controller.abort(reason)
    }
  })
  const onAbort = () => stop(call.signal.reason)
  call.signal.addEventListener("abort", onAbort, { once: true })
  const time =
    tool.timeout === undefined
      ? undefined
      : new AttemptTime(clock, tool.timeout, () => stop(timedOut(tool.name, tool.timeout)))
  const ctx = time === undefined ? call.ctx : time.watching(call.ctx)
  try {
    const ran = (async () => tool.run(args as never, { ...call, ctx, signal: controller.signal }))()
    return await Promise.race([ran, stopped])
  } finally {
    time?.end()
    call.signal.removeEventListener("abort", onAbort)
  }
}

function timedOut(tool: string, milliseconds: number | undefined): SuperstepError {
  const text = `Tool "${tool}" took longer than its ${milliseconds} ms and was stopped. What it did until then may have happened.`
  return new SuperstepError("TOOL_TIMEOUT", text)
}

function pause(milliseconds: number, signal: AbortSignal, clock: Clock): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      disarm()
      reject(signal.reason)
    }
    const disarm = clock.setTimer(clock.now() + milliseconds, () => {
      signal.removeEventListener("abort", onAbort)
      resolve()
    })
    signal.addEventListener("abort", onAbort, { once: true })
  })
}
