/** A step that asks a person. Its output is the answer. */
import type { Json } from "../../core/index.ts"
import { jsonSchema } from "../../tools/index.ts"
import { template } from "../expressions/index.ts"
import type { StepList } from "./step-list.ts"
import { leave, makeNode, type StepNode, type StepOptions } from "./step-node.ts"
import { scopeOf } from "./step-scope.ts"

export interface HumanStepOptions extends StepOptions {
  readonly prompt: string
  /** The answers there are. */
  readonly choices?: readonly Json[] | undefined
  /** JSON Schema of the answer. */
  readonly schema?: Json | undefined
  readonly to?: string | undefined
  /** The answer when nobody has answered in time. */
  readonly default?: Json | undefined
}

/** `timeout` is how long the person has. */
export function humanStep(steps: StepList, id: string, options: HumanStepOptions): StepNode {
  const { prompt, choices, schema, to, default: fallback, timeout, last, ...policies } = options
  const read = template(prompt, "steps")
  const shape = choices === undefined ? schema : { enum: choices }
  const answers = shape === undefined ? {} : { schema: jsonSchema<Json>(shape) }
  return makeNode(steps, id, { kind: "human", ...policies }, async (view, ctx) => {
    const question = read.render(scopeOf(view))
    const output = await ctx.ask<Json>({ prompt: question, ...answers, to, timeout, default: fallback })
    return leave(view, ctx, { output }, last)
  })
}
