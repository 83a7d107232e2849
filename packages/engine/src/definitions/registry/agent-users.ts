/** Which definitions name an agent: one that is named is not removed with another definition. */

import type { Registry, StoredDefinition } from "../../runtime/index.ts"
import { broughtAgents } from "./document-rows.ts"

/** By agent, the ids of the definitions that name it. Those given here count in the place of the stored ones. */
export async function usersOfAgents(
  registry: Registry,
  instead: readonly StoredDefinition[] = [],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const known = new Map(instead.map((definition) => [definition.workflow.id, definition]))
  const users = new Map<string, string[]>()
  const ids = [...(await registry.definitions()).map(({ id }) => id), ...known.keys()]
  for (const id of new Set(ids)) {
    const definition = known.get(id) ?? (await registry.definition(id))
    if (definition === undefined) continue
    const named = definition.nodes.flatMap(({ agentId }) => (agentId === null ? [] : [agentId]))
    for (const agent of new Set([...named, ...broughtAgents(definition.workflow)])) {
      users.set(agent, [...(users.get(agent) ?? []), id])
    }
  }
  return users
}
