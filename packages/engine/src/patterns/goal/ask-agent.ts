/** Calls an agent of the pipeline. The error of a failed model names the agent's role. */
import { isAgent } from "../../agents/index.ts"
import { coreOf, jsonAnswer, makeCore, runAgent } from "../../agents/internal.ts"
import { isSuperstepError, SuperstepError } from "../../core/index.ts"
import type { Context } from "../../runtime/index.ts"
import { isNoFailure, messageOf } from "../failures.ts"
import { called } from "../stage-node.ts"
import type { GoalAgent } from "./goal-config.ts"

export type Role = "Triage" | "Assistant" | "Review" | "SQL" | "Graph" | "Search"

interface AskOptions {
  /** Requests text although the agent has an output schema, which is for another question. */
  readonly isPlain?: boolean | undefined
}

/** The agent's answer: a string, or data if the agent has an output schema. */
export async function askAgent(
  role: Role,
  agent: GoalAgent,
  text: string,
  ctx: Context,
  { isPlain = false }: AskOptions = {},
): Promise<unknown> {
  try {
    if (isAgent(agent)) {
      const core = coreOf(agent)
      return await runAgent(isPlain ? makeCore(core.options, undefined) : core, text, ctx)
    }
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

export type JsonObject = { readonly [key: string]: unknown }

/** The agent's answer as an object. Undefined if it is not one, or does not match the agent's own schema. */
export async function askJson(
  role: Role,
  agent: GoalAgent,
  text: string,
  ctx: Context,
): Promise<JsonObject | undefined> {
  try {
    return jsonReply(await askAgent(role, agent, text, ctx))
  } catch (error) {
    if (isSuperstepError((error as Error).cause, "OUTPUT_INVALID")) return undefined
    throw error
  }
}

/** Undefined if the answer is not an object. */
export function jsonReply(answer: unknown): JsonObject | undefined {
  const value = typeof answer === "string" ? jsonAnswer(answer)?.value : answer
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : undefined
}
