/** Strings with `{{ expression }}` in them. `\{{` is two braces and no expression. */
import { type Json, SuperstepError } from "../core/index.ts"
import { clipped } from "../text/index.ts"
import type { Scope } from "./evaluation.ts"
import { type Expression, expression, expressionInside } from "./expression.ts"
import { ExpressionError, tooCostly } from "./expression-error.ts"
import { MAX_EXPRESSION, type Reference, type Spelling, stringEnd } from "./syntax.ts"
import { isTruthy, readBoolean, textOf } from "./values.ts"

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

/** Conditions: an expression, a `{{ expression }}`, or a template, read as true or false. */

export interface Condition extends Expression {
  /**
   * Steps: true, 1, yes and false, 0, no, in any case and spacing; empty and missing are false; anything else
   * throws CONDITION_NOT_BOOLEAN. Graph: false is None, "", 0, [], {} and what is missing.
   */
  holds(scope: Scope): boolean
}

export function condition(source: string, spelling: Spelling): Condition {
  const read = readCondition(source, spelling)
  const holds = spelling === "graph" ? isTruthy : readStrictly
  return { ...read, source, holds: (scope) => holds(read.evaluate(scope)) }
}

function readCondition(source: string, spelling: Spelling): Expression {
  if (hasTemplate(source)) {
    const lone = loneExpression(readParts(source, spelling))
    if (lone !== undefined) return lone
    const { references, render } = template(source, spelling)
    return { source, references, evaluate: render }
  }
  if (spelling === "steps" && source.trim() !== "" && readBoolean(source) !== undefined) {
    return { source, references: [], evaluate: () => readBoolean(source) }
  }
  return expression(source, spelling)
}

/** `{{` outside of strings. A quote that is never closed is an apostrophe in prose. */
function hasTemplate(source: string): boolean {
  // Strings are looked for only where there can be some: in what is short enough to be an expression.
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
 * `${NAME}` and `${NAME:-default}` in configuration files; `$$` is one `$`. The default also stands in for a value
 * that is empty. What does not look like a variable (`${env.KEY}`, `$5`) stays as it is, and so does what a value
 * contains. A default is on one line, so that looking for its end costs no more than the line.
 */
const VARIABLE = /\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}\n]{0,4096}))?\}/g

export interface Substituted {
  readonly text: string
  /** Variables that have neither a value nor a default. They stay in the text as they were written. */
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
