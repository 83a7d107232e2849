/** What a value is, as a user would call it. There is one kind of number, as in JSON. */
import type { Json } from "../../core/index.ts"

export type Kind = "boolean" | "number" | "text" | "list" | "map" | "null" | "missing"

/** What is known before anything runs: a kind, or nothing. */
export type StaticKind = Kind | "any"

export function kindOf(value: Json | undefined): Kind {
  switch (typeof value) {
    case "boolean":
      return "boolean"
    case "number":
      return "number"
    case "string":
      return "text"
    case "object":
      if (value === null) return "null"
      return Array.isArray(value) ? "list" : "map"
    default:
      return "missing"
  }
}

const NAMES: Record<StaticKind, string> = {
  any: "a value",
  boolean: "true or false",
  number: "a number",
  text: "text",
  list: "a list",
  map: "an object",
  null: "null",
  missing: "nothing, as its path is missing",
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
