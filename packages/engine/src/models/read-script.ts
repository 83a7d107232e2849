/** Reads a script: every entry checked, and what is wrong told with its place. */
import { jsonProblem, printJsonProblem, SuperstepError } from "../core/index.ts"
import type { ScriptReply } from "./script.ts"

/** An entry that has been checked. */
export interface ReadEntry extends Omit<ScriptReply, "when" | "repeat"> {
  readonly when?: { readonly test: (text: string) => boolean; readonly print: string } | undefined
  /** May be Infinity. */
  readonly repeat: number
  /** Where it is written, like `script.yaml:7`, when that is known. */
  readonly at?: string | undefined
}

/** Says where a value of a script is written, by its path. */
export type WrittenAt = (path: readonly (string | number)[]) => string | undefined

/** Under which an entry out of a file knows where it is written. */
export const AT = Symbol.for("superstep.script.at")

/** The entries by agent; those of a plain list are under `*`. */
export function readScript(
  script: unknown,
  writtenAt: WrittenAt = () => undefined,
): Map<string, ReadEntry[]> {
  const read = (list: unknown, path: readonly (string | number)[]): ReadEntry[] => {
    const problem = new Problems(path, writtenAt)
    if (!Array.isArray(list)) throw problem.at([], `is ${kindOf(list)}; an agent has a list of entries`)
    const entries = list.map((entry, index) => readEntry(entry, new Problems([...path, index], writtenAt)))
    const endless = entries.findIndex(({ repeat }) => repeat === Number.POSITIVE_INFINITY)
    if (endless >= 0 && endless < entries.length - 1) {
      throw problem.at([endless + 1], "is never reached, because the entry before it is repeated for ever")
    }
    return entries
  }
  if (Array.isArray(script)) return new Map([["*", read(script, [])]])
  if (!isRecord(script)) {
    throw new Problems([], writtenAt).at(
      [],
      `is ${kindOf(script)}; it is a list of entries, or one for each agent`,
    )
  }
  return new Map(Object.entries(script).map(([agent, list]) => [agent, read(list, [agent])]))
}

const FIELDS = ["text", "json", "tool_calls", "error", "reasoning", "usage", "delay", "when", "repeat"]

function readEntry(raw: unknown, problem: Problems): ReadEntry {
  if (typeof raw === "string") return { text: raw, repeat: 1, at: problem.writtenAt() }
  if (!isRecord(raw))
    throw problem.at([], `is ${kindOf(raw)}; an entry is a text or says text, json, tool_calls or error`)
  problem.fields([], raw, FIELDS)
  const { text, json, tool_calls: calls, error, reasoning, usage, delay, when, repeat } = raw
  const said = ["text", "json", "tool_calls", "error"].filter((field) => raw[field] !== undefined)
  if (said.length === 0) throw problem.at([], "says nothing; it needs text, json, tool_calls or error")
  if (said.length > 1 && said.join() !== "text,tool_calls") {
    throw problem.at([said[1] ?? ""], `is one thing too many beside ${said[0]}; an entry is one reply`)
  }
  problem.kind(["text"], text, "string")
  problem.kind(["reasoning"], reasoning, "string")
  if (error !== undefined && reasoning !== undefined)
    throw problem.at(["reasoning"], "does not go with an error")
  if (json !== undefined) problem.json(["json"], json)
  problem.number(["delay"], delay)
  if (usage !== undefined) {
    if (!isRecord(usage))
      throw problem.at(["usage"], `is ${kindOf(usage)}; it is { input, output } in tokens`)
    problem.fields(["usage"], usage, ["input", "output"])
    problem.number(["usage", "input"], usage.input)
    problem.number(["usage", "output"], usage.output)
  }
  if (calls !== undefined) readCalls(calls, problem)
  if (error !== undefined) readError(error, problem)
  // Checked field by field above.
  return {
    ...(raw as ScriptReply),
    when: readWhen(when, problem),
    repeat: readRepeat(repeat, problem),
    at: problem.writtenAt(raw),
  }
}

function readCalls(calls: unknown, problem: Problems): void {
  if (!Array.isArray(calls) || calls.length === 0) {
    throw problem.at(["tool_calls"], "is a list of at least one { name, args }")
  }
  for (const [index, call] of calls.entries()) {
    const path = ["tool_calls", index]
    if (!isRecord(call)) throw problem.at(path, `is ${kindOf(call)}; a tool call is { name, args }`)
    problem.fields(path, call, ["name", "args", "id"])
    if (typeof call.name !== "string" || call.name === "") {
      throw problem.at([...path, "name"], "is missing; it is the name of a tool")
    }
    problem.kind([...path, "id"], call.id, "string")
    if (call.args !== undefined) problem.json([...path, "args"], call.args)
  }
}

function readError(error: unknown, problem: Problems): void {
  if (!isRecord(error)) throw problem.at(["error"], `is ${kindOf(error)}; it is { code, message, retryable }`)
  problem.fields(["error"], error, ["code", "message", "retryable"])
  const { code, message, retryable } = error
  if (code === undefined && message === undefined) throw problem.at(["error"], "needs a code or a message")
  if (code !== undefined && typeof code !== "string" && !Number.isSafeInteger(code)) {
    throw problem.at(["error", "code"], `is ${kindOf(code)}; it is a text or an HTTP status`)
  }
  problem.kind(["error", "message"], message, "string")
  problem.kind(["error", "retryable"], retryable, "boolean")
}

function readWhen(when: unknown, problem: Problems): ReadEntry["when"] {
  if (when === undefined) return undefined
  if (when instanceof RegExp) return pattern(when)
  if (typeof when !== "string" || when === "") {
    throw problem.at(["when"], "is a part of the last message's text, or a pattern like /weather in \\w+/i")
  }
  const [, source, flags] = /^\/(.+)\/([a-z]*)$/s.exec(when) ?? []
  if (source === undefined) return { test: (text) => text.includes(when), print: JSON.stringify(when) }
  try {
    return pattern(new RegExp(source, flags))
  } catch (error) {
    throw problem.at(["when"], `is no pattern: ${error instanceof Error ? error.message : error}`)
  }
}

/** Without the flags that make a pattern remember where it was. */
function pattern(given: RegExp): ReadEntry["when"] {
  const own = new RegExp(given.source, given.flags.replace(/[gy]/g, ""))
  return { test: (text) => own.test(text), print: String(given) }
}

function readRepeat(repeat: unknown, problem: Problems): number {
  if (repeat === undefined) return 1
  if (repeat === true) return Number.POSITIVE_INFINITY
  if (Number.isSafeInteger(repeat) && (repeat as number) >= 1) return repeat as number
  throw problem.at(["repeat"], "is how often the entry is the reply, 1 or more, or true for ever")
}

/** Throws what is wrong at a place of a script. */
class Problems {
  readonly #base: readonly (string | number)[]
  readonly #written: WrittenAt

  constructor(base: readonly (string | number)[], written: WrittenAt) {
    this.#base = base
    this.#written = written
  }

  writtenAt(entry?: object): string | undefined {
    return this.#written(this.#base) ?? (entry as { [AT]?: string } | undefined)?.[AT]
  }

  at(path: readonly (string | number)[], what: string): SuperstepError {
    const whole = [...this.#base, ...path]
    const at = this.#written(whole)
    return new SuperstepError(
      "SCRIPT_INVALID",
      `The script cannot be used: ${printPath(whole)} ${what}.${at === undefined ? "" : ` (${at})`}`,
      { retryable: false },
    )
  }

  fields(path: readonly (string | number)[], value: object, known: readonly string[]): void {
    const unknown = Object.keys(value).find((field) => !known.includes(field))
    if (unknown !== undefined)
      throw this.at([...path, unknown], `is not known; known are ${known.join(", ")}`)
  }

  kind(path: readonly (string | number)[], value: unknown, kind: "string" | "boolean"): void {
    if (value !== undefined && typeof value !== kind) {
      throw this.at(path, `is ${kindOf(value)}; it is a ${kind === "string" ? "text" : kind}`)
    }
  }

  number(path: readonly (string | number)[], value: unknown): void {
    if (value !== undefined && !(typeof value === "number" && Number.isFinite(value) && value >= 0)) {
      throw this.at(path, "is a number of at least 0")
    }
  }

  json(path: readonly (string | number)[], value: unknown): void {
    const found = jsonProblem(value)
    if (found !== undefined) throw this.at(path, `cannot be JSON: ${printJsonProblem(found)}`)
  }
}

function printPath(path: readonly (string | number)[]): string {
  if (path.length === 0) return "it"
  const [first, ...rest] = path
  const start = typeof first === "number" ? `entry ${first + 1}` : `"${first}"`
  return rest.reduce<string>(
    (text, key) => text + (typeof key === "number" ? `[${key + 1}]` : `.${key}`),
    start,
  )
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return "empty"
  if (Array.isArray(value)) return "a list"
  return typeof value === "string" ? "a text" : `a ${typeof value === "object" ? "mapping" : typeof value}`
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
