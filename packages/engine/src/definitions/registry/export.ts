/** Takes definitions out of a registry: as they came in, or with all that they need to be run. */
import type { AgentRow, Registry } from "../../runtime/index.ts"
import { agentData } from "./agent-rows.ts"
import { neededAgents } from "./agent-users.ts"
import { broughtAgents, documentOf } from "./document-rows.ts"
import type { JsonRecord } from "./record-parts.ts"

/** The document, with the agents that it brought as they are now. */
export async function exportDefinition(registry: Registry, id: string): Promise<JsonRecord | undefined> {
  const stored = await registry.definition(id)
  if (stored === undefined) return undefined
  return documentOf(stored, await registry.agents(broughtAgents(stored.workflow)))
}

/** The same, with all agents of the registry that it needs: what the loader takes. */
export async function runnableDefinition(registry: Registry, id: string): Promise<JsonRecord | undefined> {
  const stored = await registry.definition(id)
  if (stored === undefined) return undefined
  const all = await registry.agents()
  const needed = neededAgents(stored, all)
  const agents = all.filter((agent) => needed.has(agent.id))
  const document = documentOf(stored, agents)
  if (agents.length === 0) return document
  return { ...document, agents: Array.isArray(document.agents) ? agents.map(asItem) : byId(agents) }
}

function asItem(agent: AgentRow): JsonRecord {
  return { id: agent.id, ...agentData(agent) }
}

function byId(agents: readonly AgentRow[]): JsonRecord {
  return Object.fromEntries(
    agents.map((agent) => {
      const { id, ...data } = agentData(agent)
      return [agent.id, id === undefined || id === agent.id ? data : { id, ...data }]
    }),
  )
}
