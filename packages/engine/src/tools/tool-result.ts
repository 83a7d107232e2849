/** What a tool returned, as plain data of a bounded size: it is journaled, and a model has to read it. */
import {
  DEFAULT_VALUE_BYTES,
  isSuperstepError,
  type Json,
  type JsonProblem,
  jsonProblem,
  printJsonProblem,
  SuperstepError,
} from "../core/index.ts"
import { cutText } from "../text/index.ts"

/** Plain JSON data that says the same: dates as text, maps as objects, sets as lists, bytes as base64. */
export function toJson(value: unknown, tool: string): Json {
  if (value === undefined) return null
  let plain = value
  let problem: JsonProblem | undefined
  try {
    // Looking at it may run its own code: a getter, a toJSON.
    // A long text is cut, however long it is.
    if (typeof value === "string") return value
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

/** Counts while it goes: data that is small in memory may be endless as text. */
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
  const text = `Tool "${tool}" ran, but what it returned is too large: more than ${DEFAULT_VALUE_BYTES} bytes as JSON. Ask it for less, or have it write a file and return its name.`
  return new SuperstepError("VALUE_TOO_LARGE", text, { retryable: false })
}

function replacer(this: unknown, key: string, value: unknown): unknown {
  if (key === "__proto__") return undefined
  // Buffer turns itself into a list of numbers before it comes here.
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

function invalid(tool: string, reason: string, cause?: unknown): SuperstepError {
  const text = `Tool "${tool}" ran, but what it returned cannot be used: ${reason}. Return plain JSON data.`
  // It did what it does: doing it again gives the same.
  return new SuperstepError("TOOL_RESULT_INVALID", text, { cause, retryable: false })
}

export interface Cut {
  /** Characters that are left, of all that there were. */
  readonly shown: number
  readonly of: number
}

/** The value if it is short enough, else the beginning of its text with a word about the rest. */
export function cutToSize(value: Json, most: number): { readonly value: Json; readonly cut?: Cut } {
  const text = typeof value === "string" ? value : JSON.stringify(value)
  if (text.length <= most) return { value }
  const start = cutText(text, most)
  const [shown, of] = [start.length, text.length]
  const notice = `\n… [cut: the first ${shown} of ${of} characters; ask for less to see the rest]`
  return { value: start + notice, cut: { shown, of } }
}
