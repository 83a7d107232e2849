/** What a reviewer makes of an answer. */
import { isSuperstepError } from "../../core/index.ts"
import type { Context } from "../../runtime/index.ts"
import { askAgent } from "./ask-agent.ts"
import type { GoalAgent } from "./goal-config.ts"
import { type JsonObject, jsonReply } from "./json-reply.ts"

export interface Verdict {
  readonly decision: "accept" | "revise"
  readonly reason: string
  readonly suggested_changes: string
  readonly revised_script: string
}

export async function review(
  agent: GoalAgent,
  goal: string,
  response: string,
  ctx: Context,
): Promise<Verdict> {
  const answer = await askAgent("Review", agent, reviewPrompt(goal, response), ctx).catch(
    (error: unknown) => {
      if (isSuperstepError((error as Error).cause, "OUTPUT_INVALID")) return undefined
      throw error
    },
  )
  const data = jsonReply(answer)
  if (data !== undefined && Object.hasOwn(data, "decision")) return verdictOf(data)
  ctx.log("warn", "The reviewer's answer is not JSON with a decision; the response counts as accepted.")
  return { decision: "accept", reason: "parse_error", suggested_changes: "", revised_script: "" }
}

/** A decision that is neither word asks for another try. */
function verdictOf(data: JsonObject): Verdict {
  const { decision } = data
  const isAccepted = typeof decision === "string" && decision.trim().toLowerCase() === "accept"
  return {
    decision: isAccepted ? "accept" : "revise",
    reason: textIn(data.reason),
    suggested_changes: textIn(data.suggested_changes),
    revised_script: textIn(data.revised_script),
  }
}

/** Models write lists where a text was asked for, and false, or a mapping of nothing, where there is none. */
function textIn(value: unknown): string {
  if (typeof value === "string") return value.trim() === "" ? "" : value
  if (Array.isArray(value)) return value.map(textIn).filter(Boolean).join("\n")
  const isText = typeof value === "object" && value !== null && Object.keys(value).length > 0
  return isText ? JSON.stringify(value) : ""
}

function reviewPrompt(goal: string, response: string): string {
  return [
    "Is this response to the goal right, complete and clear?",
    'Answer with JSON alone: { "decision": "accept" or "revise", "reason": text, "suggested_changes": text, "revised_script": text }.',
    "",
    `Goal: ${goal}`,
    "",
    `Response:\n${response}`,
  ].join("\n")
}

/** What an assistant is told when it is to try again. */
export function revisionContext(verdict: Verdict, response: string, context: string): string {
  const feedback = verdict.suggested_changes === "" ? verdict.reason : verdict.suggested_changes
  return [
    `Feedback of the reviewer:\n${feedback}`,
    `Original response:\n${response}`,
    `Context found:\n${context}`,
  ].join("\n\n")
}
