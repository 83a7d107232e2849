/** Tools by which an agent gives the conversation to another one, which goes on with it in the same task. */
import { SuperstepError } from "../core/index.ts"
import type { ParsedArgs, Tool } from "../tools/index.ts"
import type { Agent } from "./agent.ts"
import { fellowByName, listFellows, parseFellow, toolNameOf } from "./fellow-agents.ts"

/** Which agent a call hands over to. The loop asks for it instead of running the tool. */
export interface HandoffTool extends Tool {
  target(args: unknown): Agent
}

export function isHandoff(tool: Tool): tool is HandoffTool {
  return "target" in tool
}

export function handoffTools(agents: readonly Agent[], style: "each" | "one" = "each"): HandoffTool[] {
  if (agents.length === 0) return []
  return style === "each" ? agents.map(handoffTo) : [handoff(agents)]
}

function handoffTo(agent: Agent): HandoffTool {
  const about = agent.description === undefined ? "" : ` ${agent.description}`
  return {
    name: `handoff_to_${toolNameOf(agent.name)}`.slice(0, 64),
    description: `Hands the conversation over to the agent "${agent.name}", who answers from here on.${about}`,
    parameters: { type: "object", properties: {}, additionalProperties: false },
    parse: (args): ParsedArgs => ({ ok: true, args }),
    target: () => agent,
    run: handedByLoop,
  }
}

function handoff(agents: readonly Agent[]): HandoffTool {
  return {
    name: "handoff",
    description: `Hands the conversation over to another agent, who answers from here on. Agents:\n${listFellows(agents)}`,
    parameters: {
      type: "object",
      properties: {
        agent: { type: "string", enum: agents.map(({ name }) => name), description: "Who takes over." },
      },
      required: ["agent"],
      additionalProperties: false,
    },
    parse: (args) => parseFellow(agents, args),
    target: (args) => fellowByName(agents, args),
    run: handedByLoop,
  }
}

function handedByLoop(): never {
  throw new SuperstepError(
    "HANDOFF_OUTSIDE",
    "A hand-off is done by an agent's loop; it cannot be run by itself.",
  )
}
