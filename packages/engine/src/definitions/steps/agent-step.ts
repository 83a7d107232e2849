/** A step that runs an agent, in a conversation of its own. */

import { type AgentCore, coreOf } from "../../agents/agent-core.ts"
import { runAgent } from "../../agents/agent-loop.ts"
import { textOf as replyText } from "../../agents/conversation.ts"
import type { Agent } from "../../agents/index.ts"
import type { Json } from "../../core/index.ts"
import { template } from "../expressions/index.ts"
import type { StepList } from "./step-list.ts"
import { leave, makeNode, type StepNode, type StepOptions } from "./step-node.ts"
import { scopeOf } from "./step-scope.ts"
import { looking } from "./steps-text.ts"

export interface AgentStepOptions extends StepOptions {
  /** Told instead of the user's prompt, after the outputs of the steps before. */
  readonly prompt?: string | undefined
}

export function agentStep(
  steps: StepList,
  id: string,
  agent: Agent,
  options: AgentStepOptions = {},
): StepNode {
  const { prompt, last, ...policies } = options
  const own = prompt === undefined ? undefined : template(prompt, "steps")
  const core = coreOf(agent)
  const asked = core.output.responseFormat === undefined ? core : withText(core)
  return makeNode(steps, id, { kind: "agent", ...policies }, async (view, ctx) => {
    const text = view.promptText(own?.render(scopeOf(view)))
    looking.set(ctx.signal, view)
    const answer = await runAgent(asked, text, ctx)
    if (asked === core) return leave(view, ctx, { agent: core.name, output: answer as Json }, last)
    const { said, value } = answer as Said
    return leave(view, ctx, { agent: core.name, output: said, value: value as Json }, last)
  })
}

interface Said {
  readonly said: string
  readonly value: unknown
}

/** The same agent; beside the data, its answer has the text as the model said it. */
function withText(core: AgentCore): AgentCore {
  const { output } = core
  const read: typeof output.read = async (reply) => {
    const answer = await output.read(reply)
    return answer.ok
      ? { ok: true, value: { said: replyText(reply), value: answer.value } satisfies Said }
      : answer
  }
  return { ...core, output: { ...output, read } }
}
