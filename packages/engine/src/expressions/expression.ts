/** Expressions: parsed and compiled once, evaluated as often as needed. */
import type { Json } from "../core/index.ts"
import { type Compiled, compile } from "./compile.ts"
import { checkResultSize, Evaluation, MAX_RESULT, referenced, type Scope } from "./evaluation.ts"
import { ExpressionError, expressionFailed, Failure, tooCostly } from "./expression-error.ts"
import { rewrite } from "./rewrite.ts"
import { MAX_EXPRESSION, type Reference, type Spelling } from "./syntax.ts"
import { jsonLength } from "./values.ts"

export interface Expression {
  readonly source: string
  /** Its references, in the order of the text. The caller checks whether the roots exist. */
  readonly references: readonly Reference[]
  /** Undefined if a path that it needs is missing. */
  evaluate(scope: Scope): Json | undefined
}

/** Throws an ExpressionError if the text is not an expression, or can never succeed. */
export function expression(source: string, spelling: Spelling): Expression {
  if (source.length > MAX_EXPRESSION) {
    throw new ExpressionError(`An expression can have at most ${MAX_EXPRESSION} characters.`, {
      start: MAX_EXPRESSION,
      end: source.length,
    })
  }
  const rewritten = rewrite(source, spelling)
  if (rewritten.cel.text === "") throw new ExpressionError("This expression is empty.", whole(source))
  const { references } = rewritten
  const [reference] = references
  if (rewritten.isLone && reference !== undefined) {
    return { source, references, evaluate: (scope) => referenced(reference, scope) }
  }
  const compiled = compile(source, rewritten, spelling)
  return { source, references, evaluate: (scope) => run(source, compiled, scope) }
}

/** An expression that is part of a longer text. Its positions refer to that text. */
export function expressionInside(text: string, start: number, end: number, spelling: Spelling): Expression {
  try {
    const inner = expression(text.slice(start, end), spelling)
    return { ...inner, references: inner.references.map((reference) => shifted(reference, start)) }
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    throw new ExpressionError(error.message, shifted(error, start))
  }
}

function run(source: string, compiled: Compiled, scope: Scope): Json | undefined {
  const evaluation = new Evaluation(scope)
  try {
    const value = compiled.run(evaluation)
    if (compiled.builds) checkResultSize(jsonLength(value, MAX_RESULT))
    return value
  } catch (error) {
    if (error instanceof RangeError) throw tooCostly("a value in it is too deeply nested")
    if (!(error instanceof Failure)) throw error
    if (evaluation.hasMissing) return undefined
    throw expressionFailed(source, error)
  }
}

function whole(source: string) {
  return { start: 0, end: source.length }
}

function shifted<T extends { readonly start: number; readonly end: number }>(place: T, by: number): T {
  return { ...place, start: place.start + by, end: place.end + by }
}
