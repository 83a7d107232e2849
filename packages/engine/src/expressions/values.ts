/** The values of expressions: their kinds, their members, their truth, and their text. */
import type { Json } from "../core/index.ts"
import { tooCostly } from "./expression-error.ts"

export type Path = readonly (string | number)[]

/** As in JSON, there is one kind of number. */
export type Kind = "boolean" | "number" | "text" | "list" | "map" | "null" | "missing"

/** The kind as known at compile time: a kind, or `any`. */
export type StaticKind = Kind | "any"

export function kindOf(value: Json | undefined): Kind {
  if (value === undefined) return "missing"
  if (value === null) return "null"
  if (isList(value)) return "list"
  if (typeof value === "object") return "map"
  return typeof value === "string" ? "text" : (typeof value as "boolean" | "number")
}

const NAMES: Record<StaticKind, string> = {
  any: "a value",
  boolean: "true or false",
  number: "a number",
  text: "text",
  list: "a list",
  map: "an object",
  null: "null",
  missing: "nothing (its path is missing)",
}

export function nameOfKind(kind: StaticKind): string {
  return NAMES[kind]
}

export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value)
}

export function isMap(value: Json | undefined): value is { readonly [key: string]: Json | undefined } {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/**
 * Reads a value by path. Only own data of plain objects and elements of arrays is reachable: prototypes, functions,
 * getters, instances of classes and `__proto__` are missing.
 */
export function valueAt(root: unknown, path: Path): Json | undefined {
  let value = readable(root)
  for (const key of path) value = member(value, key)
  return value
}

/** A negative index counts from the end. A number also finds an object's key with that name. */
export function member(value: Json | undefined, key: string | number): Json | undefined {
  if (isList(value))
    return typeof key === "number" ? readable(value.at(wholeIndex(key, value.length))) : undefined
  if (!isMap(value) || key === "__proto__") return undefined
  return readable(Object.getOwnPropertyDescriptor(value, key)?.value)
}

/** `at` truncates fractions, and treats NaN as 0: those become an index past the end. */
function wholeIndex(key: number, length: number): number {
  return Number.isInteger(key) ? key : length
}

/** The value if it is data, else undefined. Examines the value itself, not its content. */
export function readable(value: unknown): Json | undefined {
  switch (typeof value) {
    case "string":
    case "number":
    case "boolean":
      return value
    case "object":
      return value === null || Array.isArray(value) || isPlain(value) ? (value as Json) : undefined
    default:
      return undefined
  }
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

const WORDS: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["1", true],
  ["yes", true],
  ["false", false],
  ["0", false],
  ["no", false],
  ["", false],
])

/** Steps: booleans, 1 and 0, and the words for them in any case and spacing. Undefined if it is neither. */
export function readBoolean(value: Json): boolean | undefined {
  if (typeof value === "boolean") return value
  if (value === null) return false
  if (typeof value === "number") return value === 1 ? true : value === 0 ? false : undefined
  return typeof value === "string" ? WORDS.get(value.trim().toLowerCase()) : undefined
}

/** Graph: every value that is not empty. */
export function isTruthy(value: Json | undefined): boolean {
  if (typeof value !== "object" || value === null) return Boolean(value)
  return (Array.isArray(value) ? value : Object.keys(value)).length > 0
}

/** A value as text, for templates and `string()`: missing and null are empty, objects and lists are JSON. */
export function textOf(value: Json | undefined): string {
  if (typeof value === "string") return value
  if (value === undefined || value === null) return ""
  if (typeof value !== "object") return String(value)
  try {
    return JSON.stringify(value)
  } catch (error) {
    // A model's answer may be nested deeper than the stack allows.
    if (error instanceof RangeError)
      throw tooCostly("a value is too large or too deeply nested to convert to text")
    throw error
  }
}

/** The approximate length of a value's JSON, without escapes. Stops counting at `limit`. */
export function jsonLength(value: Json | undefined, limit: number): number {
  if (value === undefined || value === null || typeof value === "boolean") return 5
  if (typeof value === "string") return value.length + 2
  if (typeof value === "number") return 8
  let length = 2
  if (isList(value)) {
    for (let i = 0; i < value.length && length <= limit; i++)
      length += 1 + jsonLength(value[i], limit - length)
    return length
  }
  for (const [key, item] of Object.entries(value)) {
    if (length > limit) break
    length += key.length + 4 + jsonLength(item, limit - length)
  }
  return length
}
