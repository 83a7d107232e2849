/** Which agents a definition needs, and which definitions need an agent: one that is needed is not removed. */
import type { AgentRow, Registry, StoredDefinition } from "../../runtime/index.ts"
import { agentData } from "./agent-rows.ts"
import { broughtAgents, type DefinitionRows } from "./document-rows.ts"

/**
 * The ids of the agents that it brings, that its nodes name, and that those give work to. Where a node names one by a
 * variable, any may be meant, and all of them are needed.
 */
export function neededAgents(
  { workflow, nodes }: StoredDefinition,
  agents: readonly AgentRow[],
): ReadonlySet<string> {
  const named = nodes.flatMap(({ agentId }) => (agentId === null ? [] : [agentId]))
  const needed = new Set([...broughtAgents(workflow), ...named])
  if (named.some((id) => id.includes("${"))) for (const { id } of agents) needed.add(id)
  const known = new Map(agents.map((agent) => [agent.id, agent]))
  // Ids that are added on the way are visited too.
  for (const id of needed) for (const fellow of fellowsOf(known.get(id))) needed.add(fellow)
  return needed
}

/** The agents that one gives tasks to, or hands over to. */
function fellowsOf(agent: AgentRow | undefined): readonly string[] {
  if (agent === undefined) return []
  const { sub_agents, handoffs } = agentData(agent)
  return [sub_agents, handoffs].flatMap((ids) =>
    Array.isArray(ids) ? ids.filter((id) => typeof id === "string") : [],
  )
}

/** By agent, the ids of the definitions that need it. What is given here counts in the place of what is stored. */
export async function usersOfAgents(
  registry: Registry,
  instead?: DefinitionRows,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const agents = [...(await registry.agents()), ...(instead?.agents ?? [])]
  const own = instead?.definition.workflow.id
  const ids = (await registry.definitions()).map(({ id }) => id).filter((id) => id !== own)
  const stored = await Promise.all(ids.map((id) => registry.definition(id)))
  const users = new Map<string, string[]>()
  for (const definition of [...stored, instead?.definition]) {
    if (definition === undefined) continue
    for (const agent of neededAgents(definition, agents)) {
      users.set(agent, [...(users.get(agent) ?? []), definition.workflow.id])
    }
  }
  return users
}
