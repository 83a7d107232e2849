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
import { pause, stoppable } from "./time-limit.ts"
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
    // What is wrong with it is told with a piece of it, which may be a secret.
    const why = hasSecrets(tool) || !(error instanceof Error) ? "" : `: ${error.message}`
    return { ok: false, reason: `they are not JSON${why}` }
  }
  const parsed = await tool.parse(args)
  if (parsed.ok || !hasSecrets(tool)) return parsed
  return { ok: false, reason: new Masking(args, tool.secret).text(parsed.reason) }
}

function hasSecrets({ secret = [] }: Tool): boolean {
  return secret.length > 0
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
    await pause(clock, delay, call.signal)
  }
}

function failed(tool: Tool, error: ErrorData): ToolOutcome {
  if (tool.fatal !== true) return { ok: false, error }
  throw new SuperstepError("TOOL_FAILED", `Tool "${tool.name}" failed: ${error.message}`, {
    cause: fromErrorData(error),
    ...(error.retryable === undefined ? {} : { retryable: error.retryable }),
  })
}

/** The error with its causes, without secrets. */
export function maskError(error: ErrorData, masking: Masking): ErrorData {
  const cause = error.cause === undefined ? {} : { cause: maskError(error.cause, masking) }
  const { code, message } = error
  // A long message was cut, maybe in the middle of a secret.
  const masked = message.endsWith("…") ? `${masking.beginning(message.slice(0, -1))}…` : masking.text(message)
  return { ...error, code: masking.text(code), message: masked, ...cause }
}

/** One attempt, which ends with the task or with its own time. */
function runOnce(tool: Tool, args: unknown, call: ToolCallContext, clock: Clock): Promise<unknown> {
  return stoppable(call.signal, async (signal, stop) => {
    if (tool.timeout === undefined) return tool.run(args as never, { ...call, signal })
    const time = new AttemptTime(clock, tool.timeout, () => stop(timedOut(tool.name, tool.timeout)))
    signal.addEventListener("abort", () => time.end(), { once: true })
    try {
      return await tool.run(args as never, { ...call, ctx: time.watching(call.ctx), signal })
    } finally {
      time.end()
    }
  })
}

function timedOut(tool: string, milliseconds: number | undefined): SuperstepError {
  const text = `Tool "${tool}" took longer than its ${milliseconds} ms and was stopped. What it did until then may have happened.`
  return new SuperstepError("TOOL_TIMEOUT", text)
}
