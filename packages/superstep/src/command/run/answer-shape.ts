/** What the schema of a question asks for: choices, fields, or the decision of a hand-off. Schemas and data are untrusted. */
import type { Json } from "@superstep/engine"
import { isRecord, typeOf } from "./read-input.ts"

/** The values to choose from: `enum`, or alternatives that are all constants. */
export function choicesOf(schema: Json | undefined): readonly Json[] | undefined {
  if (!isRecord(schema)) return undefined
  const { enum: listed, oneOf, anyOf } = schema
  if (Array.isArray(listed) && listed.length > 0) return listed
  const branches = Array.isArray(oneOf) ? oneOf : Array.isArray(anyOf) ? anyOf : []
  const constants = branches.map((one) => (isRecord(one) ? one.const : undefined))
  if (constants.length === 0 || constants.some((one) => one === undefined)) return undefined
  return constants as Json[]
}

export interface Field {
  readonly name: string
  readonly schema: Json
  readonly isRequired: boolean
}

const MAX_FIELDS = 40

/** The fields of an object that can be asked for one by one. */
export function fieldsIn(schema: Json | undefined): readonly Field[] | undefined {
  if (!isRecord(schema) || typeOf(schema) !== "object" || !isRecord(schema.properties)) return undefined
  const required = Array.isArray(schema.required) ? schema.required : []
  const fields = Object.entries(schema.properties).map(([name, one]): Field => {
    return { name, schema: one, isRequired: required.includes(name) }
  })
  return fields.length === 0 || fields.length > MAX_FIELDS ? undefined : fields
}

/** The request of a `human_handoff` node. */
export interface HandOff {
  readonly messages: readonly { readonly role: string; readonly text: string }[]
  readonly routes: readonly string[]
  /** Of a graph without a conversation: the last output. */
  readonly latest?: Json | undefined
}

export function handOffIn(data: Json | undefined): HandOff | undefined {
  if (!isRecord(data) || !Array.isArray(data.routes)) return undefined
  if (!Array.isArray(data.messages) && data.latest === undefined) return undefined
  const messages = Array.isArray(data.messages) ? (data.messages as readonly Json[]) : []
  return {
    routes: data.routes.filter((one): one is string => typeof one === "string"),
    latest: data.latest,
    messages: messages.flatMap((one) =>
      isRecord(one) && typeof one.text === "string" ? [{ role: String(one.role ?? ""), text: one.text }] : [],
    ),
  }
}
