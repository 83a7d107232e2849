/** A value as text: for templates and `string()`. Nothing and null are empty, objects and lists are JSON. */
import type { Json } from "../../core/index.ts"
import { tooCostly } from "./expression-error.ts"

export function textOf(value: Json | undefined): string {
  if (typeof value === "string") return value
  if (value === undefined || value === null) return ""
  return typeof value === "object" ? jsonText(value) : String(value)
}

/** What models answer may be nested deeper than the stack goes. */
function jsonText(value: Json): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (error instanceof RangeError) throw tooCostly("a value is too large, or nested too deep, to be text")
    throw error
  }
}

/** How long the JSON text of a value is, give or take its escapes; stops counting once it is past `limit`. */
export function jsonLength(value: Json | undefined, limit: number): number {
  if (value === undefined || value === null || typeof value === "boolean") return 5
  if (typeof value === "string") return value.length + 2
  if (typeof value === "number") return 8
  let length = 2
  if (Array.isArray(value)) {
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
