/** A step that runs another workflow, with a prompt like an agent's. */
import type { Workflow } from "../../builder/index.ts"
import type { Json } from "../../core/index.ts"
import { template } from "../expressions/index.ts"
import type { StepList } from "./step-list.ts"
import { leave, makeNode, type StepNode, type StepOptions } from "./step-node.ts"
import { scopeOf } from "./step-scope.ts"

export interface WorkflowStepOptions extends StepOptions {
  /** Told instead of the user's prompt, after the outputs of the steps before. */
  readonly prompt?: string | undefined
}

// biome-ignore lint/suspicious/noExplicitAny: workflows of definitions take a text; others say what they take.
type SubWorkflow = Workflow<any, any>

/** Its output is the last one of the workflow. */
export function workflowStep(
  steps: StepList,
  id: string,
  workflow: SubWorkflow,
  options: WorkflowStepOptions = {},
): StepNode {
  const { prompt, last, ...policies } = options
  const own = prompt === undefined ? undefined : template(prompt, "steps")
  return makeNode(steps, id, { kind: "workflow", nested: workflow, ...policies }, async (view, ctx) => {
    const text = view.promptText(own?.render(scopeOf(view)))
    const outputs = await ctx.call<string, Json>(workflow, text)
    return leave(view, ctx, { output: outputs.at(-1) ?? null }, last)
  })
}
