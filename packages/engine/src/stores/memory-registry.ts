/** Definitions in memory. */
import { type AgentRow, checkRegistryChange, type Registry, type StoredDefinition } from "../runtime/index.ts"

export function memoryRegistry(): Registry {
  const agents = new Map<string, AgentRow>()
  const definitions = new Map<string, StoredDefinition>()
  return {
    agents(ids) {
      const wanted = ids && new Set(ids)
      return [...agents.values()].filter(({ id }) => wanted === undefined || wanted.has(id))
    },
    definitions: () => [...definitions.values()].map(({ workflow }) => workflow),
    definition: (id) => definitions.get(id),
    write(change) {
      checkRegistryChange(change)
      for (const id of change.removedDefinitions ?? []) definitions.delete(id)
      for (const id of change.removedAgents ?? []) agents.delete(id)
      for (const agent of change.agents ?? []) agents.set(agent.id, agent)
      for (const definition of change.definitions ?? []) definitions.set(definition.workflow.id, definition)
    },
  }
}
