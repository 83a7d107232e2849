/**
 * A question of a run as a form that an MCP client shows to its user (elicitation). A form is flat: an object of texts,
 * numbers, booleans and choices of one or several. A question for anything else is a form with one field for JSON.
 */
import type { Json, OpenRequest } from "@superstep/engine"

type Fields = Readonly<Record<string, Json>>

export interface Form {
  readonly message: string
  readonly requestedSchema: {
    readonly type: "object"
    readonly properties: Fields
    readonly required?: readonly string[]
  }
}

/** The field of a form whose question is not for an object. */
const FIELD = "answer"

/** What the protocol allows in the schema of a field. The run checks the rest of the question's schema. */
const KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  string: ["minLength", "maxLength", "enum", "enumNames", "oneOf"],
  number: ["minimum", "maximum"],
  integer: ["minimum", "maximum"],
  boolean: [],
}
const FORMATS = ["email", "uri", "date", "date-time"]

/** `problem`: why the last answer was refused. */
export function formOf(request: OpenRequest, problem?: string): Form {
  const { prompt, data } = request
  const about = data === undefined ? [] : [typeof data === "string" ? data : JSON.stringify(data)]
  const message = [...(problem === undefined ? [] : [problem]), prompt, ...about].join("\n\n")
  const { fields, required } = fieldsOf(request)
  return { message, requestedSchema: { type: "object", properties: fields, required } }
}

/** The answer that a filled form means. */
export function answerOf(request: OpenRequest, content: Readonly<Record<string, unknown>> = {}): unknown {
  const { isWhole, isJson } = fieldsOf(request)
  if (isWhole) return content
  const value = content[FIELD]
  return isJson && typeof value === "string" ? parsed(value) : value
}

function fieldsOf({ schema }: OpenRequest): {
  readonly fields: Fields
  readonly required: readonly string[]
  /** The form has the fields of the answer, not the answer as its field. */
  readonly isWhole: boolean
  readonly isJson: boolean
} {
  const { type, properties, required } = objectOf(schema)
  const names = type === "object" ? Object.keys(objectOf(properties)) : []
  const fields = names.map((name) => [name, fieldOf(objectOf(properties)[name])] as const)
  if (names.length > 0 && fields.every(([, field]) => field !== undefined)) {
    const needed = Array.isArray(required) ? required.filter((name) => names.includes(name)) : []
    return {
      fields: Object.fromEntries(fields) as Fields,
      required: needed,
      isWhole: true,
      isJson: false,
    }
  }
  const field = schema === undefined ? { type: "string" } : fieldOf(schema)
  const json = { type: "string", title: "JSON", description: `It must match ${JSON.stringify(schema)}` }
  return {
    fields: { [FIELD]: field ?? json },
    required: [FIELD],
    isWhole: false,
    isJson: field === undefined,
  }
}

/** A choice of several texts; undefined if the items are anything else. */
function choicesOf(schema: Readonly<Record<string, unknown>>): Json | undefined {
  const { type, enum: plain, anyOf: titled } = objectOf(schema.items)
  const isPlain = type === "string" && Array.isArray(plain) && plain.every((one) => typeof one === "string")
  const isTitled = Array.isArray(titled) && titled.every((one) => typeof objectOf(one).const === "string")
  if (!isPlain && !isTitled) return undefined
  const kept = ["title", "description", "default", "minItems", "maxItems"].filter((name) => name in schema)
  const items = isPlain ? { type: "string", enum: plain } : { anyOf: titled }
  return { type: "array", items, ...Object.fromEntries(kept.map((name) => [name, schema[name]])) } as Json
}

/** The schema of one field; undefined if a form cannot have it. */
function fieldOf(schema: unknown): Json | undefined {
  if (objectOf(schema).type === "array") return choicesOf(objectOf(schema))
  const { type: declared, enum: choices, ...rest } = objectOf(schema)
  const isChoice = Array.isArray(choices) && choices.every((one) => typeof one === "string")
  const type = declared === undefined && isChoice ? "string" : String(declared)
  const keywords = KEYWORDS[type]
  if (keywords === undefined || "anyOf" in rest || "const" in rest) return undefined
  const all: Readonly<Record<string, unknown>> = { ...rest, enum: choices }
  const kept = ["title", "description", "default", ...keywords].filter((name) => all[name] !== undefined)
  const format = FORMATS.includes(String(rest.format)) ? { format: rest.format } : {}
  return { type, ...format, ...Object.fromEntries(kept.map((name) => [name, all[name]])) } as Record<
    string,
    Json
  >
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}

/** The value of JSON; text that is none as it is. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
