/** When is a value true? Each spelling has its own rule. */
import type { Json } from "../../core/index.ts"
import type { Evaluation } from "./evaluation.ts"
import { Failure, type Span } from "./expression-error.ts"
import { isMap, kindOf, nameOfKind } from "./kinds.ts"
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
  return (Array.isArray(value) ? value : Object.keys(value)).length > 0
}

/** The rule of a spelling for the operands of `&&`, `||`, `!` and `? :`. */
export function truthOf(spelling: Spelling, at: Span): (value: Json | undefined, run: Evaluation) => boolean {
  if (spelling === "graph") {
    return (value, run) => {
      if (!isMap(value)) return isTruthy(value)
      const { length } = Object.keys(value)
      run.work.spendOnKeys(length)
      return length > 0
    }
  }
  return (value, run) => {
    if (typeof value === "string") run.work.spendOnCharacters(value.length)
    const truth = value === undefined ? undefined : readBoolean(value)
    if (truth !== undefined) return truth
    throw new Failure(`here stands true or false, not ${nameOfKind(kindOf(value))}`, at)
  }
}
