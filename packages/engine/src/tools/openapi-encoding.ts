/** Values in addresses, as OpenAPI's styles write them. */
import { type Json, SuperstepError } from "../core/index.ts"

/** A value as one part of a path: it can neither leave it nor go up. */
export function encodeSegment(name: string, value: Json | undefined): string {
  const text = Array.isArray(value) ? value.map(encodeText).join(",") : encodeText(value)
  if (text === "" || text === "." || text === "..") {
    throw new SuperstepError("TOOL_ARGS_INVALID", `"${name}" is part of a path and cannot be "${text}".`, {
      retryable: false,
    })
  }
  // Half of a character, which encoding refuses, becomes a whole one.
  return encodeURIComponent(Buffer.from(text).toString())
}

export function encodeText(value: Json | undefined): string {
  if (value === undefined || value === null) return ""
  return typeof value === "object" ? JSON.stringify(value) : String(value)
}

export interface QueryStyle {
  readonly style: string
  readonly explode: boolean
}

const SEPARATORS: Readonly<Record<string, string>> = { form: ",", spaceDelimited: " ", pipeDelimited: "|" }

/** The names and values that one parameter adds to a query. */
export function queryPairs(
  name: string,
  value: Json,
  { style, explode }: QueryStyle,
): readonly [string, string][] {
  if (Array.isArray(value)) {
    if (explode) return value.map((item) => [name, encodeText(item)])
    return [[name, value.map(encodeText).join(SEPARATORS[style] ?? ",")]]
  }
  if (typeof value !== "object" || value === null) return [[name, encodeText(value)]]
  const entries = Object.entries(value)
  if (style === "deepObject") return entries.map(([key, item]) => [`${name}[${key}]`, encodeText(item)])
  if (explode) return entries.map(([key, item]) => [key, encodeText(item)])
  return [[name, entries.flatMap(([key, item]) => [key, encodeText(item)]).join(",")]]
}
