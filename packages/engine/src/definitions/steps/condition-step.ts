/** A step that decides which way to go. */
import { condition } from "../expressions/index.ts"
import type { Token } from "./arrival.ts"
import type { StepList } from "./step-list.ts"
import { makeNode, type StepNode, type StepOptions } from "./step-node.ts"
import { scopeOf } from "./step-scope.ts"

export interface ConditionStepOptions extends Omit<StepOptions, "last"> {
  /** The node's id, where it asks for a step of another one: whether that is to run. */
  readonly node?: string | undefined
}

export function conditionStep(
  steps: StepList,
  id: string,
  text: string,
  options: ConditionStepOptions = {},
): StepNode {
  const { node, ...policies } = options
  const read = condition(text, "steps")
  return makeNode(steps, id, { kind: "condition", id: node, ...policies }, (view, ctx): Token => {
    return { after: ctx.node, holds: read.holds(scopeOf(view)) }
  })
}

/** For the switch after a condition. */
export function holds(): (token: Token) => boolean {
  return (token) => token.holds === true
}
