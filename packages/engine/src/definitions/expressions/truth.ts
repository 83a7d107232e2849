/** When is a value true? Each spelling has its own rule. */
import type { Json } from "../../core/index.ts"
import type { Evaluation } from "./evaluation.ts"
import { Failure, type Span } from "./expression-error.ts"
import { kindOf, nameOfKind } from "./kinds.ts"
import type { Spelling } from "./spelling.ts"

const WORDS: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["1", true],
  ["yes", true],
  ["false", false],
  ["0", false],
  ["no", false],
  ["", false],
])

/** Steps: booleans, 1 and 0, and the words for them in any case and spacing. Undefined: it is neither. */
export function readBoolean(value: Json): boolean | undefined {
  if (typeof value === "boolean") return value
  if (value === null) return false
  if (typeof value === "number") return value === 1 ? true : value === 0 ? false : undefined
  return typeof value === "string" ? WORDS.get(value.trim().toLowerCase()) : undefined
}

/** Graph: whatever is not empty. */
export function isTruthy(value: Json | undefined): boolean {
  if (typeof value !== "object" || value === null) return Boolean(value)
  if (Array.isArray(value)) return value.length > 0
  for (const key in value) if (Object.hasOwn(value, key)) return true
  return false
}

/** The rule of a spelling for the operands of `&&`, `||`, `!` and `? :`. */
export function truthOf(spelling: Spelling, at: Span): (value: Json | undefined, run: Evaluation) => boolean {
  if (spelling === "graph") return isTruthy
  return (value, run) => {
    // Its trimmed copy costs more than reading it.
    if (typeof value === "string") run.work.spend(1 + value.length / 8)
    const truth = value === undefined ? undefined : readBoolean(value)
    if (truth !== undefined) return truth
    throw new Failure(`here stands true or false, not ${nameOfKind(kindOf(value))}`, at)
  }
}
