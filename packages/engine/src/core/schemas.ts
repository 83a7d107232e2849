/** Checks whether a node's output can match the next node's input: only certain mismatches are reported. */
import type { Json } from "./json.ts"
import { isRecord } from "./reducers.ts"

const TYPES = ["null", "boolean", "number", "string", "array", "object"]

/** Why no value of the schema `from` can satisfy the schema `to`; undefined if one might. */
export function schemaMismatch(from: Json | undefined, to: Json | undefined, at = ""): string | undefined {
  if (!isRecord(from) || !isRecord(to)) return undefined
  const unionMismatch = mismatchOfUnions(from, to, at)
  if (unionMismatch !== "none") return unionMismatch
  const sent = typesOf(from)
  const accepted = typesOf(to)
  const shared = sent.filter((type) => accepted.includes(type))
  const place = at === "" ? "" : `${at}: `
  if (shared.length === 0) return `${place}${sent.join(" or ")} is sent, ${accepted.join(" or ")} is accepted`
  const valueMismatch = mismatchOfValues(from, to, place)
  if (valueMismatch !== undefined) return valueMismatch
  if (shared.length > 1) return undefined
  if (shared[0] === "array") return schemaMismatch(from.items, to.items, `${at}[]`)
  return shared[0] === "object" ? mismatchOfObjects(from, to, at) : undefined
}

type SchemaObject = { readonly [key: string]: Json | undefined }

/** `anyOf` on either side: it matches if one alternative of each does. `none` if there is no union. */
function mismatchOfUnions(from: SchemaObject, to: SchemaObject, at: string): string | undefined | "none" {
  const sent = alternatives(from)
  const accepted = alternatives(to)
  if (sent === undefined && accepted === undefined) return "none"
  let first: string | undefined
  for (const one of sent ?? [from]) {
    for (const other of accepted ?? [to]) {
      const mismatch = schemaMismatch(one, other, at)
      if (mismatch === undefined) return undefined
      first ??= mismatch
    }
  }
  return first
}

function alternatives(schema: SchemaObject): readonly Json[] | undefined {
  const list = schema.anyOf ?? schema.oneOf
  return Array.isArray(list) && list.length > 0 ? list : undefined
}

function typesOf(schema: SchemaObject): string[] {
  const type = schema.type
  const named = Array.isArray(type) ? type : typeof type === "string" ? [type] : TYPES
  return [...new Set(named.map((name) => (name === "integer" ? "number" : String(name))))]
}

function mismatchOfValues(from: SchemaObject, to: SchemaObject, place: string): string | undefined {
  const sent = valuesOf(from)
  const accepted = valuesOf(to)
  if (sent === undefined || accepted === undefined) return undefined
  if (sent.some((value) => accepted.includes(value))) return undefined
  return `${place}${sent.join(" or ")} is sent, ${accepted.join(" or ")} is accepted`
}

function valuesOf(schema: SchemaObject): string[] | undefined {
  if (schema.const !== undefined) return [JSON.stringify(schema.const)]
  return Array.isArray(schema.enum) ? schema.enum.map((value) => JSON.stringify(value)) : undefined
}

function mismatchOfObjects(from: SchemaObject, to: SchemaObject, at: string): string | undefined {
  const sent = isRecord(from.properties) ? from.properties : {}
  const accepted = isRecord(to.properties) ? to.properties : {}
  const required = Array.isArray(to.required) ? to.required.map(String) : []
  for (const key of required) {
    const path = at === "" ? key : `${at}.${key}`
    if (!Object.hasOwn(sent, key)) {
      if (from.additionalProperties === false) return `"${path}" is required but never sent`
      continue
    }
    const mismatch = schemaMismatch(sent[key], accepted[key], path)
    if (mismatch !== undefined) return mismatch
  }
  return undefined
}
