/** The operators: their semantics, the kinds of values they accept, truth and equality. */
import type { Json } from "../core/index.ts"
import { checkResultSize, type Evaluation, type Work } from "./evaluation.ts"
import { Failure, type Span } from "./expression-error.ts"
import type { Spelling } from "./syntax.ts"
import { firstOffset } from "./text-search.ts"
import {
  isList,
  isMap,
  isTruthy,
  kindOf,
  member,
  nameOfKind,
  readBoolean,
  type StaticKind,
} from "./values.ts"

export type Operator = "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "+" | "-" | "*" | "/" | "%"
type Value = Json | undefined

/**
 * A missing value equals null. Otherwise it fails in `steps`, like every use of a missing value; in `graph` it is None.
 */
export function equals(left: Value, right: Value, run: Evaluation, spelling: Spelling, at: Span): boolean {
  if (left === undefined || right === undefined) {
    if ((left ?? null) === (right ?? null)) return true
    if (spelling === "steps") throw new Failure("a path is missing", at)
    return false
  }
  return isEqual(left, right, run.work)
}

export function compare(
  operator: "<" | "<=" | ">" | ">=",
  left: Value,
  right: Value,
  run: Evaluation,
  at: Span,
): boolean {
  const areNumbers = typeof left === "number" && typeof right === "number"
  const areTexts = typeof left === "string" && typeof right === "string"
  if (!areNumbers && !areTexts) throw mismatch(operator, kindOf(left), kindOf(right), at)
  if (areTexts) run.work.spendOnText(Math.min(left.length, right.length))
  switch (operator) {
    case "<":
      return left < right
    case "<=":
      return left <= right
    case ">":
      return left > right
    case ">=":
      return left >= right
  }
}

/** An item of a list, a key of an object, a part of a string. */
export function isIn(item: Value, container: Value, run: Evaluation, at: Span): boolean {
  if (item !== undefined && isList(container)) {
    run.work.spend(1 + container.length)
    return container.some((candidate) => isEqual(item, candidate, run.work))
  }
  if (isMap(container) && (typeof item === "string" || typeof item === "number")) {
    return item !== "__proto__" && Object.hasOwn(container, item)
  }
  if (typeof container === "string" && typeof item === "string") {
    return firstOffset(container, item, 0, run.work) >= 0
  }
  throw mismatch("in", kindOf(item), kindOf(container), at)
}

export function calculate(
  operator: keyof typeof ARITHMETIC,
  left: Value,
  right: Value,
  run: Evaluation,
  at: Span,
): Json {
  if (typeof left === "number" && typeof right === "number") return arithmetic(operator, left, right, at)
  if (operator === "+" && typeof left === "string" && typeof right === "string") {
    checkResultSize(left.length + right.length)
    run.work.spendOnText(left.length + right.length)
    return left + right
  }
  if (operator === "+" && isList(left) && isList(right)) {
    run.work.spend(1 + left.length + right.length)
    return [...left, ...right]
  }
  throw mismatch(operator, kindOf(left), kindOf(right), at)
}

const ARITHMETIC = {
  "+": (left: number, right: number) => left + right,
  "-": (left: number, right: number) => left - right,
  "*": (left: number, right: number) => left * right,
  "/": (left: number, right: number) => left / right,
  "%": (left: number, right: number) => left % right,
}

function arithmetic(operator: keyof typeof ARITHMETIC, left: number, right: number, at: Span): number {
  if (right === 0 && (operator === "/" || operator === "%")) throw new Failure("division by zero", at)
  const result = ARITHMETIC[operator](left, right)
  if (Number.isFinite(result)) return result
  throw new Failure("the resulting number is too large", at)
}

function mismatch(operator: string, left: StaticKind, right: StaticKind, at: Span): Failure {
  return new Failure(mismatchMessage(operator, left, right), at)
}

function mismatchMessage(operator: string, left: StaticKind, right: StaticKind): string {
  const problem = `"${operator}" cannot be used between ${nameOfKind(left)} and ${nameOfKind(right)}`
  return `${problem}${hintFor(operator, left, right)}`
}

function hintFor(operator: string, left: StaticKind, right: StaticKind): string {
  const kinds = [left, right]
  if (operator === "in" || !kinds.includes("text")) return ""
  if (operator === "+") return "; string(x) converts to text"
  return kinds.includes("number") ? "; double(x) converts text to a number" : ""
}

/** Why an operator can never be applied to these kinds, or undefined. */
export function operatorProblem(operator: Operator, left: StaticKind, right: StaticKind): string | undefined {
  return fits(operator, left, right) ? undefined : mismatchMessage(operator, left, right)
}

function fits(operator: Operator, left: StaticKind, right: StaticKind): boolean {
  const both = (...kinds: StaticKind[]) =>
    (left === "any" || kinds.includes(left)) &&
    (right === "any" || kinds.includes(right)) &&
    (left === "any" || right === "any" || left === right)
  switch (operator) {
    case "==":
    case "!=":
      return left === right || [left, right].some((kind) => kind === "any" || kind === "null")
    case "in":
      return (
        right === "any" ||
        right === "list" ||
        ((right === "map" || right === "text") && (left === "any" || left === "text" || left === "number"))
      )
    case "+":
      return both("number", "text", "list")
    case "<":
    case "<=":
    case ">":
    case ">=":
      return both("number", "text")
    default:
      return both("number")
  }
}

/** The truth rule of a spelling for the operands of `&&`, `||`, `!` and `? :`. */
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
    throw new Failure(`expected true or false, not ${nameOfKind(kindOf(value))}`, at)
  }
}

/** Equality of JSON values by content, independent of the order of keys. Every comparison is counted. */
function isEqual(left: Json | undefined, right: Json | undefined, work: Work): boolean {
  if (typeof left === "string" && typeof right === "string") {
    if (left.length !== right.length) return false
    work.spendOnText(left.length)
  }
  if (left === right) return true
  if (isList(left) && isList(right)) {
    if (left.length !== right.length) return false
    work.spend(1 + left.length)
    return left.every((item, i) => isEqual(item, right[i], work))
  }
  if (!isMap(left) || !isMap(right)) return false
  const keys = Object.keys(left)
  const others = Object.keys(right).length
  work.spendOnKeys(keys.length + others)
  if (keys.length !== others) return false
  return keys.every(
    (key) => Object.hasOwn(right, key) && isEqual(member(left, key), member(right, key), work),
  )
}
