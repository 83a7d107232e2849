/** Tools that hand the conversation over to another agent, which continues it in the same task. */
import { type Json, SuperstepError } from "../core/index.ts"
import { jsonSchemaOf, type Schema, validate } from "../runtime/index.ts"
import type { ParsedArgs, Tool } from "../tools/index.ts"
import type { Agent, Handoff } from "./agent-core.ts"

/** The agent that takes over, with the data of the hand-off. */
export interface TakeOver extends Pick<Handoff, "agent" | "filter"> {
  readonly payload?: unknown
}

/** A tool that the loop does not run: it asks for the target instead. */
export interface HandoffTool extends Tool {
  target(args: unknown): TakeOver
}

export function isHandoff(tool: Tool): tool is HandoffTool {
  return "target" in tool
}

export function handoffTools(
  refs: readonly (Agent | Handoff)[],
  style: "each" | "one" = "each",
): HandoffTool[] {
  if (refs.length === 0) return []
  const handoffs = refs.map(handoffOf)
  return style === "each" ? handoffs.map(handoffTo) : [handoff(handoffs)]
}

export function handoffOf(ref: Agent | Handoff): Handoff {
  return "agent" in ref ? ref : { agent: ref }
}

function handoffTo({ agent, payload, filter, description = agent.description }: Handoff): HandoffTool {
  const about = description === undefined ? "" : ` ${description}`
  const handsOver: Pick<HandoffTool, "parameters" | "parse" | "target"> =
    payload === undefined
      ? {
          parameters: { type: "object", properties: {}, additionalProperties: false },
          parse: (args): ParsedArgs => ({ ok: true, args }),
          target: () => ({ agent, filter }),
        }
      : {
          parameters: payloadShape(agent, payload),
          async parse(args): Promise<ParsedArgs> {
            const checked = await validate(payload, args)
            return checked.ok ? { ok: true, args: checked.value } : checked
          },
          target: (args) => ({ agent, filter, payload: args }),
        }
  return {
    name: `handoff_to_${toolNameOf(agent.name)}`.slice(0, 64),
    description: `Hands the conversation over to the agent "${agent.name}", who answers from here on.${about}`,
    ...handsOver,
    run: rejectDirectRun,
  }
}

function payloadShape({ name }: Agent, payload: Schema): Json {
  const shape = jsonSchemaOf(payload, "input")
  if (typeof shape === "object" && shape !== null && "type" in shape && shape.type === "object") return shape
  const text = `The payload of the hand-off to "${name}" must be an object schema that can be expressed as JSON Schema.`
  throw new SuperstepError("AGENT_INVALID", text, { retryable: false })
}

function handoff(handoffs: readonly Handoff[]): HandoffTool {
  const agents = handoffs.map(({ agent }) => agent)
  if (handoffs.some(({ payload }) => payload !== undefined)) {
    const text = 'A hand-off with a payload needs its own tool: remove handoffTools: "one".'
    throw new SuperstepError("AGENT_INVALID", text, { retryable: false })
  }
  return {
    name: "handoff",
    description: `Hands the conversation over to another agent, who answers from here on. Agents:\n${listAgents(agents)}`,
    parameters: {
      type: "object",
      properties: {
        agent: {
          type: "string",
          enum: agents.map(({ name }) => name),
          description: "The agent that takes over.",
        },
      },
      required: ["agent"],
      additionalProperties: false,
    },
    parse: (args) => parseAgentRef(agents, args),
    target: (args) => handoffs[agents.indexOf(agentByName(agents, args))] as Handoff,
    run: rejectDirectRun,
  }
}

function rejectDirectRun(): never {
  const text = "A hand-off runs only in an agent's loop."
  throw new SuperstepError("HANDOFF_OUTSIDE", text)
}

export function listAgents(agents: readonly Agent[]): string {
  return agents
    .map(({ name, description }) => `- ${name}${description === undefined ? "" : `: ${description}`}`)
    .join("\n")
}

export function parseAgentRef(agents: readonly Agent[], args: unknown): ParsedArgs {
  const { agent } = (args ?? {}) as { agent?: unknown }
  if (agents.some(({ name }) => name === agent)) return { ok: true, args }
  const names = agents.map(({ name }) => `"${name}"`).join(", ")
  return { ok: false, reason: `agent must be one of ${names}` }
}

export function agentByName(agents: readonly Agent[], args: unknown): Agent {
  const { agent: wanted } = args as { agent: string }
  const found = agents.find(({ name }) => name === wanted)
  if (found === undefined) throw new SuperstepError("AGENT_UNKNOWN", `There is no agent "${wanted}".`)
  return found
}

/** The name with only the characters that providers accept in a tool name. */
export function toolNameOf(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9_-]+/g, "_")
  return plain === "" ? "agent" : plain.slice(0, 64)
}
