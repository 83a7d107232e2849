/** What a schema wants and what is there, in words. */
import type { Path } from "./place.ts"

/** What is meant, as a sentence begins: `` `max_steps` ``, `item 2 of `tools``. */
export function nameOf(path: Path): string {
  const last = path.at(-1)
  if (last === undefined) return "The file"
  if (typeof last === "string") return `\`${last}\``
  const list = path.findLast((part) => typeof part === "string")
  return list === undefined ? `Item ${last + 1}` : `Item ${last + 1} of \`${list}\``
}

const KINDS: Record<string, string> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  tuple: "a list",
  object: "a mapping",
  record: "a mapping",
  null: "null",
}

/** A type as zod names it. */
export function kindWanted(expected: string): string {
  return Object.hasOwn(KINDS, expected) ? (KINDS[expected] ?? expected) : `a ${expected}`
}

/** A value that is there. */
export function kindFound(value: unknown): string {
  if (value === null || value === undefined) return "empty"
  if (Array.isArray(value)) return "a list"
  if (typeof value === "string") return `the text ${quoted(value)}`
  if (typeof value === "number") return `the number ${value}`
  return typeof value === "object" ? "a mapping" : String(value)
}

/** A value as one writes it, cut when it is long. */
export function quoted(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length <= 42 ? text : `${text.slice(0, 39)}…${typeof value === "string" ? '"' : ""}`
}

/** `a`, `a or b`, `a, b or c`; with `true or false` among them, `a, true or false`. */
export function either(words: readonly string[]): string {
  const unique = [...new Set(words.flatMap((word) => (word === "true or false" ? ["true", "false"] : word)))]
  const last = unique.pop() ?? ""
  return unique.length === 0 ? last : `${unique.join(", ")} or ${last}`
}

/** `one of "a", "b"`, cut when there are many. */
export function oneOf(values: readonly unknown[]): string {
  const unique = [...new Set(values.map(quoted))]
  if (unique.length === 1) return unique[0] ?? ""
  const shown = unique.slice(0, 12)
  const more = unique.length - shown.length
  return `one of ${shown.join(", ")}${more > 0 ? `, … (${more} more)` : ""}`
}
