/** An agent as a guardrail: it reads what is checked, in its own conversation, and returns a verdict. */
import type { Schema } from "../runtime/index.ts"
import { jsonSchema } from "../tools/internal.ts"
import { type Agent, type AgentCore, coreOf } from "./agent-core.ts"
import { runNested } from "./agent-loop.ts"
import { pathOfContext, withPath } from "./agent-scope.ts"
import type { Guardrail } from "./guardrails.ts"
import { makeCore } from "./make-core.ts"

export interface JudgeOptions extends Pick<Guardrail, "name" | "on" | "parallel" | "tools" | "onTrip"> {
  /** Its instructions say what trips the guardrail. As a function, for agents that name each other. */
  readonly agent: Agent | (() => Agent)
}

interface Verdict {
  readonly trips: boolean
  readonly reason: string
}

const VERDICT = jsonSchema({
  type: "object",
  properties: {
    trips: { type: "boolean", description: "Whether your instructions forbid this." },
    reason: { type: "string", description: "Why, in one sentence." },
  },
  required: ["trips", "reason"],
  additionalProperties: false,
}) as Schema<Verdict>

/** The judge's calls are recorded steps of the task, and count against its budgets. */
export function judge({ agent, ...guardrail }: JudgeOptions): Guardrail {
  let core: AgentCore | undefined
  return {
    ...guardrail,
    durable: true,
    async check({ text, tool }, ctx) {
      core ??= judging(typeof agent === "function" ? agent() : agent)
      const asked = tool === undefined ? text : `A call of the tool "${tool}" with the arguments ${text}`
      const { idempotencyKey, signal } = ctx
      const call = {
        id: guardrail.name,
        agent: core.name,
        tool: "judge",
        signal,
        idempotencyKey,
        ctx,
        context: undefined,
        progress: () => {},
      }
      const nested = withPath(call, pathOfContext(ctx))
      const { trips, reason } = (await runNested(core, asked, nested)) as Verdict
      return trips ? reason : undefined
    },
  }
}

/** The same agent, for a verdict. */
function judging(agent: Agent): AgentCore {
  const { options } = coreOf(agent)
  return makeCore({ ...options, messages: undefined, handoffs: undefined, input: undefined }, VERDICT)
}
