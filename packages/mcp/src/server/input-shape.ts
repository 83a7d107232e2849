/** What a workflow takes, as the arguments of a tool: an object, which clients insist on. */
import type { Json, Schema, Workflow } from "@superstep/engine"

export interface InputShape {
  readonly schema: ObjectSchema
  /** The workflow's input, from the arguments that a client sent. */
  readonly inputOf: (args: Readonly<Record<string, unknown>>) => unknown
}

type ObjectSchema = { readonly type: "object"; readonly [key: string]: unknown }

/** An object schema of the start node as it is; everything else under `input`; a text where nothing is said. */
export function inputShape({ program }: Workflow, given: Schema | undefined): InputShape {
  const handlers = program.nodes[program.graph.start]?.handlers ?? []
  const schemas = given === undefined ? handlers.map(({ schema }) => schema) : [given]
  const known = schemas.map(jsonSchemaOf)
  const [first] = known
  if (known.length === 1 && isObjectSchema(first)) return { schema: plain(first), inputOf: (args) => args }
  const said = known.every((schema) => schema !== undefined)
  const input =
    !said || known.length === 0 ? TEXT : known.length === 1 ? (first as Json) : { anyOf: known as Json[] }
  return {
    schema: { type: "object", properties: { input }, required: ["input"], additionalProperties: false },
    inputOf: ({ input: value }) => value,
  }
}

const TEXT: Json = { type: "string", description: "What it starts with." }

function isObjectSchema(schema: Json | undefined): schema is ObjectSchema & Json {
  return typeof schema === "object" && schema !== null && "type" in schema && schema.type === "object"
}

function plain({ $schema: _, ...schema }: ObjectSchema): ObjectSchema {
  return schema as ObjectSchema
}

interface TellsJsonSchema {
  readonly jsonSchema?: { input(options: { readonly target: string }): Json } | undefined
}

/** Where its library can say it (Standard JSON Schema). */
function jsonSchemaOf(schema: Schema | undefined): Json | undefined {
  const standard = schema?.["~standard"] as TellsJsonSchema | undefined
  try {
    return standard?.jsonSchema?.input({ target: "draft-2020-12" })
  } catch {
    // A transform, a function: checked when the run starts.
    return undefined
  }
}
