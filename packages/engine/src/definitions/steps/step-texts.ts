/** The texts of a step that have expressions in them, read. */
import type { Json } from "../../core/index.ts"
import { type Path, textsIn } from "../document/index.ts"
import { condition, ExpressionError, expression, type Reference, template } from "../expressions/index.ts"
import type { Step } from "./step.ts"

export interface StepText {
  readonly text: string
  readonly at: Path
  /** It decides whether, or which way, to go on: what it names runs before. */
  readonly decides: boolean
  readonly read: { readonly references: readonly Reference[] } | ExpressionError
}

type Reader = (text: string) => { readonly references: readonly Reference[] }

export const asTemplate: Reader = (text) => template(text, "steps")
const asCondition: Reader = (text) => condition(text, "steps")
const asList: Reader = (text) => (text.includes("{{") ? asTemplate(text) : expression(text, "steps"))

export function stepTexts(step: Step): readonly StepText[] {
  const { data, at } = step
  const found: StepText[] = []
  const add = (field: string, given: string | boolean | undefined, reader: Reader, decides = false) => {
    if (given === undefined) return
    const text = String(given)
    found.push({ text, at: [...at, field], decides, read: readText(text, reader) })
  }
  add("when", data.when, asCondition, true)
  if (step.type === "condition" && step.condition !== "") add("condition", step.condition, asCondition, true)
  if (step.type === "map" && step.over !== "") add("over", step.over, asList)
  add("prompt", data.prompt, asTemplate)
  for (const [path, text] of textsIn(data.args as Json | undefined, [...at, "args"])) {
    found.push({ text, at: path, decides: false, read: readText(text, asTemplate) })
  }
  return found
}

export function readText(text: string, reader: Reader): StepText["read"] {
  try {
    return reader(text)
  } catch (error) {
    if (error instanceof ExpressionError) return error
    throw error
  }
}

/** Instructions may show braces for other ends: what has no reference in its braces is text. */
export function hasTemplate(text: string): boolean {
  const [, ...parts] = text.split("{{")
  return parts.some((part) => /\$[A-Za-z_]/.test(part.split("}}", 1)[0] as string))
}
