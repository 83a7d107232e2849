/** An answer as it is written on the command line, as the value that the question asks for. */
import type { Json, OpenRequest } from "@superstep/engine"
import { isApproval } from "./ask-person.ts"
import { decided, decisionIn } from "./decision.ts"
import { usageError } from "./usage-error.ts"

const YES = new Set(["yes", "y", "true", "approve", "ok"])
const NO = new Set(["no", "n", "false", "deny"])

/**
 * The first reading of the text that fits the question: the text itself, JSON, yes or no. Where none does it is the text,
 * and the engine says what is wrong with it.
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
  const { jsonSchema, withoutUncheckedPatterns } = await import("@superstep/engine/tools")
  // What cannot be checked here, the run checks with the schema that it asked with.
  const shape = jsonSchema(withoutUncheckedPatterns(schema).schema)["~standard"]
  for (const value of readings(text, word)) {
    const checked = await shape.validate(value)
    if (checked.issues === undefined) return value
  }
  return text
}

function* readings(text: string, word: string): Generator<Json> {
  yield text
  const parsed = parse(text)
  if (parsed !== undefined) yield parsed
  if (YES.has(word)) yield true
  if (NO.has(word)) yield false
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** `--json-answer`. */
export function readJsonAnswer(text: string): Json {
  const value = parse(text)
  if (value !== undefined) return value
  throw usageError(`--json-answer is no JSON: ${text.slice(0, 60)}. A text is written in quotes: '"yes"'.`)
}
