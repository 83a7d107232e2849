/** A tool that a definition calls by itself, with the approval that an agent's call would need. */
import { type Agent, callTools } from "../agents/index.ts"
import { fromErrorData, type Json, SuperstepError } from "../core/index.ts"
import type { Context } from "../runtime/index.ts"
import type { Tool } from "../tools/index.ts"
import { type RevealedArgs, revealing } from "./revealed-call.ts"

export interface CallOfTool {
  readonly tool: string
  /** As they are recorded. */
  readonly args: Json
  /** As the tool gets them. */
  readonly real: () => RevealedArgs
}

/** The agent is the one that has the tool; `id` is the step's or the node's. */
export async function singleCall(
  agent: Agent,
  id: string,
  { tool, args, real }: CallOfTool,
  ctx: Context,
): Promise<Json> {
  const call = {
    type: "tool-call" as const,
    id: `call_${id.replace(/[^A-Za-z0-9-]/g, "_")}`,
    name: tool,
    args: JSON.stringify(args),
  }
  // A result is on record for good, a failure too: another attempt is another call.
  const wrap = (one: Tool) => (one.name === tool ? revealing(one, args, real) : one)
  const { outcomes } = await callTools(agent, [call], ctx.scope(`attempt ${ctx.attempt}`), { wrap })
  const [outcome] = outcomes
  if (outcome === undefined) throw new SuperstepError("TOOL_FAILED", `The tool "${tool}" gave no result.`)
  if (!outcome.ok) throw fromErrorData(outcome.error)
  return outcome.value
}
