/** Sizes, formats and steps that a schema wants, in words. */
import type { z } from "zod"
import { kindFound, kindWanted, oneOf, quoted } from "./shape-words.ts"

type Issue = z.core.$ZodIssue

/** What is wrong with a value of the right kind, or with a key. `name` is how the sentence begins. */
export function limitSentence(issue: Issue, name: string, found: unknown): string {
  switch (issue.code) {
    case "too_small":
    case "too_big": {
      const bound = issue.code === "too_small" ? issue.minimum : issue.maximum
      return `${name} ${sizeWanted(issue, Number(bound))}.`
    }
    case "invalid_format":
      return issue.format === "regex" && "pattern" in issue
        ? `${name} must match ${issue.pattern}; ${quoted(found)} does not.`
        : `${name} must be a valid ${issue.format}; ${quoted(found)} is not.`
    case "not_multiple_of":
      return `${name} must be a multiple of ${issue.divisor}.`
    case "invalid_value":
      return `${name} must be ${oneOf(issue.values)}, not ${quoted(found)}.`
    case "invalid_type":
      return `${name} must be ${kindWanted(issue.expected)}, not ${kindFound(found)}.`
    default:
      return issue.message === "" ? `${name} is not valid.` : issue.message
  }
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
