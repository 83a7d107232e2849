/** Asks an agent of the pipeline. What a model's failure is called depends on whose it was. */
import { coreOf } from "../../agents/agent-core.ts"
import { runAgent } from "../../agents/agent-loop.ts"
import { isAgent } from "../../agents/index.ts"
import { SuperstepError } from "../../core/index.ts"
import type { Context } from "../../runtime/index.ts"
import { isNoFailure, messageOf } from "../failure.ts"
import { called } from "../stage-node.ts"
import type { GoalAgent } from "./goal-config.ts"

export type Role = "Triage" | "Assistant" | "Review" | "SQL" | "Search"

/** Its answer: a text, or data where the agent has an output schema. */
export async function askAgent(role: Role, agent: GoalAgent, text: string, ctx: Context): Promise<unknown> {
  try {
    if (isAgent(agent)) return await runAgent(coreOf(agent), text, ctx)
    return (await called(agent, text, ctx)).at(-1) ?? ""
  } catch (error) {
    if (isNoFailure(error, ctx)) throw error
    throw agentFailed(role, error)
  }
}

function agentFailed(role: Role, error: unknown): SuperstepError {
  const { fatal, retryable } = error as { readonly fatal?: unknown; readonly retryable?: unknown }
  const cause = messageOf(error).replace(/(?<![.\s])[.\s]+$/, "")
  return new SuperstepError(
    "GOAL_AGENT_FAILED",
    `${role} agent failed: ${cause}. Please check your model access and agent configuration.`,
    {
      cause: error,
      ...(typeof fatal === "boolean" && { fatal }),
      ...(typeof retryable === "boolean" && { retryable }),
    },
  )
}

export function textOf(answer: unknown): string {
  return typeof answer === "string" ? answer : JSON.stringify(answer)
}
