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
  DEFAULT_VALUE_BYTES,
  type ErrorData,
  fromErrorData,
  isSuperstepError,
  type Json,
  type JsonProblem,
  jsonProblem,
  printJsonProblem,
  SuperstepError,
  toErrorData,
} from "../core/index.ts"
import { retryDelay, terminalError } from "../core/internal.ts"
import type { Clock } from "../runtime/index.ts"
import { andThen, fromUser, type MaybePromise } from "../runtime/internal.ts"
import { cutText } from "../text/index.ts"
import { contentParts } from "./file-part.ts"
import { Masking } from "./secrets.ts"
import { AttemptTimer, pause, stoppable } from "./time-limit.ts"
import type { ParsedArgs, Tool, ToolCallContext } from "./tool.ts"

export type ToolOutcome =
  | { readonly ok: true; readonly value: Json; readonly cut?: Cut }
  | { readonly ok: false; readonly error: ErrorData }

export interface CallToolOptions {
  /** Default: the clock of the run. */
  readonly clock?: Clock | undefined
  /** The maximum number of characters of the result. Default 100,000. */
  readonly maxResult?: number | undefined
}

const MAX_ARGS = 1_000_000
const MAX_RESULT = 100_000

/** Parses and checks the arguments that the model wrote. Some models write nothing if there are none. */
export async function readArgs(tool: Tool, text: string): Promise<ParsedArgs> {
  return await restoredArgs(tool, text, (args) => args)
}

/** Like `readArgs`, for arguments in the form that the provider was sent the parameters in: `restore` converts them. */
export function restoredArgs(
  tool: Tool,
  text: string,
  restore: (args: Json) => Json,
): ParsedArgs | Promise<ParsedArgs> {
  if (text.length > MAX_ARGS) {
    return { ok: false, reason: `they are ${text.length} characters long; at most ${MAX_ARGS} are allowed` }
  }
  const { secret = [] } = tool
  let args: Json
  try {
    args = text.trim() === "" ? {} : JSON.parse(text)
  } catch (error) {
    // The message quotes a piece of the arguments, which may be a secret.
    const why = secret.length > 0 || !(error instanceof Error) ? "" : `: ${error.message}`
    return { ok: false, reason: `they are not JSON${why}` }
  }
  const parsed = tool.parse(restore(args))
  if (secret.length === 0) return parsed
  return "ok" in parsed ? masked(parsed, args, secret) : parsed.then((one) => masked(one, args, secret))
}

/** A schema may quote the arguments in its reason. */
function masked(parsed: ParsedArgs, args: Json, secret: readonly string[]): ParsedArgs {
  return parsed.ok ? parsed : { ok: false, reason: new Masking(args, secret).text(parsed.reason) }
}

/** Runs a tool with checked arguments. `call.signal` stops it, even between two attempts. */
export async function callTool(
  tool: Tool,
  args: unknown,
  call: ToolCallContext,
  options: CallToolOptions = {},
): Promise<ToolOutcome> {
  const { clock = call.ctx.clock, maxResult = MAX_RESULT } = options
  const masking = new Masking(args, tool.secret)
  const progress = (data: unknown) => call.progress(masking.json(toJson(data, tool.name)))
  for (let attempt = 1; ; attempt++) {
    call.signal.throwIfAborted()
    let error: ErrorData
    let cause: unknown
    try {
      const returned = toJson(await runOnce(tool, args, call, progress, clock), tool.name)
      const { value, cut } = cutToSize(masking.json(returned), maxResult)
      return cut === undefined ? { ok: true, value } : { ok: true, value, cut }
    } catch (thrown) {
      call.signal.throwIfAborted()
      if (isSuperstepError(thrown) && (thrown.limit === true || thrown.fatal === true)) throw thrown
      error = maskError(toErrorData(thrown), masking)
      // A secret may be anywhere in an error, even in its stack, so the error is created anew.
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
function runOnce(
  tool: Tool,
  args: unknown,
  call: ToolCallContext,
  progress: ToolCallContext["progress"],
  clock: Clock,
): Promise<unknown> {
  const { timeout } = tool
  if (timeout === undefined) {
    return stoppable(call.signal, (signal) =>
      resultOf(tool.run(args as never, callWith(call, { progress, signal })), progress, signal),
    )
  }
  return stoppable(call.signal, async (signal, stop) => {
    const timer = new AttemptTimer(clock, timeout, () => stop(timedOut(tool)))
    signal().addEventListener("abort", () => timer.end(), { once: true })
    try {
      const watched = callWith(call, { ctx: timer.watching(call.ctx), progress, signal })
      return await resultOf(tool.run(args as never, watched), progress, signal)
    } finally {
      timer.end()
    }
  })
}

/** The result of a tool, which may be sent by an async generator. */
function resultOf(
  returned: unknown,
  progress: ToolCallContext["progress"],
  signal: () => AbortSignal,
): MaybePromise<unknown> {
  return andThen(fromUser(returned), (made) => (isGenerator(made) ? lastOf(made, progress, signal) : made))
}

/** Sends the values that a generator yields as progress, and returns its result. */
async function lastOf(
  made: AsyncGenerator,
  progress: ToolCallContext["progress"],
  signal: () => AbortSignal,
): Promise<unknown> {
  for (;;) {
    const { value, done } = await made.next()
    if (done) return value
    if (signal().aborted) {
      await made.return(undefined)
      signal().throwIfAborted()
    }
    progress(value)
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

/** Key of the path of an agent's tool call. */
export const PATH: unique symbol = Symbol("path") as never

/** The same call with other members. `context` is not copied: reading it throws if the run has none. */
export function callWith(
  call: ToolCallContext & { readonly [PATH]?: string | undefined },
  changed: Partial<Pick<ToolCallContext, "progress" | "ctx">> & { readonly signal?: () => AbortSignal },
): ToolCallContext & { readonly [PATH]?: string | undefined } {
  const { id, agent, tool, idempotencyKey, generate } = call
  const copy: ReturnType<typeof callWith> = {
    id,
    agent,
    tool,
    idempotencyKey,
    get ctx() {
      return changed.ctx ?? call.ctx
    },
    progress: changed.progress ?? ((data) => call.progress(data)),
    get signal() {
      return changed.signal?.() ?? call.signal
    },
    get context() {
      return call.context
    },
    [PATH]: call[PATH],
  }
  // Not spread into the literal, which then takes five times as long.
  return generate === undefined ? copy : Object.assign(copy, { generate })
}

function timedOut({ name, timeout }: Tool): SuperstepError {
  const text = `Tool "${name}" exceeded its timeout of ${timeout} ms and was stopped. It may have taken effect.`
  return new SuperstepError("TOOL_TIMEOUT", text)
}

// Converts the result of a tool to plain JSON of a bounded size: it is journaled, and a model has to read it.

/** Plain JSON with the same content: dates as strings, maps as objects, sets as lists, bytes as base64. */
export function toJson(value: unknown, tool: string): Json {
  if (value === undefined) return null
  // `cutToSize` cuts a long string.
  if (typeof value === "string") return value
  let plain = value
  let problem: JsonProblem | undefined
  try {
    // This may run code of the value, such as a getter or `toJSON`.
    problem = jsonProblem(value)
    if (problem === undefined) return value as Json
    if (problem.tooLarge !== undefined) throw tooLarge(tool)
    const text = JSON.stringify(value, boundedReplacer(tool))
    plain = text === undefined ? null : JSON.parse(text)
    problem = jsonProblem(plain)
  } catch (error) {
    if (isSuperstepError(error, "VALUE_TOO_LARGE")) throw error
    throw invalid(tool, error instanceof Error ? error.message : String(error), error)
  }
  if (problem !== undefined) throw invalid(tool, printJsonProblem(problem))
  return plain as Json
}

/** Counts while writing: data that is small in memory may be huge as JSON. */
function boundedReplacer(tool: string): (this: unknown, key: string, value: unknown) => unknown {
  let size = 0
  return function (key, value) {
    const plain = replacer.call(this, key, value)
    size += key.length + (typeof plain === "string" ? plain.length + 2 : 2)
    if (size > DEFAULT_VALUE_BYTES) throw tooLarge(tool)
    return plain
  }
}

function tooLarge(tool: string): SuperstepError {
  const text = `Tool "${tool}" ran, but its result is too large: more than ${DEFAULT_VALUE_BYTES} bytes as JSON. Ask it for less, or have it write a file and return its name.`
  return terminalError("VALUE_TOO_LARGE", text)
}

function replacer(this: unknown, key: string, value: unknown): unknown {
  if (key === "__proto__") return undefined
  // `toJSON` of a Buffer has already converted it to a list of numbers.
  const raw = (this as Record<string, unknown>)[key]
  if (raw instanceof Uint8Array) {
    return Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString("base64")
  }
  if (typeof value === "bigint") return value.toString()
  if (value instanceof Map) return Object.fromEntries(value)
  if (value instanceof Set) return [...value]
  if (value instanceof Error) return { name: value.name, message: value.message }
  return value
}

/** Not retryable: the tool would return the same. */
function invalid(tool: string, reason: string, cause?: unknown): SuperstepError {
  const text = `Tool "${tool}" ran, but its result is invalid: ${reason}. Return plain JSON data.`
  return terminalError("TOOL_RESULT_INVALID", text, cause)
}

export interface Cut {
  /** The number of characters kept, and of the whole value. */
  readonly shown: number
  readonly of: number
}

/** The value if it is short enough, else the beginning of its JSON with a notice about the rest. Files stay whole. */
export function cutToSize(value: Json, max: number): { readonly value: Json; readonly cut?: Cut } {
  const parts = contentParts(value)
  if (parts !== undefined) {
    return {
      value: parts.map((part) => (part.type === "text" ? cutToSize(part.text, max).value : part)) as Json,
    }
  }
  const text = typeof value === "string" ? value : JSON.stringify(value)
  if (text.length <= max) return { value }
  const start = cutText(text, max)
  const [shown, of] = [start.length, text.length]
  const notice = `\n… [cut: the first ${shown} of ${of} characters; ask for less to see the rest]`
  return { value: start + notice, cut: { shown, of } }
}
