/** An answer as text, or as data that fits a schema. What does not fit goes back to the model, with the reason. */
import { type Json, SuperstepError } from "../core/index.ts"
import type { ModelCall, ModelReply } from "../models/index.ts"
import { jsonSchemaOf, type Schema, validate } from "../runtime/index.ts"
import { textOf } from "./conversation.ts"

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
  const name = agent.replace(/[^A-Za-z0-9_-]+/g, "_").slice(0, 64)
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
  const parsed = parseJson(text)
  if (parsed === undefined) return { ok: false, reason: "it is not JSON" }
  return validate(schema, parsed.value)
}

/** Some models wrap JSON in a code block, whatever they are told. */
function parseJson(text: string): { value: unknown } | undefined {
  const bare = /^\s*```(?:json)?\s*\n([\s\S]*?)\n?\s*```\s*$/.exec(text)?.[1] ?? text
  try {
    return { value: JSON.parse(bare) }
  } catch {
    return undefined
  }
}

export function repairRequest(reason: string): string {
  return `Your answer does not fit: ${reason}. Answer again, with JSON that fits the schema and nothing else.`
}

export function outputInvalid(agent: string, reason: string, repairs: number): SuperstepError {
  const text = `The answer of agent "${agent}" does not fit its output schema, after ${repairs} repairs: ${reason}. Make the schema simpler, say more in the instructions, or allow more repairs.`
  return new SuperstepError("OUTPUT_INVALID", text, { retryable: false })
}

/** Providers that hold a model to a schema want to be told that objects have no other properties. */
function closed(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== "object" || schema === null) return schema
  const { $schema: _, ...given } = schema as { readonly [key: string]: Json | undefined }
  const parts: [string, Json][] = []
  for (const [key, value] of Object.entries(given)) {
    if (value !== undefined) parts.push([key, isData(key) ? value : closed(value)])
  }
  const result = Object.fromEntries(parts)
  const open = given.type === "object" && given.properties !== undefined
  return open && given.additionalProperties === undefined
    ? { ...result, additionalProperties: false }
    : result
}

/** Keywords whose values are data, not schemas. */
function isData(key: string): boolean {
  return key === "enum" || key === "const" || key === "default" || key === "examples" || key === "required"
}

/** For the node: what it gives, as others see it. The value has been read once; a schema that transforms must not see it again. */
export function alreadyRead(schema: Schema | undefined): Schema | undefined {
  if (schema === undefined) return undefined
  return { "~standard": { ...schema["~standard"], validate: (value: unknown) => ({ value }) } }
}
