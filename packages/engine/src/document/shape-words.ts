/** Phrases for what a schema expects and what it found. */
import type { z } from "zod"
import { cutText } from "../text/index.ts"
import type { Path } from "./diagnostic.ts"

/** The subject of a sentence: `` `max_steps` ``, `item 2 of `tools``. */
export function fieldName(path: Path): string {
  const last = path.at(-1)
  if (last === undefined) return "The file"
  if (typeof last === "string") return `\`${last}\``
  const list = path.findLast((part) => typeof part === "string")
  return list === undefined ? `Item ${last + 1}` : `Item ${last + 1} of \`${list}\``
}

const KINDS: Record<string, string> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  tuple: "a list",
  object: "a mapping",
  record: "a mapping",
  null: "null",
}

/** The name of a zod type. */
export function kindWanted(expected: string): string {
  return Object.hasOwn(KINDS, expected) ? (KINDS[expected] ?? expected) : `a ${expected}`
}

/** The kind of a value of the document. */
export function kindFound(value: unknown): string {
  if (value === null || value === undefined) return "empty"
  if (Array.isArray(value)) return "a list"
  if (typeof value === "string") return `the string ${quotedValue(value)}`
  if (typeof value === "number") return `the number ${value}`
  return typeof value === "object" ? "a mapping" : String(value)
}

/** A value as source text, truncated if it is long. */
export function quotedValue(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length <= 42 ? text : `${cutText(text, 39)}…${typeof value === "string" ? '"' : ""}`
}

/** `a`, `a or b`, `a, b or c`; with `true or false` among them, `a, true or false`. */
export function either(words: readonly string[]): string {
  const unique = [...new Set(words.flatMap((word) => (word === "true or false" ? ["true", "false"] : word)))]
  const last = unique.pop() ?? ""
  return unique.length === 0 ? last : `${unique.join(", ")} or ${last}`
}

/** `one of "a", "b"`, truncated if there are many. */
export function oneOf(values: readonly unknown[]): string {
  const unique = [...new Set(values.map(quotedValue))]
  if (unique.length === 1) return unique[0] ?? ""
  const shown = unique.slice(0, 12)
  const more = unique.length - shown.length
  return `one of ${shown.join(", ")}${more > 0 ? `, … (${more} more)` : ""}`
}

type Issue = z.core.$ZodIssue

/** The problem of a value of the right kind, or of a key. `name` is the subject of the sentence. */
export function limitSentence(issue: Issue, name: string, found: unknown): string {
  switch (issue.code) {
    case "too_small":
    case "too_big": {
      const bound = issue.code === "too_small" ? issue.minimum : issue.maximum
      return `${name} ${sizeWanted(issue, Number(bound))}${sizeFound(found)}.`
    }
    case "invalid_format":
      return issue.format === "regex" && "pattern" in issue
        ? `${name} must match ${issue.pattern}; ${quotedValue(found)} does not.`
        : `${name} must be a valid ${issue.format}; ${quotedValue(found)} is not.`
    case "not_multiple_of":
      return `${name} must be a multiple of ${issue.divisor}.`
    case "invalid_value":
      return `${name} must be ${oneOf(issue.values)}, not ${quotedValue(found)}.`
    case "invalid_type":
      return `${name} must be ${kindWanted(issue.expected)}, not ${kindFound(found)}.`
    default:
      return issue.message === "" ? `${name} is not valid.` : issue.message
  }
}

/** Of a number, or of more items or characters than a reader would count. */
function sizeFound(found: unknown): string {
  if (typeof found === "number") return `, not ${found}`
  const size = typeof found === "string" || Array.isArray(found) ? found.length : 0
  return size > 1 ? `; it has ${size}` : ""
}

const UNITS: Record<string, readonly [one: string, many: string]> = {
  string: ["character", "characters"],
  array: ["item", "items"],
  object: ["field", "fields"],
  record: ["field", "fields"],
}

function sizeWanted(issue: Issue & { code: "too_small" | "too_big" }, bound: number): string {
  const least = issue.code === "too_small"
  const unit = UNITS[issue.origin]
  if (unit === undefined) {
    const edge = issue.inclusive ? (least ? "at least" : "at most") : least ? "more than" : "less than"
    return `must be ${edge} ${bound}`
  }
  const [one, many] = unit
  if (least && bound === 1) return "must not be empty"
  const edge = issue.exact ? "exactly" : least ? "at least" : "at most"
  return `must have ${edge} ${bound} ${bound === 1 ? one : many}`
}
