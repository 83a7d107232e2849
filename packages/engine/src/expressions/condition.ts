/** Conditions: an expression, a `{{ expression }}`, or a template, read as true or false. */
import { type Json, SuperstepError } from "../core/index.ts"
import { clipped } from "../text/index.ts"
import type { Scope } from "./evaluation.ts"
import { type Expression, expression } from "./expression.ts"
import { MAX_EXPRESSION, type Spelling, stringEnd } from "./syntax.ts"
import { loneExpression, readParts, template } from "./template.ts"
import { isTruthy, readBoolean, textOf } from "./values.ts"

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
