/** A tool that a definition calls by itself, with the approval that an agent's call would need. */
import { type Agent, callTools } from "../agents/index.ts"
import { fromErrorData, type Json, SuperstepError } from "../core/index.ts"
import type { Context } from "../runtime/index.ts"

/** The agent is the one that has the tool; `id` is the step's or the node's. */
export async function singleCall(
  agent: Agent,
  id: string,
  tool: string,
  args: Json,
  ctx: Context,
): Promise<Json> {
  const call = {
    type: "tool-call" as const,
    id: `call_${id.replace(/[^A-Za-z0-9-]/g, "_")}`,
    name: tool,
    args: JSON.stringify(args),
  }
  // A result is on record for good, a failure too: another attempt is another call.
  const { outcomes } = await callTools(agent, [call], ctx.scope(`attempt ${ctx.attempt}`))
  const [outcome] = outcomes
  if (outcome === undefined) throw new SuperstepError("TOOL_FAILED", `The tool "${tool}" gave no result.`)
  if (!outcome.ok) throw fromErrorData(outcome.error)
  return outcome.value
}
