/** A step that calls one tool, with the approval that an agent's call would need. Its output is the result. */
import type { Agent } from "../../agents/index.ts"
import type { Json } from "../../core/index.ts"
import { filling } from "../expressions/index.ts"
import { singleCall } from "../single-call.ts"
import type { StepList } from "./step-list.ts"
import { leave, makeNode, type StepNode, type StepOptions } from "./step-node.ts"
import { scopeOf } from "./step-scope.ts"

export interface ToolStepOptions extends StepOptions {
  readonly tool: string
  /** Texts in it may be templates: a lone expression keeps its type. */
  readonly args?: Json | undefined
}

/** The agent is the one that has the tool. */
export function toolStep(steps: StepList, id: string, agent: Agent, options: ToolStepOptions): StepNode {
  const { tool, args = {}, last, ...policies } = options
  const fill = filling(args, "steps", scopeOf)
  return makeNode(steps, id, { kind: "tool", ...policies }, async (view, ctx) => {
    const output = await singleCall(agent, view.path, tool, fill(view), ctx)
    return leave(view, ctx, { output }, last)
  })
}
