/** An answer as text, or as data that fits a schema. What does not fit goes back to the model, with the reason. */
import { type Json, SuperstepError } from "../core/index.ts"
import type { ModelCall, ModelReply } from "../models/index.ts"
import { jsonSchemaOf, type Schema, validate } from "../runtime/index.ts"
import { textOf } from "./conversation.ts"
import { jsonAnswer } from "./json-answer.ts"

type ResponseFormat = NonNullable<ModelCall["responseFormat"]>
type FormatSchema = Extract<ResponseFormat, { type: "json" }>["schema"]

type Answer = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly reason: string }

export interface OutputFormat {
  readonly responseFormat?: ResponseFormat | undefined
  read(reply: ModelReply): Answer | Promise<Answer>
}

const TEXT: OutputFormat = { read: (reply) => ({ ok: true, value: textOf(reply) }) }

export function outputFormat(agent: string, schema: Schema | undefined): OutputFormat {
  if (schema === undefined) return TEXT
  // The model writes what the schema takes in; what it gives out is the agent's answer.
  const shape = jsonSchemaOf(schema, "input")
  const { title } = Object(shape) as { readonly title?: unknown }
  const name = (typeof title === "string" ? title : agent).replace(/[^A-Za-z0-9_-]+/g, "_").slice(0, 64)
  return {
    responseFormat: {
      type: "json",
      name: name === "" ? "answer" : name,
      ...(shape === undefined ? {} : { schema: closed(shape) as NonNullable<FormatSchema> }),
    },
    read: (reply) => readJson(schema, textOf(reply)),
  }
}

function readJson(schema: Schema, text: string): Answer | Promise<Answer> {
  const parsed = jsonAnswer(text)
  if (parsed === undefined) return { ok: false, reason: "it is not JSON" }
  return validate(schema, parsed.value)
}

/** How often an answer goes back to the model where the agent says nothing else. */
export const REPAIRS = 2

export function repairRequest(reason: string): string {
  return `Your answer does not fit: ${reason}. Answer again, with JSON that fits the schema and nothing else.`
}

export function outputInvalid(agent: string, reason: string, repairs: number): SuperstepError {
  const text = `The answer of agent "${agent}" does not fit its output schema, after ${repairs} repairs: ${reason}. Make the schema simpler, say more in the instructions, or allow more repairs.`
  return new SuperstepError("OUTPUT_INVALID", text, { retryable: false })
}

/**
 * Providers that hold a model to a schema want to be told that objects have no other properties. An object that is put
 * together from several schemas is left as it is: what one of them closed, the others could not add to.
 */
function closed(schema: Json, isPart = false): Json {
  if (Array.isArray(schema)) return schema.map((one: Json) => closed(one, isPart))
  if (typeof schema !== "object" || schema === null) return schema
  const { $schema: _, ...given } = schema as Shape
  const result = mapped(given, (value, key) => {
    if (DATA.has(key)) return value
    if (MAPS.has(key)) return isShape(value) ? mapped(value, (one) => closed(one)) : value
    return closed(value, key === "allOf")
  })
  const isWhole = !isPart && given.type === "object" && given.properties !== undefined
  const isOpen = OTHERS.every((key) => given[key] === undefined)
  return isWhole && isOpen ? { ...result, additionalProperties: false } : result
}

type Shape = { readonly [key: string]: Json | undefined }

/** Keywords whose values are data, not schemas. */
const DATA = new Set(["enum", "const", "default", "examples", "required"])
/** Keywords whose values are schemas by name, whatever the names are. */
const MAPS = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"])
/** Keywords by which an object may have other properties than its own. */
const OTHERS = [
  "additionalProperties",
  "unevaluatedProperties",
  "patternProperties",
  "allOf",
  "anyOf",
  "oneOf",
  "$ref",
]

function isShape(value: Json): value is { readonly [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function mapped(given: Shape, change: (value: Json, key: string) => Json): { [key: string]: Json } {
  const entries = Object.entries(given).flatMap(([key, value]) =>
    value === undefined ? [] : [[key, change(value, key)] as const],
  )
  return Object.fromEntries(entries)
}

/** For the node: what it gives, as others see it. The value has been read once; a schema that transforms must not see it again. */
export function alreadyRead(schema: Schema | undefined): Schema | undefined {
  if (schema === undefined) return undefined
  return { "~standard": { ...schema["~standard"], validate: (value: unknown) => ({ value }) } }
}
