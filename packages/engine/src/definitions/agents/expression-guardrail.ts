/** A guardrail by an expression. */
import type { Guardrail } from "../../agents/index.ts"
import type { Json } from "../../core/index.ts"
import { condition } from "../../expressions/index.ts"

export interface ExpressionGuardrailOptions
  extends Pick<Guardrail, "name" | "on" | "parallel" | "tools" | "onTrip"> {
  /** A condition over `$text`, `$value`, `$agent` and `$tool`. */
  readonly expression: string
  /** Default: that the expression does not hold. */
  readonly reason?: string | undefined
}

/** What the expression can refer to. */
export const GUARDRAIL_ROOTS = ["text", "value", "agent", "tool"] as const

/** Trips when the expression does not hold. */
export function expressionGuardrail(options: ExpressionGuardrailOptions): Guardrail {
  const { expression, reason = `it does not fulfil ${expression}`, ...guardrail } = options
  const read = condition(expression, "steps")
  return {
    ...guardrail,
    check({ text, value, agent, tool = "" }) {
      const values = new Map(Object.entries({ text, value, agent, tool }))
      return read.holds((root) => values.get(root) as Json | undefined) ? undefined : reason
    },
  }
}
