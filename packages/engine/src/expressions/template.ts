/** Strings with `{{ expression }}` in them. `\{{` is two braces and no expression. */
import type { Json } from "../core/index.ts"
import type { Scope } from "./evaluation.ts"
import { type Expression, expressionInside } from "./expression.ts"
import { ExpressionError, tooCostly } from "./expression-error.ts"
import { type Reference, type Spelling, stringEnd } from "./syntax.ts"
import { textOf } from "./values.ts"

/** Characters that a template renders to. */
const MAX_RENDERED = 10_000_000

export interface Template {
  readonly source: string
  readonly references: readonly Reference[]
  /** There is no expression in it. */
  readonly isPlain: boolean
  /** What is missing or null is empty; objects and lists are JSON text. */
  render(scope: Scope): string
  /** A lone expression, with nothing but space around it, keeps its type; anything else is the rendered text. */
  value(scope: Scope): Json | undefined
}

type Part = string | Expression

/** Throws an ExpressionError, with its place in the text, when an expression is wrong or never closed. */
export function template(source: string, spelling: Spelling): Template {
  const parts = readParts(source, spelling)
  const expressions = parts.filter((part) => typeof part !== "string")
  const lone = loneExpression(parts)
  const render = (scope: Scope) => renderParts(parts, scope)
  return {
    source,
    references: expressions.flatMap(({ references }) => references),
    isPlain: expressions.length === 0,
    render,
    value: lone === undefined ? render : (scope) => lone.evaluate(scope),
  }
}

export function loneExpression(parts: readonly Part[]): Expression | undefined {
  const rest = parts.filter((part) => typeof part !== "string" || part.trim() !== "")
  const [only] = rest
  return rest.length === 1 && typeof only === "object" ? only : undefined
}

export function readParts(source: string, spelling: Spelling): readonly Part[] {
  const parts: Part[] = []
  let text = ""
  let at = 0
  for (;;) {
    const open = source.indexOf("{{", at)
    if (open < 0) break
    if (source[open - 1] === "\\") {
      text += `${source.slice(at, open - 1)}{{`
      at = open + 2
      continue
    }
    text += source.slice(at, open)
    if (text !== "") parts.push(text)
    text = ""
    const close = endOfExpression(source, open + 2)
    parts.push(expressionInside(source, open + 2, close, spelling))
    at = close + 2
  }
  text += source.slice(at)
  if (text !== "") parts.push(text)
  return parts
}

/** Where the `}}` is: not in a string, and not the end of a map in the expression. */
function endOfExpression(source: string, start: number): number {
  let depth = 0
  for (let at = start; at < source.length; at++) {
    const character = source[at]
    if (character === '"' || character === "'") {
      const end = stringEnd(source, at)
      if (end < 0) break
      at = end - 1
    } else if (character === "{") depth++
    else if (character === "}" && depth > 0) depth--
    else if (character === "}" && source[at + 1] === "}") return at
  }
  // A quote or a brace that is never closed: the expression says so better than its braces do.
  const close = source.indexOf("}}", start)
  if (close >= 0) return close
  throw new ExpressionError(`This "{{" is never closed with "}}". Write \\{{ for two braces.`, {
    start: start - 2,
    end: start,
  })
}

function renderParts(parts: readonly Part[], scope: Scope): string {
  let rendered = ""
  for (const part of parts) {
    rendered += typeof part === "string" ? part : textOf(part.evaluate(scope))
    if (rendered.length > MAX_RENDERED)
      throw tooCostly(`a template rendered to more than ${MAX_RENDERED} characters`)
  }
  return rendered
}

/**
 * Data with templates in its strings, which are parsed once. A lone expression keeps its type. `scopeOf` is what the
 * templates see where they are filled.
 */
export function filling<Position>(
  data: Json,
  spelling: Spelling,
  scopeOf: (place: Position, references: readonly Reference[]) => Scope,
): (place: Position) => Json {
  if (typeof data === "string") {
    const read = template(data, spelling)
    return (place) => read.value(scopeOf(place, read.references)) ?? null
  }
  if (Array.isArray(data)) {
    const parts = data.map((part: Json) => filling(part, spelling, scopeOf))
    return (place) => parts.map((part) => part(place))
  }
  if (typeof data !== "object" || data === null) return () => data
  const parts = Object.entries(data).map(
    ([name, value]) => [name, filling(value as Json, spelling, scopeOf)] as const,
  )
  return (place) => Object.fromEntries(parts.map(([name, part]) => [name, part(place)]))
}
