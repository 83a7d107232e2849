/**
 * Does a value fit a schema? Enough of JSON Schema (draft 7 and 2020-12) to choose among candidates; the caller's own
 * validation has the last word.
 */

import { compilePattern, isFound, type Pattern, PatternError } from "../../text/patterns/index.ts"
import { fitsFormat } from "./formats.ts"
import {
  isSchema,
  resolve,
  type SchemaNode,
  type SchemaObject,
  schemaList,
  schemaMap,
  strings,
} from "./json-schema.ts"

const MAX_DEPTH = 64
/** Schemas that one check goes through: references that branch would double it at every level. */
const MAX_CHECKS = 100_000
const PATTERN_LIMITS = { length: 5_000, instructions: 5_000 }
/** States of a pattern tried over one text. */
const MAX_TRIES = 1_000_000

export function fits(node: SchemaNode, value: unknown, root: SchemaNode = node): boolean {
  return fitsWithin({ root, left: MAX_CHECKS }, node, value, 0)
}

interface Check {
  readonly root: SchemaNode
  left: number
}

function fitsWithin(check: Check, node: SchemaNode, value: unknown, depth: number): boolean {
  if (depth > MAX_DEPTH || check.left-- <= 0) return false
  const schema = resolve(node, check.root)
  if (schema === undefined || typeof schema === "boolean") return schema === true
  const inner = (part: SchemaNode, of: unknown) => fitsWithin(check, part, of, depth + 1)
  return (
    fitsType(schema, value) &&
    fitsListed(schema, value) &&
    (typeof value !== "string" || fitsString(schema, value)) &&
    (typeof value !== "number" || fitsNumber(schema, value)) &&
    (!Array.isArray(value) || fitsArray(schema, value, inner)) &&
    (!isRecord(value) || fitsObject(schema, value, inner)) &&
    fitsBranches(schema, value, inner)
  )
}

type Inner = (part: SchemaNode, of: unknown) => boolean

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function same(a: unknown, b: unknown): boolean {
  return canonical(a) === canonical(b)
}

/** JSON text that does not depend on the order of keys. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`
  if (!isRecord(value)) return JSON.stringify(value) ?? "null"
  const fields = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`)
  return `{${fields.join(",")}}`
}

function fitsType({ type, nullable }: SchemaObject, value: unknown): boolean {
  if (type === undefined || (nullable === true && value === null)) return true
  return (typeof type === "string" ? [type] : strings(type)).some((name) => isOf(name, value))
}

function isOf(type: string, value: unknown): boolean {
  switch (type) {
    case "integer":
      return Number.isInteger(value)
    case "number":
      return typeof value === "number"
    case "null":
      return value === null
    case "array":
      return Array.isArray(value)
    case "object":
      return isRecord(value)
    default:
      return typeof value === type
  }
}

function fitsListed(schema: SchemaObject, value: unknown): boolean {
  if (Object.hasOwn(schema, "const") && !same(schema.const, value)) return false
  return !Array.isArray(schema.enum) || schema.enum.some((item) => same(item, value))
}

function fitsString({ minLength, maxLength, pattern, format }: SchemaObject, value: string): boolean {
  const length = [...value].length
  if (typeof minLength === "number" && length < minLength) return false
  if (typeof maxLength === "number" && length > maxLength) return false
  if (typeof format === "string" && !fitsFormat(format, value)) return false
  return typeof pattern !== "string" || (regex(pattern)?.test(value) ?? true)
}

interface TextTest {
  test(text: string): boolean
}

/** Undefined for a pattern that cannot be matched in linear time: it is left to the caller's validation. */
export function regex(source: string): TextTest | undefined {
  try {
    const pattern = compilePattern(source, PATTERN_LIMITS)
    return { test: (text) => isWithin(pattern, text) }
  } catch (error) {
    if (error instanceof PatternError) return undefined
    throw error
  }
}

class TooManyTries extends Error {}

function isWithin(pattern: Pattern, text: string): boolean {
  let left = MAX_TRIES
  try {
    return isFound(pattern, text, (tries) => {
      left -= tries
      if (left < 0) throw new TooManyTries()
    })
  } catch (error) {
    if (error instanceof TooManyTries) return false
    throw error
  }
}

function fitsNumber(schema: SchemaObject, value: number): boolean {
  const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below, multipleOf } = schema
  if (typeof minimum === "number" && (above === true ? value <= minimum : value < minimum)) return false
  if (typeof maximum === "number" && (below === true ? value >= maximum : value > maximum)) return false
  if (typeof above === "number" && value <= above) return false
  if (typeof below === "number" && value >= below) return false
  return typeof multipleOf !== "number" || Number.isInteger(value / multipleOf)
}

function fitsArray(schema: SchemaObject, value: readonly unknown[], inner: Inner): boolean {
  const { minItems, maxItems, uniqueItems, contains, minContains = 1, maxContains } = schema
  if (typeof minItems === "number" && value.length < minItems) return false
  if (typeof maxItems === "number" && value.length > maxItems) return false
  if (uniqueItems === true && new Set(value.map(canonical)).size < value.length) return false
  if (!value.every((item, index) => inner(itemAt(schema, index), item))) return false
  if (!isSchema(contains)) return true
  const count = value.filter((item) => inner(contains, item)).length
  return count >= Number(minContains) && (typeof maxContains !== "number" || count <= maxContains)
}

/** The schema of the item at a place: of a tuple, or of all. */
export function itemAt({ prefixItems, items, additionalItems }: SchemaObject, index: number): SchemaNode {
  const tuple = Array.isArray(items) ? items : Array.isArray(prefixItems) ? prefixItems : []
  const own = tuple[index]
  if (isSchema(own)) return own
  const rest = Array.isArray(items) ? additionalItems : items
  return isSchema(rest) ? rest : true
}

function fitsObject(schema: SchemaObject, value: Readonly<Record<string, unknown>>, inner: Inner): boolean {
  const { minProperties, maxProperties, propertyNames } = schema
  const keys = Object.keys(value)
  if (!strings(schema.required).every((key) => Object.hasOwn(value, key))) return false
  if (typeof minProperties === "number" && keys.length < minProperties) return false
  if (typeof maxProperties === "number" && keys.length > maxProperties) return false
  if (isSchema(propertyNames) && !keys.every((key) => inner(propertyNames, key))) return false
  for (const [key, needed] of Object.entries(schemaMap(schema.dependentRequired))) {
    if (Object.hasOwn(value, key) && !strings(needed).every((name) => Object.hasOwn(value, name)))
      return false
  }
  return keys.every((key) => propertySchemas(schema, key).every((part) => inner(part, value[key])))
}

/** The schemas that a property of this name must fit. */
export function propertySchemas(schema: SchemaObject, key: string): SchemaNode[] {
  const properties = schemaMap(schema.properties)
  const named = Object.hasOwn(properties, key) ? properties[key] : undefined
  const found = named === undefined ? [] : [named]
  for (const [pattern, part] of Object.entries(schemaMap(schema.patternProperties))) {
    if (regex(pattern)?.test(key) === true) found.push(part)
  }
  const { additionalProperties } = schema
  return found.length === 0 && isSchema(additionalProperties) ? [additionalProperties] : found
}

function fitsBranches(schema: SchemaObject, value: unknown, inner: Inner): boolean {
  const { allOf, anyOf, oneOf, not, if: condition } = schema
  if (!schemaList(allOf).every((part) => inner(part, value))) return false
  if (Array.isArray(anyOf) && !schemaList(anyOf).some((part) => inner(part, value))) return false
  if (Array.isArray(oneOf) && schemaList(oneOf).filter((part) => inner(part, value)).length !== 1)
    return false
  if (isSchema(not) && inner(not, value)) return false
  if (!isSchema(condition)) return true
  const next = inner(condition, value) ? schema.then : schema.else
  return !isSchema(next) || inner(next, value)
}
