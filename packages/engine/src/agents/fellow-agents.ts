/** Other agents, as a tool's arguments name them. */
import { SuperstepError } from "../core/index.ts"
import type { ParsedArgs } from "../tools/index.ts"
import type { Agent } from "./agent.ts"

export function listFellows(agents: readonly Agent[]): string {
  return agents
    .map(({ name, description }) => `- ${name}${description === undefined ? "" : `: ${description}`}`)
    .join("\n")
}

export function parseFellow(agents: readonly Agent[], args: unknown): ParsedArgs {
  const { agent } = (args ?? {}) as { agent?: unknown }
  if (agents.some(({ name }) => name === agent)) return { ok: true, args }
  const names = agents.map(({ name }) => `"${name}"`).join(", ")
  return { ok: false, reason: `agent must be one of ${names}` }
}

export function fellowByName(agents: readonly Agent[], args: unknown): Agent {
  const { agent: wanted } = args as { agent: string }
  const found = agents.find(({ name }) => name === wanted)
  if (found === undefined) throw new SuperstepError("AGENT_UNKNOWN", `There is no agent "${wanted}".`)
  return found
}

/** A name as providers take it for a tool. */
export function toolNameOf(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9_-]+/g, "_")
  return plain === "" ? "agent" : plain.slice(0, 64)
}
