/** Turns what a tool returned into plain JSON of a bounded size: it is journaled, and a model has to read it. */
import {
  DEFAULT_VALUE_BYTES,
  isSuperstepError,
  type Json,
  type JsonProblem,
  jsonProblem,
  printJsonProblem,
  type SuperstepError,
} from "../core/index.ts"
import { terminalError } from "../core/internal.ts"
import { cutText } from "../text/index.ts"
import { contentParts } from "./file-part.ts"

/** Plain JSON with the same content: dates as strings, maps as objects, sets as lists, bytes as base64. */
export function toJson(value: unknown, tool: string): Json {
  if (value === undefined) return null
  // `cutToSize` cuts a long string.
  if (typeof value === "string") return value
  let plain = value
  let problem: JsonProblem | undefined
  try {
    // This may run code of the value: a getter, a toJSON.
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

/** Counts as it writes: data that is small in memory may be endless as JSON. */
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
  // A Buffer has already turned itself into a list of numbers.
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

/** A retry would return the same. */
function invalid(tool: string, reason: string, cause?: unknown): SuperstepError {
  const text = `Tool "${tool}" ran, but its result is invalid: ${reason}. Return plain JSON data.`
  return terminalError("TOOL_RESULT_INVALID", text, cause)
}

export interface Cut {
  /** Characters that are left, of all that there were. */
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
