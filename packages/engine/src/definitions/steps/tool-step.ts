/** A step that calls one tool, with the approval that an agent's call would need. Its output is the result. */
import type { Agent } from "../../agents/index.ts"
import type { Json } from "../../core/index.ts"
import { filling } from "../expressions/index.ts"
import { singleCall } from "../single-call.ts"
import type { StepList } from "./step-list.ts"
import { leave, makeNode, type StepNode, type StepOptions } from "./step-node.ts"
import { scopeOf } from "./step-scope.ts"
import type { View } from "./view.ts"

export interface ToolStepOptions extends StepOptions {
  readonly tool: string
  /** Texts in it may be templates: a lone expression keeps its type. */
  readonly args?: Json | undefined
}

interface Revealing {
  readonly view: View
  /** The secrets that were asked for. */
  readonly used: string[]
}

/** The agent is the one that has the tool. */
export function toolStep(steps: StepList, id: string, agent: Agent, options: ToolStepOptions): StepNode {
  const { tool, args = {}, last, ...policies } = options
  const fill = filling(args, "steps", (view: View) => scopeOf(view))
  const reveal = filling(args, "steps", ({ view, used }: Revealing) => scopeOf(view, used))
  const revealed = (view: View) => {
    const used: string[] = []
    return { args: reveal({ view, used }), secrets: used }
  }
  return makeNode(steps, id, { kind: "tool", ...policies }, async (view, ctx) => {
    const output = await singleCall(
      agent,
      view.path,
      { tool, args: fill(view), real: () => revealed(view) },
      ctx,
    )
    return leave(view, ctx, { output }, last)
  })
}
