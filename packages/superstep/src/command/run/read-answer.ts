/** An answer on the command line, read as the value that the question asks for. */
import type { Json, OpenRequest } from "@superstep/engine"
import type { ApprovalRequest } from "@superstep/engine/agents"
import { clipped } from "@superstep/engine/text"
import { usageError } from "../print/errors.ts"

export function isRecord(value: Json | undefined): value is { readonly [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/** The question is whether a tool may run. */
export function isApproval(data: Json | undefined): data is Json & ApprovalRequest {
  return isRecord(data) && data.kind === "tool-approval"
}

/** A schema that asks for yes or no, optionally with a reason: an object whose only required field is a boolean. */
export interface Decision {
  /** The boolean. */
  readonly field: string
  /** The field for why not, if there is one. */
  readonly reason?: string | undefined
}

const REASONS = ["feedback", "reason", "comment", "note"]

export function decisionIn(schema: Json | undefined): Decision | undefined {
  if (!isRecord(schema) || !Array.isArray(schema.required) || !isRecord(schema.properties)) return undefined
  const { properties, required } = schema
  const [field, ...others] = required
  if (typeof field !== "string" || others.length > 0 || typeOf(properties[field]) !== "boolean")
    return undefined
  return { field, reason: REASONS.find((name) => typeOf(properties[name]) === "string") }
}

/** The answer to a decision; `why` is why not, and may be empty. */
export function decided({ field, reason }: Decision, isYes: boolean, why = ""): Json {
  if (isYes || reason === undefined || why === "") return { [field]: isYes }
  return { [field]: isYes, [reason]: why }
}

/** The type that a schema names, if it names one. */
export function typeOf(schema: Json | undefined): string | undefined {
  const type = isRecord(schema) ? schema.type : undefined
  return typeof type === "string" ? type : undefined
}

const YES = new Set(["yes", "y", "true", "approve", "ok"])
const NO = new Set(["no", "n", "false", "deny"])

/**
 * The first reading of the text that matches the question's schema: the text itself, JSON, yes or no. If none matches it is
 * the text, and the engine reports what is wrong with it.
 */
export async function readAnswer(
  text: string,
  { schema, data }: Pick<OpenRequest, "schema" | "data">,
): Promise<Json> {
  const word = text.trim().toLowerCase()
  const decision = isApproval(data) ? { field: "approve", reason: "reason" } : decisionIn(schema)
  if (decision !== undefined) {
    if (YES.has(word)) return decided(decision, true)
    if (NO.has(word)) return decided(decision, false)
    const [, reason] = /^(?:no|deny)\s*[:,]\s*(.+)$/is.exec(text.trim()) ?? []
    if (reason !== undefined) return decided(decision, false, reason)
  }
  if (schema === undefined) return text
  for (const value of readings(text, word)) {
    if ((await answerProblem(value, schema)) === undefined) return value
  }
  return text
}

/** Why a value does not match a question's schema; undefined if it does. */
export async function answerProblem(value: Json, schema: Json): Promise<string | undefined> {
  const tools = await import("@superstep/engine/tools")
  return await tools.answerProblem(schema, value)
}

function* readings(text: string, word: string): Generator<Json> {
  yield text
  const parsed = parseJson(text)
  if (parsed !== undefined) yield parsed
  if (YES.has(word)) yield true
  if (NO.has(word)) yield false
}

/** Undefined if the text is not JSON. */
export function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** `--json-answer`. */
export function readJsonAnswer(text: string): Json {
  const value = parseJson(text)
  if (value !== undefined) return value
  throw usageError(`--json-answer is not JSON: ${clipped(text, 60)}. Write a string in quotes: '"yes"'.`)
}
