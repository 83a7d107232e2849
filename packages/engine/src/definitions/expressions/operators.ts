/** The operators between two values: what they do, and which kinds of values they take. */
import type { Json } from "../../core/index.ts"
import { isEqual } from "./equality.ts"
import type { Evaluation } from "./evaluation.ts"
import { Failure, type Span } from "./expression-error.ts"
import { isList, isMap, kindOf, nameOfKind, type StaticKind } from "./kinds.ts"
import type { Spelling } from "./spelling.ts"
import { firstOffset } from "./text-search.ts"
import { checkResultSize } from "./work.ts"

export type Operator = "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "+" | "-" | "*" | "/" | "%"
type Value = Json | undefined

/** Missing equals null. Else it fails in `steps`, as every use of a missing value does; in `graph` it is None. */
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

/** An item of a list, a key of an object, a part of a text. */
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
  operator: "+" | "-" | "*" | "/" | "%",
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

function arithmetic(operator: "+" | "-" | "*" | "/" | "%", left: number, right: number, at: Span): number {
  if (right === 0 && (operator === "/" || operator === "%")) throw new Failure("a division by zero", at)
  const result = arithmeticResult(operator, left, right)
  if (Number.isFinite(result)) return result
  throw new Failure("the result is too large a number", at)
}

function arithmeticResult(operator: "+" | "-" | "*" | "/" | "%", left: number, right: number): number {
  switch (operator) {
    case "+":
      return left + right
    case "-":
      return left - right
    case "*":
      return left * right
    case "/":
      return left / right
    case "%":
      return left % right
  }
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
  if (operator === "+") return "; string(x) makes text of it"
  return kinds.includes("number") ? "; double(x) makes a number of text" : ""
}

/** What is wrong with an operator between these kinds whatever the values are, or undefined. */
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
