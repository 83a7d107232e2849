/** An answer that is a yes or a no, with more to say if one wants to: an object whose only required field is a boolean. */
import type { Json } from "@superstep/engine"

export interface Decision {
  /** The field that says yes or no. */
  readonly field: string
  /** The field for why not, where there is one. */
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

/** The answer: `said` is why not, and may be empty. */
export function decided({ field, reason }: Decision, isYes: boolean, said = ""): Json {
  if (isYes || reason === undefined || said === "") return { [field]: isYes }
  return { [field]: isYes, [reason]: said }
}

function typeOf(schema: Json | undefined): Json | undefined {
  return isRecord(schema) ? schema.type : undefined
}

function isRecord(value: Json | undefined): value is { readonly [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
