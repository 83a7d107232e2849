/** Strings with `{{ expression }}`. `\{{` is a literal `{{`. */
import { type Json, SuperstepError } from "../core/index.ts"
import { clipped } from "../text/index.ts"
import type { Scope } from "./evaluation.ts"
import { type Expression, expression, expressionInside, type Operand } from "./expression.ts"
import { ExpressionError, tooCostly } from "./expression-error.ts"
import { MAX_EXPRESSION, type Reference, type Spelling, stringEnd } from "./syntax.ts"
import { isTruthy, readBoolean, textOf } from "./values.ts"

/** Maximum characters of a rendered template. */
const MAX_RENDERED = 10_000_000

export interface Template {
  readonly source: string
  readonly references: readonly Reference[]
  /** Whether it has no expressions. */
  readonly isPlain: boolean
  /** Missing and null values are empty; objects and lists are JSON text. */
  render(scope: Scope): string
  /** A single expression with only white space around it keeps its type; anything else is the rendered text. */
  value(scope: Scope): Json | undefined
}

type Part = string | Expression

/** Throws an ExpressionError, with its position in the text, if an expression is invalid or unclosed. */
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

function loneExpression(parts: readonly Part[]): Expression | undefined {
  const rest = parts.filter((part) => typeof part !== "string" || part.trim() !== "")
  const [only] = rest
  return rest.length === 1 && typeof only === "object" ? only : undefined
}

function readParts(source: string, spelling: Spelling): readonly Part[] {
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

/** The position of the closing `}}`: not in a string, and not the end of a map in the expression. */
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
  // For an unclosed quote or brace, the error of the expression is clearer than that of its braces.
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
 * Data with templates in its strings, which are parsed once. A single expression keeps its type. `scopeOf` returns the
 * scope of the templates.
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

/** Conditions: an expression, a `{{ expression }}`, or a template, evaluated to true or false. */

export interface Condition extends Expression {
  /**
   * Steps: true, 1, yes and false, 0, no, in any case and spacing; empty and missing are false; anything else throws
   * CONDITION_NOT_BOOLEAN. Graph: None, "", 0, [], {} and missing values are false.
   */
  holds(scope: Scope): boolean
  /** The same, with the values of its parts. */
  decide(scope: Scope): { readonly holds: boolean; readonly operands: readonly Operand[] }
}

export function condition(source: string, spelling: Spelling): Condition {
  const read = readCondition(source, spelling)
  const holds = spelling === "graph" ? isTruthy : readStrictly
  return {
    ...read,
    source,
    holds: (scope) => holds(read.evaluate(scope)),
    decide(scope) {
      const { value, operands } = read.explain(scope)
      return { holds: holds(value), operands }
    },
  }
}

function readCondition(source: string, spelling: Spelling): Expression {
  if (hasTemplate(source)) {
    const lone = loneExpression(readParts(source, spelling))
    if (lone !== undefined) return lone
    const parts = readParts(source, spelling)
    const { references, render } = template(source, spelling)
    const explain = (scope: Scope) => ({
      value: render(scope),
      operands: parts.flatMap((part) => (typeof part === "string" ? [] : whole(part, scope))),
    })
    return { source, references, evaluate: render, explain }
  }
  if (spelling === "steps" && source.trim() !== "" && readBoolean(source) !== undefined) {
    const value = readBoolean(source)
    return { source, references: [], evaluate: () => value, explain: () => ({ value, operands: [] }) }
  }
  return expression(source, spelling)
}

function whole(part: Expression, scope: Scope): Operand[] {
  const value = part.evaluate(scope)
  return [{ text: part.source.trim(), ...(value === undefined ? {} : { value }) }]
}

/** Whether `{{` occurs outside of strings. An unclosed quote is an apostrophe in prose. */
function hasTemplate(source: string): boolean {
  // Strings are parsed only if the text is short enough to be an expression.
  if (!source.includes("{{")) return false
  if (source.length > MAX_EXPRESSION) return true
  for (let at = 0; at < source.length; at++) {
    if (source.startsWith("{{", at)) return true
    if (source[at] === '"' || source[at] === "'") {
      const end = stringEnd(source, at)
      if (end > 0) at = end - 1
    }
  }
  return false
}

const MAX_SHOWN = 1_000

function readStrictly(value: Json | undefined): boolean {
  const truth = value === undefined ? false : readBoolean(value)
  if (truth !== undefined) return truth
  const text = textOf(value)
  const shown = clipped(text, MAX_SHOWN)
  throw new SuperstepError(
    "CONDITION_NOT_BOOLEAN",
    `workflow: condition did not resolve to boolean: "${shown}"`,
    { retryable: false },
  )
}

/**
 * `${NAME}` and `${NAME:-default}` in configuration files; `$$` is one `$`. The default also replaces an empty value.
 * Other uses of `$` (`${env.KEY}`, `$5`) and the content of values are unchanged. A default is on one line, so that the
 * search for its end costs at most the line.
 */
const VARIABLE = /\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}\n]{0,4096}))?\}/g

export interface Substituted {
  readonly text: string
  /** Variables without a value and without a default. They stay in the text as written. */
  readonly missing: readonly { readonly name: string; readonly start: number; readonly end: number }[]
}

export function variables(source: string, lookup: (name: string) => string | undefined): Substituted {
  const missing: Substituted["missing"][number][] = []
  const substitute = (written: string, name: string, fallback: string | undefined, start: number) => {
    if (written === "$$") return "$"
    const value = lookup(name)
    if (value !== undefined && (value !== "" || fallback === undefined)) return value
    if (fallback === undefined) missing.push({ name, start, end: start + written.length })
    return fallback ?? written
  }
  return { text: source.replace(VARIABLE, substitute), missing }
}
